// SPDX-License-Identifier: Apache-2.0

// A folder of manifests that is followed: a request that comes a second or more after the last look
// looks again. A set that does not load leaves the old one in force.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "admission/manifests/manifest_loader.h"
#include "admission/plugin.h"
#include "base/clock.h"
#include "metrics/metrics.h"

namespace portcullis::admission {

// `staticManifestsDir` of a plugin's configuration: an error unless it is "" or, with the gate on,
// the absolute path of a folder.
base::Status CheckManifestsDirectory(const PluginContext& context, const std::string& directory);

// Thread-safe.
class ManifestDirectory {
 public:
  // Takes a set of files in, or says what is wrong with it. Never called concurrently with itself.
  using Take = std::function<base::Status(const std::vector<ManifestFile>& files)>;

  // Loads the first time; its failure is fatal. Plugin name and clock are the context's; its
  // metrics may be null. All of them outlive this.
  static base::Result<std::unique_ptr<ManifestDirectory>> Create(const PluginContext& context,
                                                                 std::string directory, Take take);

  // Reads the files if it is time to and no other thread is at it, whose result then counts: a
  // folder that is slow to read holds up one request.
  void Refresh();

 private:
  ManifestDirectory(const PluginContext& context, std::string directory, Take take);
  base::Status Load();
  void Count(bool success, const std::string& hash);

  const std::string directory_;
  const std::string plugin_;
  const std::string server_;  // as labels name it
  const Take take_;
  const base::Clock& clock_;
  metrics::Family<metrics::Counter>* reloads_ = nullptr;
  metrics::Family<metrics::Gauge>* times_ = nullptr;
  metrics::Family<metrics::Gauge>* info_ = nullptr;
  // Set by the thread that reads the files. It alone touches the three below: whether there is a
  // set in force, its hash, and that of the one last tried.
  std::atomic<bool> is_loading_{false};
  bool loaded_ = false;
  std::string in_force_;
  std::string seen_;
  std::atomic<base::SteadyTime> next_check_{};
};

}  // namespace portcullis::admission
