// SPDX-License-Identifier: Apache-2.0

#include "server/storage.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "api/catalog/catalog.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/memory_reserve.h"
#include "base/strings.h"
#include "controllers/identity_lease.h"
#include "engine/codec/stored_values.h"
#include "registry/services/address_range.h"
#include "server/encryption/encryption_file.h"
#include "server/etcd_flags.h"
#include "server/etcd_metrics.h"
#include "store/embedded/embedded_store.h"
#include "store/encryption/encryption.h"
#include "store/etcd/etcd_store.h"
#include "store/memory/memory_store.h"

namespace portcullis::server {
namespace {

// So much of the memory limit may be the history of one collection.
constexpr std::size_t kHistoryShare = 32;
// kube-apiserver looks once a minute; looking at a small file costs nothing.
constexpr std::chrono::seconds kConfigurationEvery{1};

constexpr store::Collection kDecisive[] = {
    {"", "limitranges"},
    {"", "namespaces"},
    {"", "resourcequotas"},
    {"", "serviceaccounts"},
    {"", "services"},
    {"admissionregistration.k8s.io", "mutatingadmissionpolicies"},
    {"admissionregistration.k8s.io", "mutatingadmissionpolicybindings"},
    {"admissionregistration.k8s.io", "mutatingwebhookconfigurations"},
    {"admissionregistration.k8s.io", "validatingadmissionpolicies"},
    {"admissionregistration.k8s.io", "validatingadmissionpolicybindings"},
    {"admissionregistration.k8s.io", "validatingwebhookconfigurations"},
    {"apiextensions.k8s.io", "customresourcedefinitions"},
    {"apiregistration.k8s.io", "apiservices"},
    {"flowcontrol.apiserver.k8s.io", "flowschemas"},
    {"flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"},
    {"networking.k8s.io", "ingressclasses"},
    {"networking.k8s.io", "ipaddresses"},
    {"networking.k8s.io", "servicecidrs"},
    {"node.k8s.io", "runtimeclasses"},
    {"rbac.authorization.k8s.io", "clusterrolebindings"},
    {"rbac.authorization.k8s.io", "clusterroles"},
    {"rbac.authorization.k8s.io", "rolebindings"},
    {"rbac.authorization.k8s.io", "roles"},
    {"resource.k8s.io", "deviceclasses"},
    {"scheduling.k8s.io", "priorityclasses"},
    {"storage.k8s.io", "storageclasses"},
};

base::Status CheckDecisive(const store::Store& store) {
  for (const store::Collection& collection : kDecisive) {
    const base::Status why = store.WhyUnreadable(collection, "");
    if (why.ok()) continue;
    return base::ConfigError(
        base::StrCat(why.message(), "; requests are judged by this object: ",
                     "add its key to --encryption-provider-config, or remove it from the store"));
  }
  return base::OkStatus();
}

std::vector<double> TransformationBounds() {
  std::vector<double> bounds;
  double bound = 5e-6;
  for (int i = 0; i < 25; ++i, bound *= 2) bounds.push_back(bound);
  return bounds;
}

}  // namespace

std::span<const store::Collection> DecisiveCollections() { return kDecisive; }

// kube-apiserver's.
struct Storage::EncryptionMetrics {
  explicit EncryptionMetrics(metrics::Registry& registry)
      : operations(registry.AddCounter(
            {"apiserver_storage_transformation_operations_total",
             "Total number of transformations. Successful transformation will have a status 'OK' "
             "and a varied status string when the transformation fails. The status, resource, and "
             "transformation_type fields can be used for alerting purposes. For example, you can "
             "monitor for encryption/decryption failures using the transformation_type (e.g., "
             "from_storage for decryption and to_storage for encryption). Additionally, these "
             "fields can be used to ensure that the correct transformers are applied to each "
             "resource."},
            {"resource", "transformation_type", "transformer_prefix", "status"})),
        durations(registry.AddHistogram(
            {"apiserver_storage_transformation_duration_seconds",
             "Latencies in seconds of value transformation operations."},
            {"transformation_type", "transformer_prefix"}, TransformationBounds())),
        reloads(registry.AddCounter(
            {"apiserver_encryption_config_controller_automatic_reloads_total",
             "Total number of reload successes and failures of encryption configuration split by "
             "apiserver identity."},
            {"status", "apiserver_id_hash"})),
        reload_times(registry.AddGauge(
            {"apiserver_encryption_config_controller_automatic_reload_last_timestamp_seconds",
             "Timestamp of the last successful or failed automatic reload of encryption "
             "configuration split by apiserver identity."},
            {"status", "apiserver_id_hash"})),
        configs(registry.AddGauge({"apiserver_encryption_config_controller_last_config_info",
                                   "Information about the last applied encryption configuration "
                                   "with hash as label, split by apiserver identity."},
                                  {"apiserver_id_hash", "hash"})),
        server("sha256:" + base::Sha256Hex(controllers::OwnServerIdentity())) {}

