// SPDX-License-Identifier: Apache-2.0

#include "net/internal/malformed.h"

#include <algorithm>

#include "base/gotext.h"
#include "base/strings.h"

namespace portcullis::net::internal {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool IsToken(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsTokenCharacter);
}

bool IsControl(char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7F; }

std::string StatusLineError(std::string_view line) {
  const auto space = line.find(' ');
  if (space == std::string_view::npos) {
    return base::StrCat("malformed HTTP response ", base::GoQuote(line));
  }
  const std::string_view version = line.substr(0, space);
  std::string_view code = line.substr(space);
  while (code.starts_with(' ')) code.remove_prefix(1);
  code = code.substr(0, code.find(' '));
  if (code.size() != 3 || !std::all_of(code.begin(), code.end(), IsDigit)) {
    return base::StrCat("malformed HTTP status code ", base::GoQuote(code));
  }
  const bool known = version.size() == 8 && version.starts_with("HTTP/") && IsDigit(version[5]) &&
                     version[6] == '.' && IsDigit(version[7]);
  return known ? "" : base::StrCat("malformed HTTP version ", base::GoQuote(version));
}

std::string FieldError(std::string_view line) {
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) {
    return base::StrCat("malformed MIME header: missing colon: ", base::GoQuote(line));
  }
  const std::string_view name = line.substr(0, colon);
  if (!IsToken(name)) return base::StrCat("malformed MIME header line: ", line);
  const std::string_view value = base::Trim(line.substr(colon + 1));
  if (base::EqualsIgnoreCase(name, "Content-Length") &&
      (value.empty() || !std::all_of(value.begin(), value.end(), IsDigit))) {
    return base::StrCat("bad Content-Length ", base::GoQuote(value));
  }
  return "";
}

}  // namespace

std::string MalformedHeadText(std::string_view status_line, std::string_view fields) {
  if (auto error = StatusLineError(status_line); !error.empty()) return error;
  std::string length_error;  // Go looks at lengths when all lines have been read
  bool first = true;
  while (!fields.empty()) {
    const auto end = fields.find('\n');
    if (end == std::string_view::npos) break;
    std::string_view line = fields.substr(0, end);
    fields.remove_prefix(end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) break;
    const bool indented = line.front() == ' ' || line.front() == '\t';
    if (indented && first) return base::StrCat("malformed MIME header initial line: ", line);
    first = false;
    if (indented) continue;  // goes on where the line before ended
    std::string error = FieldError(line);
    if (error.starts_with("malformed")) return error;
    if (length_error.empty()) length_error = std::move(error);
  }
  if (!length_error.empty()) return length_error;
  return base::StrCat("malformed HTTP response ", base::GoQuote(status_line));
}

std::string MalformedFieldText(const Headers& fields) {
  for (const Header& field : fields) {
    if (!IsToken(field.name)) {
      return base::StrCat("net/http: invalid header field name ", base::GoQuote(field.name));
    }
    if (std::any_of(field.value.begin(), field.value.end(), IsControl)) {
      return base::StrCat("net/http: invalid header field value for ", base::GoQuote(field.name));
    }
  }
  return "";
}

}  // namespace portcullis::net::internal
