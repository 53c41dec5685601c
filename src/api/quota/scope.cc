// SPDX-License-Identifier: Apache-2.0

#include "api/quota/scope.h"

#include <algorithm>

#include "base/gotext.h"
#include "base/strings.h"

namespace portcullis::api::quota {

ScopeSelector ReadScopeSelector(json::Value requirement) {
  ScopeSelector out;
  out.scope = requirement["scopeName"].AsString();
  out.op = requirement["operator"].AsString();
  for (const json::Value& value : requirement["values"].elements()) {
    out.values.emplace_back(value.AsString());
  }
  return out;
}

std::vector<ScopeSelector> ScopeSelectorsOf(json::Value quota) {
  std::vector<ScopeSelector> out;
  const json::Value spec = quota["spec"];
  for (const json::Value& scope : spec["scopes"].elements()) {
    out.push_back({std::string(scope.AsString()), "Exists", {}});
  }
  for (const json::Value& requirement : spec["scopeSelector"]["matchExpressions"].elements()) {
    out.push_back(ReadScopeSelector(requirement));
  }
  return out;
}

base::Result<bool> MatchesNames(const ScopeSelector& selector,
                                const std::vector<std::string_view>& names) {
  if (selector.op == "Exists") return !names.empty();
  if (selector.op == "DoesNotExist") return names.empty();
  const bool any = std::any_of(names.begin(), names.end(), [&](std::string_view name) {
    return std::find(selector.values.begin(), selector.values.end(), name) != selector.values.end();
  });
  if (selector.op == "In") return any;
  if (selector.op == "NotIn") return names.empty() || !any;
  return base::Status(
      base::Reason::kUnknown,
      base::StrCat(base::GoQuote(selector.op), " is not a valid scope selector operator"));
}

std::string ScopeSelectorText(const ScopeSelector& selector) {
  return base::StrCat("{", selector.scope, " ", selector.op, " ", base::GoList(selector.values),
                      "}");
}

}  // namespace portcullis::api::quota
