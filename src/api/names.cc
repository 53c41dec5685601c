// SPDX-License-Identifier: Apache-2.0

#include "api/names.h"

#include <optional>
#include <string_view>

#include "base/gotext.h"
#include "base/strings.h"
#include "json/value.h"

namespace portcullis::api {
namespace {

// The parts of a version such as v2beta1: {2, beta, 1}. Stage 0 alpha, 1 beta, 2 stable.
struct KubeVersion {
  std::int64_t major = 0;
  int stage = 0;
  std::int64_t minor = 0;
};

std::size_t DigitsAt(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  return end - at;
}

std::optional<KubeVersion> ParseKubeVersion(std::string_view text) {
  if (text.size() < 2 || text[0] != 'v') return std::nullopt;
  const std::size_t digits = DigitsAt(text, 1);
  if (digits == 0 || text[1] == '0') return std::nullopt;
  const auto major = base::ParseInt(text.substr(1, digits));
  if (!major) return std::nullopt;
  KubeVersion result{*major, 2, 0};
  std::string_view rest = text.substr(1 + digits);
  if (rest.empty()) return result;
  const std::string_view word = rest.substr(0, rest.find_first_of("0123456789"));
  if (word != "alpha" && word != "beta") return std::nullopt;
  result.stage = word == "beta" ? 1 : 0;
  rest.remove_prefix(word.size());
  if (rest.empty() || rest[0] == '0' || DigitsAt(rest, 0) != rest.size()) return std::nullopt;
  const auto minor = base::ParseInt(rest);
  if (!minor) return std::nullopt;
  result.minor = *minor;
  return result;
}

template <typename T>
int Descending(const T& a, const T& b) {
  return a == b ? 0 : a > b ? -1 : 1;
}

}  // namespace

std::string GroupVersion::ToString() const {
  return group.empty() ? version : base::StrCat(group, "/", version);
}

base::Result<GroupVersion> ParseGroupVersion(std::string_view text) {
  if (text.empty() || text == "/") return GroupVersion{};
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return GroupVersion{"", std::string(text)};
  if (text.find('/', slash + 1) != std::string_view::npos) {
    return base::BadRequest(base::StrCat("unexpected GroupVersion string: ", text));
  }
  return GroupVersion{std::string(text.substr(0, slash)), std::string(text.substr(slash + 1))};
}

std::string GroupKind::ToString() const {
  return group.empty() ? kind : base::StrCat(kind, ".", group);
}

std::string GroupResource::ToString() const {
  return group.empty() ? resource : base::StrCat(resource, ".", group);
}

std::string GroupVersionKind::ToString() const {
  return base::StrCat(group, "/", version, ", Kind=", kind);
}

std::string GroupVersionResource::ToString() const {
  return base::StrCat(group, "/", version, ", Resource=", resource);
}

int CompareKubeVersions(std::string_view a, std::string_view b) {
  if (a == b) return 0;
  const auto left = ParseKubeVersion(a);
  const auto right = ParseKubeVersion(b);
  if (left.has_value() != right.has_value()) return left ? -1 : 1;
  if (!left) return a < b ? -1 : 1;
  if (left->stage != right->stage) return Descending(left->stage, right->stage);
  if (left->major != right->major) return Descending(left->major, right->major);
  return Descending(left->minor, right->minor);
}

std::size_t HashNames(std::string_view a, std::string_view b, std::string_view c) {
  std::size_t result = json::HashKey(a);
  for (const std::string_view name : {b, c}) {
    result = result * 0x9E3779B97F4A7C15U + json::HashKey(name) + (result >> 29);
  }
  return result;
}

}  // namespace portcullis::api
