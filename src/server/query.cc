// SPDX-License-Identifier: Apache-2.0

#include "server/query.h"

#include "base/strings.h"
#include "golang/url.h"

namespace portcullis::server {

bool PercentDecode(std::string_view text, std::string& out) {
  if (text.find('%') == text.npos) {
    out = text;
    return true;
  }
  auto decoded = golang::PathUnescape(text);
  if (!decoded.ok()) return false;
  out = *std::move(decoded);
  return true;
}

Query Query::Parse(std::string_view text) {
  Query query;
  if (!text.empty()) query.pairs_ = golang::ParseQuery(text);
  return query;
}

std::string_view Query::Get(std::string_view name) const {
  for (const auto& [key, value] : pairs_) {
    if (key == name) return value;
  }
  return {};
}

bool Query::Has(std::string_view name) const {
  for (const auto& pair : pairs_) {
    if (pair.first == name) return true;
  }
  return false;
}

std::vector<std::string> Query::All(std::string_view name) const {
  std::vector<std::string> values;
  for (const auto& [key, value] : pairs_) {
    if (key == name) values.push_back(value);
  }
  return values;
}

bool Query::GetBool(std::string_view name) const {
  if (!Has(name)) return false;
  const std::string_view value = Get(name);
  return value != "0" && !base::EqualsIgnoreCase(value, "false");
}

}  // namespace portcullis::server
