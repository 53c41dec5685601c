// SPDX-License-Identifier: Apache-2.0

// LeaseCandidates (pkg/apis/coordination/validation).

#include <string>
#include <vector>

#include "base/strings.h"
#include "golang/semver.h"
#include "registry/cluster/lease_checks.h"
#include "registry/kind_table.h"

namespace portcullis::registry {
namespace {

constexpr std::string_view kOldest = "OldestEmulationVersion";

// 0.0.0 if it is absent or, with an error, none.
golang::Semver ReadVersion(json::Value value, const FieldPath& path, FieldErrors& errors) {
  if (value.AsString().empty()) return {};
  const auto version = golang::ParseSemver(value.AsString());
  if (version.ok()) return *version;
  errors.push_back(api::Invalid(path, value, "must be a valid semantic version"));
  return {};
}

void ValidateCandidate(const Context&, json::Value object, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  RequireField(spec, "leaseName", path, errors);
  const FieldPath binary_path = path.Child("binaryVersion");
  const FieldPath emulated_path = path.Child("emulationVersion");
  const golang::Semver emulated = ReadVersion(spec["emulationVersion"], emulated_path, errors);
  const bool has_binary = RequireField(spec, "binaryVersion", path, errors);
  const golang::Semver binary = ReadVersion(spec["binaryVersion"], binary_path, errors);
  if (has_binary && !spec["emulationVersion"].AsString().empty() && binary < emulated) {
    errors.push_back(api::Invalid(binary_path, spec["binaryVersion"],
                                  "must be greater than or equal to `emulationVersion`"));
  }
  if (!RequireField(spec, "strategy", path, errors)) return;
  const std::string_view strategy = spec["strategy"].AsString();
  if (strategy == kOldest && emulated == golang::Semver()) {
    errors.push_back(api::Required(
        emulated_path, base::StrCat("must be specified when `strategy` is '", kOldest, "'")));
  }
  CheckLeaseStrategy(strategy, path.Child("strategy"), errors);
}

constexpr FieldRule kRules[] = {{"spec.leaseName", FieldRuleKind::kImmutable}};

class Candidates final : public DefaultStrategy {
 public:
  using DefaultStrategy::DefaultStrategy;

  std::vector<std::string> CheckName(const Context&, std::string_view name, bool) const override {
    return IsConfigMapKey(name);
  }
};

}  // namespace

void AddLeaseCandidateStrategy(KindTable& table) {
  table.Add({.group = "coordination.k8s.io",
             .resource = "leasecandidates",
             .validate = &ValidateCandidate,
             .rules = kRules,
             .traits = {.created_by_put = true, .needs_version = true, .free_finalizers = true},
             .metadata = {.update = "u"},
             .make = &Make<Candidates>});
}

}  // namespace portcullis::registry
