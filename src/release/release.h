// SPDX-License-Identifier: Apache-2.0

// A release of Kubernetes as --kubernetes-version and --feature-gates ask for it: its number, its
// feature gates, and what it does otherwise than other releases. Everything that depends on the
// release asks this object; the facts are data (data/feature.gates, data/behavior.facts).
//
//   const release::Release release = TRY(release::Release::Open("1.33", {{"AllAlpha", true}}));
//   if (release.GateEnabled("PodLevelResources")) …
//   if (release.Has("LimitRangerChecksResize")) …
//
// Immutable and thread-safe. Sources: Kubernetes' documentation "Feature Gates", KEP-4330 (compatibility versions).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace portcullis::release {

// The releases v1.29 to v1.36 are known. Of those from v1.7 on only what they had that v1.36 has not:
// initializers, external admission hooks, API versions (docs/legacy.md). In everything else such a
// release is v1.36.
inline constexpr int kOldestLegacyMinor = 7;
inline constexpr int kOldestMinor = 29;
inline constexpr int kNewestMinor = 36;

// The gates that were set, by name.
using GateSettings = std::map<std::string, bool, std::less<>>;

// A gate as it is switched. `stage` is "ALPHA", "BETA", "" (GA) or "DEPRECATED", as in the metric
// kubernetes_feature_enabled.
struct FeatureGate {
  std::string_view name;
  std::string_view stage;
  bool is_enabled = false;
};

class Release {
 public:
  // `version` is "1.33", "v1.33" or "1.33.4". Gates are not checked, see Problems().
  static base::Result<Release> Open(std::string_view version, GateSettings gates = {});
  // The newest one with every gate at its default. Lives for ever.
  static const Release& Newest();

  int minor() const { return minor_; }  // 36 of v1.36, and of releases before v1.29
  std::string version() const;          // "1.36"
  // As it was asked for: 8 of v1.8. Decides about plugins and about what Kubernetes has dropped.
  int legacy_minor() const { return legacy_minor_; }

  // A gate that is not set has its default, or what AllAlpha and AllBeta say of its stage; one that
  // the release does not know is off unless it was set.
  bool GateEnabled(std::string_view gate) const;
  // Every gate that the release knows, also AllAlpha and AllBeta, by name.
  std::vector<FeatureGate> gates() const;
  // What is wrong with the gates that were set, in kube-apiserver's words: gates that the release
  // does not know, and gates that are locked to their default.
  std::vector<std::string> Problems() const;

  // Whether the release does what data/behavior.facts calls by this name.
  // REQUIRES: there is such a fact.
  bool Has(std::string_view fact) const;
  // Whether the release, as it was asked for, is one of v1.<since> to v1.<until>; 0 for open ends.
  bool IsWithin(int since_minor, int until_minor) const {
    return legacy_minor_ >= since_minor && (until_minor == 0 || legacy_minor_ <= until_minor);
  }

 private:
  // A gate in this release.
  struct Gate {
    std::string_view stage;  // Alpha, Beta, GA, Deprecated
    bool enabled = false;    // by default
    bool is_locked = false;
  };

  Release(int legacy_minor, GateSettings given);
  void ReadGates();
  void ReadFacts();

  int legacy_minor_;
  int minor_;
  GateSettings given_;
  std::map<std::string_view, Gate> gates_;
  std::map<std::string_view, bool> facts_;  // true: the release does it
};

}  // namespace portcullis::release
