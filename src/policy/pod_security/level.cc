// SPDX-License-Identifier: Apache-2.0

#include "policy/pod_security/level.h"

#include "base/gotext.h"
#include "base/strings.h"

namespace portcullis::policy::pod_security {
namespace {

// Reads one level label. Without the label, or with a bad value, `level` keeps or gets what the
// caller says.
bool ReadLevel(json::Value labels, std::string_view label, Level fallback, Level& level,
               std::vector<LabelError>& errors) {
  const json::Value* value = labels.Find(label);
  if (value == nullptr) return false;
  std::string_view text = value->AsString();
  if (std::optional<Level> parsed = ParseLevel(text)) {
    level = *parsed;
    return true;
  }
  level = fallback;
  errors.push_back({label, std::string(text), kBadLevel});
  return false;
}

bool ReadVersion(json::Value labels, std::string_view label, Version& version,
                 std::vector<LabelError>& errors) {
  const json::Value* value = labels.Find(label);
  if (value == nullptr) return false;
  std::string_view text = value->AsString();
  std::optional<Version> parsed = ParseVersion(text);
  version = parsed.value_or(Version{});
  if (!parsed) errors.push_back({label, std::string(text), kBadVersion});
  return true;
}

}  // namespace

std::string_view LevelText(Level level) {
  switch (level) {
    case Level::kPrivileged:
      return "privileged";
    case Level::kBaseline:
      return "baseline";
    case Level::kRestricted:
      return "restricted";
  }
  return "";
}

std::optional<Level> ParseLevel(std::string_view text) {
  for (Level level : {Level::kPrivileged, Level::kBaseline, Level::kRestricted}) {
    if (LevelText(level) == text) return level;
  }
  return std::nullopt;
}

std::string VersionText(Version version) {
  return version.latest ? "latest" : base::StrCat("v1.", std::to_string(version.minor));
}

std::optional<Version> ParseVersion(std::string_view text) {
  if (text == "latest") return Version{};
  if (!text.starts_with("v1.")) return std::nullopt;
  std::string_view digits = text.substr(3);
  if (digits.empty() || (digits.size() > 1 && digits[0] == '0')) return std::nullopt;
  for (char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
  }
  std::optional<std::int64_t> minor = base::ParseInt(digits);
  if (!minor || *minor > 1'000'000'000) return std::nullopt;
  return Version{false, static_cast<int>(*minor)};
}

std::string LevelVersionText(const LevelVersion& value) {
  return base::StrCat(LevelText(value.level), ":", VersionText(value.version));
}

bool Equivalent(const LevelVersion& a, const LevelVersion& b) {
  if (a.level == Level::kPrivileged && b.level == Level::kPrivileged) return true;
  return a == b;
}

std::string LabelError::field() const { return base::StrCat("metadata.labels[", label, "]"); }

std::string LabelError::message() const {
  return base::StrCat("Invalid value: ", base::GoQuote(value), ": ", problem);
}

ResolvedPolicy ResolvePolicy(json::Value labels, const Policy& defaults) {
  ResolvedPolicy out;
  Policy& policy = out.policy = defaults;
  if (labels.empty()) return out;
  const bool enforces =
      ReadLevel(labels, kEnforceLabel, Level::kRestricted, policy.enforce.level, out.errors);
  ReadVersion(labels, kEnforceVersionLabel, policy.enforce.version, out.errors);
  ReadLevel(labels, kAuditLabel, Level::kPrivileged, policy.audit.level, out.errors);
  ReadVersion(labels, kAuditVersionLabel, policy.audit.version, out.errors);
  ReadLevel(labels, kWarnLabel, Level::kPrivileged, policy.warn.level, out.errors);
  const bool has_warn_version =
      ReadVersion(labels, kWarnVersionLabel, policy.warn.version, out.errors);

  if (!labels.Has(kWarnLabel) && enforces && policy.enforce.level > policy.warn.level) {
    policy.warn.level = policy.enforce.level;
    if (!has_warn_version) policy.warn.version = policy.enforce.version;
  }
  return out;
}

std::string LabelErrorsText(const std::vector<LabelError>& errors) {
  std::vector<std::string> texts;
  for (const LabelError& error : errors) {
    texts.push_back(base::StrCat(error.field(), ": ", error.message()));
  }
  if (texts.size() == 1) return texts[0];
  return base::StrCat("[", base::Join(texts, ", "), "]");
}

}  // namespace portcullis::policy::pod_security
