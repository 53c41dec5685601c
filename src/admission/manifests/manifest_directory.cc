// SPDX-License-Identifier: Apache-2.0

#include "admission/manifests/manifest_directory.h"

#include <filesystem>
#include <utility>

#include "base/digest.h"
#include "base/log.h"
#include "base/strings.h"

namespace portcullis::admission {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kCheckEvery{1};
constexpr std::string_view kPrefix = "apiserver_manifest_admission_config_controller_";

base::Status PathError(const std::string& directory, std::string_view detail) {
  return base::ConfigError(
      api::Invalid(api::FieldPath("staticManifestsDir"), directory, detail).ToString());
}

}  // namespace

base::Status CheckManifestsDirectory(const PluginContext& context, const std::string& directory) {
  if (directory.empty()) return base::OkStatus();
  if (!context.release->GateEnabled("ManifestBasedAdmissionControlConfig")) {
    return base::ConfigError(
        "staticManifestsDir: Forbidden: staticManifestsDir requires the "
        "ManifestBasedAdmissionControlConfig feature gate to be enabled");
  }
  if (directory.front() != '/') return PathError(directory, "must be an absolute file path");
  std::error_code error;
  const fs::file_status status = fs::status(directory, error);
  if (!fs::exists(status)) {
    return PathError(directory, base::StrCat("unable to read: stat ", directory, ": ",
                                             base::ToLower(error.message())));
  }
  if (!fs::is_directory(status)) return PathError(directory, "must be a directory");
  return base::OkStatus();
}

ManifestDirectory::ManifestDirectory(const PluginContext& context, std::string directory, Take take)
    : directory_(std::move(directory)),
      plugin_(context.name),
      server_(context.server_identity.empty()
                  ? ""
                  : base::StrCat("sha256:", base::Sha256Hex(context.server_identity))),
      take_(std::move(take)),
      clock_(context.clock != nullptr ? *context.clock : base::SystemClock()) {
  if (context.metrics == nullptr) return;
  metrics::Registry& registry = *context.metrics;
  constexpr std::string_view kSplit = "split by status, plugin, and apiserver identity.";
  reloads_ = &registry.AddCounter(
      {base::StrCat(kPrefix, "automatic_reloads_total"),
       base::StrCat("Total number of automatic reloads of admission manifest configuration ",
                    kSplit)},
      {"status", "plugin", "apiserver_id_hash"});
  times_ = &registry.AddGauge(
      {base::StrCat(kPrefix, "automatic_reload_last_timestamp_seconds"),
       base::StrCat("Timestamp of the last automatic reload of admission manifest configuration ",
                    kSplit)},
      {"status", "plugin", "apiserver_id_hash"});
  info_ = &registry.AddGauge(
      {base::StrCat(kPrefix, "last_config_info"),
       "Information about the last applied admission manifest configuration with hash as label, "
       "split by plugin and apiserver identity."},
      {"plugin", "apiserver_id_hash", "hash"});
}

base::Result<std::unique_ptr<ManifestDirectory>> ManifestDirectory::Create(
    const PluginContext& context, std::string directory, Take take) {
  std::unique_ptr<ManifestDirectory> manifests(
      new ManifestDirectory(context, std::move(directory), std::move(take)));
  TRY(manifests->Load());
  manifests->next_check_ = manifests->clock_.Steady() + kCheckEvery;
  return manifests;
}

base::Status ManifestDirectory::Load() {
  const std::vector<ManifestFile> files = TRY(ReadManifests(directory_));
  std::string hash = HashOf(files);
  if (loaded_ && hash == seen_) return base::OkStatus();
  const base::Status status = take_(files);
  Count(status.ok(), hash);
  seen_ = std::move(hash);
  if (status.ok()) loaded_ = true;
  return status;
}

void ManifestDirectory::Count(bool success, const std::string& hash) {
  if (reloads_ == nullptr) return;
  const std::string_view status = success ? "success" : "failure";
  reloads_->With({status, plugin_, server_}).Increment();
  times_->With({status, plugin_, server_})
      .Set(std::chrono::duration<double>(clock_.Now().time_since_epoch()).count());
  if (!success) return;
  if (loaded_) info_->Remove({plugin_, server_, in_force_});
  in_force_ = hash;
  info_->With({plugin_, server_, hash}).Set(1);
}

void ManifestDirectory::Refresh() {
  const base::SteadyTime now = clock_.Steady();
  base::SteadyTime due = next_check_.load(std::memory_order_relaxed);
  if (now < due || !next_check_.compare_exchange_strong(due, now + kCheckEvery)) return;
  if (is_loading_.exchange(true, std::memory_order_acquire)) return;
  const base::Status status = Load();
  is_loading_.store(false, std::memory_order_release);
  if (!status.ok()) {
    base::LogError("reloading manifest config",
                   {{"plugin", plugin_}, {"directory", directory_}, {"error", status.message()}});
  }
}

}  // namespace portcullis::admission
