// Webhooks from files: the directory `staticManifestsDir` of WebhookAdmissionConfiguration
// (gate ManifestBasedAdmissionControlConfig). They run before those of the API, may judge webhook
// configurations and policies, and cannot be changed through the API.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/published.h"
#include "base/status.h"
#include "metrics/metrics.h"
#include "webhook/configuration.h"

namespace portcullis::webhook {

using Hooks = std::vector<std::shared_ptr<const Hook>>;

// The files of a directory in alphabetical order; subfolders and other extensions are skipped.
struct ManifestFile {
  std::string name;
  std::string text;
};
base::Result<std::vector<ManifestFile>> ReadManifests(const std::string& directory);

// Every document decoded strictly, defaulted and validated as on creation; configurations in order
// of their names.
base::Result<Hooks> CompileManifests(const std::vector<ManifestFile>& files, HookType type,
                                     const HookCompiler& compiler);

// Keeps the webhooks of a directory up to date: whoever asks after a second has passed looks
// whether the files have changed. A set that does not load leaves the old one in force.
// Thread-safe.
class StaticManifests {
 public:
  // Loads the first time; its failure is fatal: `failed to load static webhook manifests from …`.
  // `registry` may be null. Clock, registry and what `compiler` points to outlive it.
  static base::Result<std::unique_ptr<StaticManifests>> Create(std::string directory, HookType type,
                                                               const HookCompiler& compiler,
                                                               const base::Clock& clock,
                                                               metrics::Registry* registry);

  std::shared_ptr<const Hooks> Get() const;

 private:
  StaticManifests(std::string directory, HookType type, const HookCompiler& compiler,
                  const base::Clock& clock, metrics::Registry* registry);
  // Takes the files in if they have changed.
  base::Status Refresh() const;
  void Count(bool success) const;

  const std::string directory_;
  const HookType type_;
  const HookCompiler compiler_;
  const base::Clock& clock_;
  metrics::Registry* const registry_;
  mutable base::Published<Hooks> hooks_;
  mutable std::mutex mutex_;
  mutable std::size_t seen_ = 0;           // hash of the files last tried; guarded by mutex_
  mutable base::SteadyTime next_check_{};  // guarded by mutex_
};

}  // namespace portcullis::webhook
