// SPDX-License-Identifier: Apache-2.0

// What the names of certificates and of certificate requests share: the types of strings that Go
// reads, and the attributes that are kept.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pki/certificate.h"

namespace portcullis::pki {

struct StringType {
  unsigned tag;
  std::string_view name;
  std::optional<std::string> (*decode)(std::string_view);  // to UTF-8; none: a wrong character
};
// Null for a tag that is none of a string.
const StringType* FindStringType(unsigned tag);

// Keeps the value of an attribute if its type, the body of an identifier, is one of a name's.
void KeepAttribute(std::string_view type, std::string value, DistinguishedName& name);

}  // namespace portcullis::pki
