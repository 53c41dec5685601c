// SPDX-License-Identifier: Apache-2.0

// The shapes of names are simple enough to be checked by hand; the regular expressions appear in
// the texts only.
#include <array>
#include <cstdint>
#include <string>

#include "api/selector/label_selector.h"
#include "base/strings.h"

namespace portcullis::api {
namespace {

constexpr std::size_t kLabelLength = 63;
constexpr std::size_t kSubdomainLength = 253;

// Kinds of characters, a bit each.
constexpr std::uint8_t kLower = 1;  // or a digit
constexpr std::uint8_t kUpper = 2;
constexpr std::uint8_t kDash = 4;
constexpr std::uint8_t kDot = 8;
constexpr std::uint8_t kUnderline = 16;
constexpr auto kKinds = [] {
  std::array<std::uint8_t, 256> kinds{};
  for (std::size_t c = 'a'; c <= 'z'; ++c) kinds[c] = kLower;
  for (std::size_t c = '0'; c <= '9'; ++c) kinds[c] = kLower;
  for (std::size_t c = 'A'; c <= 'Z'; ++c) kinds[c] = kUpper;
  kinds['-'] = kDash;
  kinds['.'] = kDot;
  kinds['_'] = kUnderline;
  return kinds;
}();

bool Is(char c, unsigned kinds) { return (kKinds[static_cast<unsigned char>(c)] & kinds) != 0; }

// Characters of these kinds, the first and the last one of `ends`.
bool IsShaped(std::string_view text, unsigned kinds, unsigned ends) {
  if (text.empty() || !Is(text.front(), ends) || !Is(text.back(), ends)) return false;
  for (const char c : text) {
    if (!Is(c, kinds)) return false;
  }
  return true;
}

// Labels and their keys are measured in bytes, names in characters: the same to all that are valid.
std::string TooLongText(std::size_t limit, std::string_view unit) {
  return base::StrCat("must be no more than ", std::to_string(limit), " ", unit);
}

// [a-z0-9]([-a-z0-9]*[a-z0-9])?
bool IsLabelShaped(std::string_view text) { return IsShaped(text, kLower | kDash, kLower); }

// Labels with dots between them.
bool IsSubdomainShaped(std::string_view text) {
  char before = '.';
  for (const char c : text) {
    const bool begins = before == '.';
    if (!Is(c, begins ? kLower : kLower | kDash | kDot)) return false;
    if (c == '.' && before == '-') return false;
    before = c;
  }
  return Is(before, kLower);
}

// ([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]
bool IsNameShaped(std::string_view text) {
  return IsShaped(text, kLower | kUpper | kDash | kDot | kUnderline, kLower | kUpper);
}

constexpr std::string_view kNameText =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

}  // namespace

std::vector<std::string> IsQualifiedName(std::string_view key) {
  std::vector<std::string> errors;
  const std::size_t slash = key.find('/');
  const bool prefixed = slash != std::string_view::npos;
  const std::string_view prefix = prefixed ? key.substr(0, slash) : std::string_view();
  const std::string_view name = prefixed ? key.substr(slash + 1) : key;
  if (name.find('/') != std::string_view::npos) {
    errors.push_back(
        base::StrCat("a valid label key ", kNameText,
                     " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"));
    return errors;
  }
  if (prefixed) {
    if (prefix.empty()) {
      errors.emplace_back("prefix part must be non-empty");
    } else {
      if (prefix.size() > kSubdomainLength) {
        errors.push_back("prefix part " + TooLongText(kSubdomainLength, "bytes"));
      }
      if (!IsSubdomainShaped(prefix)) {
        errors.push_back("prefix part " + IsDns1123Subdomain(prefix).back());
      }
    }
  }
  if (name.empty()) {
    errors.emplace_back("name part must be non-empty");
  } else if (name.size() > kLabelLength) {
    errors.push_back("name part " + TooLongText(kLabelLength, "bytes"));
  }
  if (!IsNameShaped(name)) errors.push_back(base::StrCat("name part ", kNameText));
  return errors;
}

std::vector<std::string> IsValidLabelValue(std::string_view value) {
  std::vector<std::string> errors;
  if (value.size() > kLabelLength) errors.push_back(TooLongText(kLabelLength, "bytes"));
  if (!value.empty() && !IsNameShaped(value)) {
    errors.emplace_back(
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
        "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or "
        "'my_value',  or '12345', regex used for validation is "
        "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')");
  }
  return errors;
}

std::vector<std::string> IsDns1123Label(std::string_view name) {
  std::vector<std::string> errors;
  if (name.size() > kLabelLength) errors.push_back(TooLongText(kLabelLength, "characters"));
  if (IsLabelShaped(name)) return errors;
  if (IsSubdomainShaped(name)) {
    errors.emplace_back("must not contain dots");
  } else {
    errors.emplace_back(
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
        "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex "
        "used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')");
  }
  return errors;
}

std::vector<std::string> IsDns1123Subdomain(std::string_view name) {
  std::vector<std::string> errors;
  if (name.size() > kSubdomainLength) errors.push_back(TooLongText(kSubdomainLength, "characters"));
  if (!IsSubdomainShaped(name)) {
    errors.emplace_back(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
        "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex "
        "used for validation is "
        "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')");
  }
  return errors;
}

std::vector<std::string> IsDns1035Label(std::string_view name) {
  std::vector<std::string> errors;
  if (name.size() > kLabelLength) errors.push_back(TooLongText(kLabelLength, "characters"));
  if (!IsLabelShaped(name) || name[0] < 'a' || name[0] > 'z') {
    errors.emplace_back(
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
        "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or "
        "'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')");
  }
  return errors;
}

std::string MaskTrailingDash(std::string_view prefix) {
  if (prefix.size() < 2 || prefix.back() != '-') return std::string(prefix);
  return base::StrCat(prefix.substr(0, prefix.size() - 2), "a");
}

}  // namespace portcullis::api
