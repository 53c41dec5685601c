// The switches of --feature-gates, with the defaults that Kubernetes has in the release
// (data/feature.gates).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "admission/plugin.h"

namespace portcullis::engine {

// `given` are the gates that were set, by name; `version` is the release, as "1.36". A gate that is
// not set has its default, or what AllAlpha and AllBeta say of its stage; one that the release does
// not know is off.
std::unique_ptr<admission::FeatureGates> MakeFeatureGates(std::map<std::string, bool> given,
                                                          std::string_view version);

// A gate of a release as it is switched. `stage` is "ALPHA", "BETA", "" (GA) or "DEPRECATED", as in
// the metric kubernetes_feature_enabled.
struct FeatureGate {
  std::string_view name;
  std::string_view stage;
  bool is_enabled = false;
};

// Every gate that the release knows, also AllAlpha and AllBeta, by name.
std::vector<FeatureGate> ListFeatureGates(const std::map<std::string, bool>& given,
                                          std::string_view version);

// What is wrong with the gates that were set, in kube-apiserver's words: gates that the release
// does not know, and gates that are locked to their default.
std::vector<std::string> CheckFeatureGates(const std::map<std::string, bool>& given,
                                           std::string_view version);

}  // namespace portcullis::engine
