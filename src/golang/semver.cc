// SPDX-License-Identifier: Apache-2.0

#include "golang/semver.h"

#include <algorithm>
#include <optional>

#include "base/gotext.h"
#include "base/strings.h"

namespace portcullis::golang {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLabel(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
}
bool IsNumeric(std::string_view text) { return std::all_of(text.begin(), text.end(), IsDigit); }

base::Result<std::uint64_t> ReadNumber(std::string_view text, std::string_view lower,
                                       std::string_view upper) {
  if (!IsNumeric(text)) {
    return base::BadRequest(
        base::StrCat("Invalid character(s) found in ", lower, " number ", base::GoQuote(text)));
  }
  if (text.size() > 1 && text[0] == '0') {
    return base::BadRequest(
        base::StrCat(upper, " number must not contain leading zeroes ", base::GoQuote(text)));
  }
  if (text.empty()) return base::BadRequest("strconv.ParseUint: parsing \"\": invalid syntax");
  std::uint64_t value = 0;
  for (const char c : text) {
    if (__builtin_mul_overflow(value, 10U, &value) ||
        __builtin_add_overflow(value, static_cast<unsigned>(c - '0'), &value)) {
      return base::BadRequest(
          base::StrCat("strconv.ParseUint: parsing ", base::GoQuote(text), ": value out of range"));
    }
  }
  return value;
}

base::Status CheckPrerelease(std::string_view text) {
  if (text.empty()) return base::BadRequest("Prerelease is empty");
  if (IsNumeric(text)) {
    if (text.size() > 1 && text[0] == '0') {
      return base::BadRequest(base::StrCat(
          "Numeric PreRelease version must not contain leading zeroes ", base::GoQuote(text)));
    }
    return base::OkStatus();
  }
  if (std::all_of(text.begin(), text.end(), IsLabel)) return base::OkStatus();
  return base::BadRequest(
      base::StrCat("Invalid character(s) found in prerelease ", base::GoQuote(text)));
}

base::Status CheckBuild(std::string_view text) {
  if (text.empty()) return base::BadRequest("Build meta data is empty");
  if (std::all_of(text.begin(), text.end(), IsLabel)) return base::OkStatus();
  return base::BadRequest(
      base::StrCat("Invalid character(s) found in build meta data ", base::GoQuote(text)));
}

// Splits at the first two dots.
std::vector<std::string_view> ThreeParts(std::string_view text) {
  std::vector<std::string_view> parts;
  while (parts.size() < 2) {
    const auto dot = text.find('.');
    if (dot == std::string_view::npos) break;
    parts.push_back(text.substr(0, dot));
    text.remove_prefix(dot + 1);
  }
  parts.push_back(text);
  return parts;
}

std::strong_ordering CompareLabels(std::string_view a, std::string_view b) {
  const bool a_number = IsNumeric(a);
  const bool b_number = IsNumeric(b);
  if (a_number != b_number) {
    return a_number ? std::strong_ordering::less : std::strong_ordering::greater;
  }
  if (a_number && a.size() != b.size()) return a.size() <=> b.size();
  return a.compare(b) <=> 0;
}

}  // namespace

std::strong_ordering Semver::operator<=>(const Semver& other) const {
  if (major != other.major) return major <=> other.major;
  if (minor != other.minor) return minor <=> other.minor;
  if (patch != other.patch) return patch <=> other.patch;
  if (prerelease.empty() || other.prerelease.empty()) {
    // A release is newer than what came before it.
    return prerelease.empty() <=> other.prerelease.empty();
  }
  const std::size_t count = std::min(prerelease.size(), other.prerelease.size());
  for (std::size_t i = 0; i < count; ++i) {
    const auto order = CompareLabels(prerelease[i], other.prerelease[i]);
    if (order != 0) return order;
  }
  return prerelease.size() <=> other.prerelease.size();
}

base::Result<Semver> ParseSemver(std::string_view text) {
  if (text.empty()) return base::BadRequest("Version string empty");
  const auto parts = ThreeParts(text);
  if (parts.size() != 3) return base::BadRequest("No Major.Minor.Patch elements found");
  Semver version;
  version.major = TRY(ReadNumber(parts[0], "major", "Major"));
  version.minor = TRY(ReadNumber(parts[1], "minor", "Minor"));
  std::string_view patch = parts[2];
  std::optional<std::string_view> build;
  std::optional<std::string_view> prerelease;
  if (const auto plus = patch.find('+'); plus != std::string_view::npos) {
    build = patch.substr(plus + 1);
    patch = patch.substr(0, plus);
  }
  if (const auto minus = patch.find('-'); minus != std::string_view::npos) {
    prerelease = patch.substr(minus + 1);
    patch = patch.substr(0, minus);
  }
  version.patch = TRY(ReadNumber(patch, "patch", "Patch"));
  if (prerelease) {
    for (const std::string_view label : base::Split(*prerelease, '.')) {
      TRY(CheckPrerelease(label));
      version.prerelease.emplace_back(label);
    }
  }
  if (build) {
    for (const std::string_view label : base::Split(*build, '.')) TRY(CheckBuild(label));
  }
  return version;
}

base::Result<Semver> ParseSemverNormalized(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  std::vector<std::string> parts;
  for (const std::string_view part : ThreeParts(text)) {
    std::string_view rest = part;
    if (part.size() > 1) {
      while (rest.starts_with('0')) rest.remove_prefix(1);
    }
    const bool lost = part.size() > 1 && (rest.empty() || !IsDigit(rest[0]));
    parts.push_back(lost ? base::StrCat("0", rest) : std::string(rest));
  }
  if (parts.size() < 3) {
    if (parts.back().find_first_of("+-") != std::string::npos) {
      return base::BadRequest("short version cannot contain PreRelease/Build meta data");
    }
    parts.resize(3, "0");
  }
  return ParseSemver(base::Join(parts, "."));
}

}  // namespace portcullis::golang
