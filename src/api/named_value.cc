// SPDX-License-Identifier: Apache-2.0

#include "api/named_value.h"

#include <string>
#include <utility>

#include "json/writer.h"

namespace portcullis::api {

BadValue NamedValue(std::string_view text) {
  std::string quoted;
  json::WriteString(text, quoted);
  return BadValue::Raw(std::move(quoted));
}

}  // namespace portcullis::api
