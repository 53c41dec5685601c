// SPDX-License-Identifier: Apache-2.0

// A reader of DER as strict as the one behind Go's crypto/x509 (cryptobyte): tags of one byte,
// lengths of one to four bytes in their shortest form. Elements are views into the bytes that the
// reader was made of. A reader that has failed is not to be used further.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/clock.h"

namespace portcullis::pki {

inline constexpr unsigned char kDerBoolean = 0x01;
inline constexpr unsigned char kDerInteger = 0x02;
inline constexpr unsigned char kDerBitString = 0x03;
inline constexpr unsigned char kDerOctetString = 0x04;
inline constexpr unsigned char kDerObjectIdentifier = 0x06;
inline constexpr unsigned char kDerUtcTime = 0x17;
inline constexpr unsigned char kDerGeneralizedTime = 0x18;
inline constexpr unsigned char kDerSequence = 0x30;
inline constexpr unsigned char kDerSet = 0x31;
constexpr unsigned char DerContext(int number) { return static_cast<unsigned char>(0x80 | number); }
constexpr unsigned char DerContextConstructed(int number) {
  return static_cast<unsigned char>(0xa0 | number);
}

struct DerElement {
  unsigned char tag = 0;
  std::string_view body;
  std::string_view whole;  // with tag and length
};

class DerReader {
 public:
  explicit DerReader(std::string_view bytes) : rest_(bytes) {}

  bool empty() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }
  bool NextIs(unsigned char tag) const {
    return !rest_.empty() && static_cast<unsigned char>(rest_[0]) == tag;
  }

  // The next element; none if it is malformed or, for the second, has another tag.
  std::optional<DerElement> Next();
  std::optional<DerElement> Next(unsigned char tag);
  // A reader of the body of the next element.
  std::optional<DerReader> Enter(unsigned char tag);

  std::optional<bool> Boolean();  // 00 or FF
  // The body of an INTEGER in its shortest form.
  std::optional<std::string_view> Integer(unsigned char tag = kDerInteger);
  // The body of an OBJECT IDENTIFIER whose numbers are below 2^31, as far as Go reads them.
  std::optional<std::string_view> ObjectIdentifier();
  // The bytes of a BIT STRING whose unused bits, of the last byte, are zero.
  std::optional<std::string_view> BitString(int* unused_bits = nullptr);
  // UTCTime or GeneralizedTime in seconds since 1970.
  std::optional<std::int64_t> Time();

 private:
  std::string_view rest_;
};

// The value of an INTEGER's body of at most 64 bits.
std::optional<std::int64_t> DerSmallInteger(std::string_view body);

}  // namespace portcullis::pki
