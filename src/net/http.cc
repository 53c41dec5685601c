// SPDX-License-Identifier: Apache-2.0

#include "net/http.h"

#include <algorithm>

#include "base/strings.h"

namespace portcullis::net {
namespace {

struct StatusName {
  int status;
  std::string_view text;
};
constexpr StatusName kStatusNames[] = {
    {100, "Continue"},
    {101, "Switching Protocols"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {203, "Non-Authoritative Information"},
    {204, "No Content"},
    {205, "Reset Content"},
    {206, "Partial Content"},
    {300, "Multiple Choices"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {402, "Payment Required"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {407, "Proxy Authentication Required"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Request Entity Too Large"},
    {414, "Request URI Too Long"},
    {415, "Unsupported Media Type"},
    {416, "Requested Range Not Satisfiable"},
    {417, "Expectation Failed"},
    {418, "I'm a teapot"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Entity"},
    {423, "Locked"},
    {424, "Failed Dependency"},
    {425, "Too Early"},
    {426, "Upgrade Required"},
    {428, "Precondition Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {451, "Unavailable For Legal Reasons"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
    {507, "Insufficient Storage"},
    {511, "Network Authentication Required"},
};

}  // namespace

bool IsTokenCharacter(char c) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         kOthers.find(c) != std::string_view::npos;
}

const Header* Headers::Find(std::string_view name) const {
  for (const auto& field : fields_) {
    if (field.name.size() == name.size() && base::EqualsIgnoreCase(field.name, name)) return &field;
  }
  return nullptr;
}

void Headers::Add(std::string_view name, std::string_view value) {
  constexpr std::size_t kUsual = 8;
  if (fields_.empty()) fields_.reserve(kUsual);
  fields_.push_back({std::string(name), std::string(value)});
}

void Headers::Set(std::string_view name, std::string_view value) {
  if (!Has(name)) return Add(name, value);
  // `value` may point into a field that is about to go.
  Header field{std::string(name), std::string(value)};
  Remove(field.name);
  fields_.push_back(std::move(field));
}

void Headers::Remove(std::string_view name) {
  std::erase_if(fields_,
                [name](const auto& field) { return base::EqualsIgnoreCase(field.name, name); });
}

std::string_view Headers::Get(std::string_view name) const {
  const Header* field = Find(name);
  return field == nullptr ? std::string_view() : std::string_view(field->value);
}

std::vector<std::string_view> Headers::All(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const auto& field : fields_) {
    if (base::EqualsIgnoreCase(field.name, name)) values.emplace_back(field.value);
  }
  return values;
}

bool Headers::HasToken(std::string_view name, std::string_view token) const {
  for (const auto& field : fields_) {
    if (!base::EqualsIgnoreCase(field.name, name)) continue;
    std::string_view rest = field.value;
    while (true) {
      const auto comma = rest.find(',');
      if (base::EqualsIgnoreCase(base::Trim(rest.substr(0, comma)), token)) return true;
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
  }
  return false;
}

std::string_view Request::path() const {
  return std::string_view(target).substr(0, target.find('?'));
}

std::string_view Request::query() const {
  const auto mark = target.find('?');
  return mark == std::string::npos ? std::string_view() : std::string_view(target).substr(mark + 1);
}

std::string_view StatusText(int status) {
  const auto* found =
      std::lower_bound(std::begin(kStatusNames), std::end(kStatusNames), status,
                       [](const StatusName& name, int wanted) { return name.status < wanted; });
  return found != std::end(kStatusNames) && found->status == status ? found->text
                                                                    : std::string_view();
}

std::string CanonicalHeaderName(std::string_view name) {
  std::string canonical(name);
  if (!std::all_of(name.begin(), name.end(), IsTokenCharacter)) return canonical;
  bool upper = true;
  for (char& c : canonical) {
    if (upper && c >= 'a' && c <= 'z') {
      c = static_cast<char>(c - 'a' + 'A');
    } else if (!upper && c >= 'A' && c <= 'Z') {
      c = static_cast<char>(c - 'A' + 'a');
    }
    upper = c == '-';
  }
  return canonical;
}

}  // namespace portcullis::net
