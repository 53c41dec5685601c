// SPDX-License-Identifier: Apache-2.0

// Webhooks from files: the directory `staticManifestsDir` of WebhookAdmissionConfiguration
// (gate ManifestBasedAdmissionControlConfig). They run before those of the API, may judge webhook
// configurations and policies, and cannot be changed through the API.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "admission/manifests/manifest_directory.h"
#include "base/published.h"
#include "base/status.h"
#include "webhook/configuration.h"

namespace portcullis::webhook {

using Hooks = std::vector<std::shared_ptr<const Hook>>;

// The webhooks of all configurations in the files, in order of the configurations' names.
base::Result<Hooks> CompileManifests(const std::vector<admission::ManifestFile>& files,
                                     HookType type, const HookCompiler& compiler);

// Keeps the webhooks of a directory up to date. Thread-safe.
class StaticManifests {
 public:
  // Loads the first time; its failure is fatal: `failed to load static webhook manifests from …`.
  // What `context` and `compiler` point to outlives it.
  static base::Result<std::unique_ptr<StaticManifests>> Create(
      const admission::PluginContext& context, const std::string& directory, HookType type,
      const HookCompiler& compiler);

  std::shared_ptr<const Hooks> Get() const;

 private:
  StaticManifests() = default;

  base::Published<Hooks> hooks_;
  std::unique_ptr<admission::ManifestDirectory> directory_;
};

}  // namespace portcullis::webhook
