// SPDX-License-Identifier: Apache-2.0

// Paths that begin with a domain, as keys of a user's extra do: "acme.io/foo"
// (k8s.io/apimachinery/pkg/util/validation, IsDomainPrefixedPath).
#pragma once

#include <string>
#include <string_view>

#include "api/field_error.h"
#include "api/selector/label_selector.h"
#include "base/strings.h"

namespace portcullis::api {

inline FieldErrors CheckDomainPrefixedPath(const FieldPath& path, std::string_view text) {
  constexpr std::string_view kAllowed =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/-._~%!$&'()*+,;=:";
  if (text.empty()) return {Required(path, "")};
  const auto parts = base::Cut(text, "/");
  if (!parts || parts->first.empty() || parts->second.empty()) {
    return {Invalid(path, text, "must be a domain-prefixed path (such as \"acme.io/foo\")")};
  }
  FieldErrors errors;
  for (const std::string& problem : IsDns1123Subdomain(parts->first)) {
    errors.push_back(Invalid(path, parts->first, problem));
  }
  if (parts->second.find_first_not_of(kAllowed) != std::string_view::npos) {
    errors.push_back(Invalid(path, parts->second,
                             "Invalid path (regex used for validation is "
                             "'[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')"));
  }
  return errors;
}

}  // namespace portcullis::api
