// SPDX-License-Identifier: Apache-2.0

// A reader of DER with the rules and the texts of Go's encoding/asn1, which reads certificate
// requests. It takes more than DerReader (der.h), the reader of certificates: tags of several
// bytes, strings of any type. Elements are views into the bytes that the reader was made of.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace portcullis::pki {

struct Asn1Tag {
  unsigned tag_class = 0;
  unsigned number = 0;
  bool compound = false;
  friend bool operator==(const Asn1Tag&, const Asn1Tag&) = default;
};
inline constexpr Asn1Tag kAsn1Boolean{0, 1, false};
inline constexpr Asn1Tag kAsn1Integer{0, 2, false};
inline constexpr Asn1Tag kAsn1BitString{0, 3, false};
inline constexpr Asn1Tag kAsn1OctetString{0, 4, false};
inline constexpr Asn1Tag kAsn1ObjectIdentifier{0, 6, false};
inline constexpr Asn1Tag kAsn1Sequence{0, 16, true};
inline constexpr Asn1Tag kAsn1Set{0, 17, true};

struct Asn1Element {
  Asn1Tag tag;
  std::string_view body;
  std::string_view whole;  // with tag and length
};

class Asn1Reader {
 public:
  explicit Asn1Reader(std::string_view bytes) : bytes_(bytes) {}

  bool empty() const { return at_ == bytes_.size(); }
  // Whether the next element has this tag; false if there is none or it is malformed.
  bool NextIs(Asn1Tag tag) const;
  base::Result<Asn1Element> Next();
  // `go_type` is what Go would fill, which its text of another tag names.
  base::Result<Asn1Element> Next(Asn1Tag tag, std::string_view go_type);
  base::Result<std::string_view> ObjectIdentifier();
  // The bytes behind the count of unused bits, which are zero.
  base::Result<std::string_view> BitString();

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

// The elements of a list's body, all of one tag.
base::Result<std::vector<Asn1Element>> Asn1List(std::string_view body, Asn1Tag tag);
// The elements of a list's body, of any tags.
base::Result<std::vector<Asn1Element>> Asn1List(std::string_view body);
// Bodies of primitive elements.
base::Status CheckAsn1Integer(std::string_view body);  // one of at most 64 bits
base::Status CheckAsn1ObjectIdentifier(std::string_view body);
base::Result<std::string_view> Asn1BitString(std::string_view body);

}  // namespace portcullis::pki