  void Observe(const store::Transformation& step) const {
    operations.With({step.resource, step.type, step.prefix, step.ok ? "OK" : "unknown-non-grpc"})
        .Increment();
    if (!step.ok) return;
    durations.With({step.type, step.prefix})
        .Observe(std::chrono::duration<double>(step.elapsed).count());
  }

  metrics::Family<metrics::Counter>& operations;
  metrics::Family<metrics::Histogram>& durations;
  metrics::Family<metrics::Counter>& reloads;
  metrics::Family<metrics::Gauge>& reload_times;
  metrics::Family<metrics::Gauge>& configs;
  const std::string server;  // its identity, hashed
};

Storage::Storage(const base::Clock& clock, metrics::Registry& metrics)
    : clock_(clock), metrics_(metrics) {}

Storage::~Storage() {
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
    wake_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

base::Result<std::unique_ptr<Storage>> Storage::Open(const Options& options,
                                                     const base::Clock& clock,
                                                     metrics::Registry& metrics,
                                                     std::size_t memory) {
  std::unique_ptr<Storage> storage(new Storage(clock, metrics));
  TRY(storage->OpenEncryption(options));
  TRY(storage->OpenStore(options, memory));
  if (options.encryption_provider_config_automatic_reload) TRY(storage->StartFollowing());
  return storage;
}

base::Status Storage::OpenEncryption(const Options& options) {
  if (options.encryption_provider_config.empty()) return base::OkStatus();
  encryption_metrics_ = std::make_unique<EncryptionMetrics>(metrics_);
  path_ = options.encryption_provider_config;
  auto loaded = LoadEncryption(
      path_, options.encryption_provider_config_automatic_reload,
      {[this](const store::Transformation& step) { encryption_metrics_->Observe(step); }, &clock_});
  if (!loaded.ok()) return loaded.status().Annotate("--encryption-provider-config");
  encryption_ = std::move(loaded->encryption);
  hash_ = std::move(loaded->hash);
  NoteHash();
  return base::OkStatus();
}

base::Status Storage::StartFollowing() {
  try {
    thread_ = std::thread([this] { FollowFile(); });
  } catch (const std::system_error& error) {
    return base::ConfigError(base::StrCat("cannot start a thread: ", error.what()));
  }
  return base::OkStatus();
}

base::Status Storage::OpenStore(const Options& options, std::size_t memory) {
  store::Options choices;
  choices.compaction_interval = options.etcd_compaction_interval;
  choices.history_bytes = std::min(choices.history_bytes, memory / kHistoryShare);
  if (options.store == "memory") {
    store_ = store::OpenMemory(choices);
    return base::OkStatus();
  }
  choices.transformer = encryption_;
  if (options.store == "etcd") {
    TRY(OpenEtcd(options, choices));
    return CheckDecisive(*store_);
  }
  const auto path = std::filesystem::path(options.data_dir) / "portcullis.db";
  choices.skip_damaged = options.skip_damaged_objects;
  std::size_t set_aside = 0;
  store_ = TRY(store::OpenEmbedded(path.string(), choices, &set_aside));
  metrics_.AddGaugeFunction({"portcullis_store_damaged_objects",
                             "Objects that were found damaged and are kept aside in the database.",
                             metrics::Stability::kAlpha},
                            [set_aside] { return static_cast<double>(set_aside); });
  return CheckDecisive(*store_);
}

base::Status Storage::OpenEtcd(const Options& options, const store::Options& choices) {
  store::EtcdOptions etcd;
  etcd.clock = &clock_;
  etcd.client = EtcdClientOptions(options);
  etcd.prefix = options.etcd_prefix;
  if (options.request_timeout.count() > 0) etcd.request_timeout = options.request_timeout;
  etcd.event_ttl = std::chrono::floor<std::chrono::seconds>(options.event_ttl);
  etcd.lease_reuse_seconds = options.lease_reuse_duration_seconds;
  etcd.compaction_interval = options.etcd_compaction_interval;
  const auto ranges = TRY(registry::ParseServiceRanges(options.service_cluster_ip_range));
  const release::Release release = TRY(release::Release::Open(options.kubernetes_version));
  const auto values = TRY(engine::StoredValues::Make(registry::FamilyOf(ranges.front().address),
                                                     release.legacy_minor()));
  etcd.decoder = [values](const store::Key& key, std::string_view value, bool& converted) {
    return values->Read(key, value, converted);
  };
  etcd.versioner = [values](const store::Key& key, std::string& value) {
    return values->ToEmulated(key, value);
  };
  etcd_metrics_ = std::make_unique<EtcdMetrics>(metrics_);
  etcd.observer = etcd_metrics_.get();
  auto store = TRY(store::OpenEtcd(etcd, choices));
  etcd_ = store.get();
  store_ = std::move(store);
  return base::OkStatus();
}

void Storage::FollowFile() {
  const base::NeedsMemory needs;
  while (true) {
    {
      const base::MutexLock lock(mutex_);
      const base::SteadyTime next = clock_.Steady() + kConfigurationEvery;
      while (!stopping_ && wake_.WaitUntil(mutex_, next)) {
      }
      if (stopping_) return;
    }
    Reload();
  }
}

base::Result<bool> Storage::ReadAgain() {
  std::string text = TRY(ReadEncryptionFile(path_));
  std::string hash = EncryptionFileHash(text);
  if (hash == hash_) return false;
  TRY(encryption_->Set(TRY(ParseEncryptionFile(std::move(text), path_, true))));
  hash_ = std::move(hash);
  if (etcd_ != nullptr) etcd_->ReadUnreadable();
  return true;
}

void Storage::Reload() {
  const auto changed = ReadAgain();
  if (!changed.ok()) {
    // The same mistake is told once.
    if (changed.status().message() == last_failure_) return;
    last_failure_ = changed.status().message();
    base::LogError(base::StrCat("error processing encryption config file ", path_),
                   {{"err", last_failure_}});
    return NoteReload(false);
  }
  last_failure_.clear();
  if (!*changed) return;
  base::LogInfo("encryption configuration reloaded", {{"hash", hash_}});
  NoteReload(true);
  NoteHash();
}

void Storage::NoteReload(bool success) {
  const std::string_view status = success ? "success" : "failure";
  encryption_metrics_->reloads.With({status, encryption_metrics_->server}).Increment();
  const auto now = clock_.Now().time_since_epoch();
  encryption_metrics_->reload_times.With({status, encryption_metrics_->server})
      .Set(std::chrono::duration<double>(now).count());
}

void Storage::NoteHash() {
  metrics::Family<metrics::Gauge>& configs = encryption_metrics_->configs;
  const std::string_view server = encryption_metrics_->server;
  if (!shown_hash_.empty()) configs.Remove({server, shown_hash_});
  shown_hash_ = hash_;
  configs.With({server, shown_hash_}).Set(1);
}

}  // namespace portcullis::server
