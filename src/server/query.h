// SPDX-License-Identifier: Apache-2.0

// The query of a request target: "a=1&b=2&a=3". Value type; parameters in their order.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace portcullis::server {

class Query {
 public:
  Query() = default;
  // Percent and plus decoded; pieces that cannot be decoded are dropped, as Go's URL.Query does.
  static Query Parse(std::string_view text);

  // The first value, or "" if there is none.
  std::string_view Get(std::string_view name) const;
  bool Has(std::string_view name) const;
  std::vector<std::string> All(std::string_view name) const;
  // A boolean as Kubernetes reads it from a query: present without value, or anything but "0"
  // and "false" (in letters of any case), is true.
  bool GetBool(std::string_view name) const;
  const std::vector<std::pair<std::string, std::string>>& pairs() const { return pairs_; }
  bool empty() const { return pairs_.empty(); }

 private:
  std::vector<std::pair<std::string, std::string>> pairs_;
};

// Percent decoding of a path segment; false if malformed.
bool PercentDecode(std::string_view text, std::string& out);

}  // namespace portcullis::server
