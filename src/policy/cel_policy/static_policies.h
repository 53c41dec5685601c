// SPDX-License-Identifier: Apache-2.0

// Policies from files: the folder `staticManifestsDir` of ValidatingAdmissionPolicyConfiguration
// and MutatingAdmissionPolicyConfiguration (gate ManifestBasedAdmissionControlConfig). They run
// before those of the API, may judge policies themselves, take no parameters, and cannot be changed
// through the API.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "admission/manifests/manifest_directory.h"
#include "base/published.h"
#include "base/status.h"
#include "policy/cel_policy/policy_set.h"

namespace portcullis::policy {

// The folder that the plugin's configuration names, or "".
base::Result<std::string> ReadManifestsDirectory(const admission::PluginContext& context,
                                                 PolicyType type);

// The policies of all files with their bindings, both by name.
base::Result<std::vector<ActivePolicy>> CompileManifests(
    const std::vector<admission::ManifestFile>& files, PolicyType type,
    kube_cel::Compiler& compiler, SelectorPool& selectors);

// Keeps the policies of a directory up to date. Thread-safe.
class StaticPolicies {
 public:
  // Loads the first time; its failure is fatal: `failed to load static policy manifests from …`.
  // What `context` points to, compiler and selectors outlive it.
  static base::Result<std::unique_ptr<StaticPolicies>> Create(
      const admission::PluginContext& context, const std::string& directory, PolicyType type,
      kube_cel::Compiler& compiler, SelectorPool& selectors);

  // Never null.
  std::shared_ptr<const PolicySet> Get() const;

 private:
  StaticPolicies() = default;

  base::Published<PolicySet> policies_;
  std::unique_ptr<admission::ManifestDirectory> directory_;
};

}  // namespace portcullis::policy
