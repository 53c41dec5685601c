// SPDX-License-Identifier: Apache-2.0

// Storage: the store that the flags ask for (--store, --data-dir, --etcd-servers, …), with
// encryption at rest (--encryption-provider-config) and the thread that follows changes of its file
// (--encryption-provider-config-automatic-reload).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "metrics/metrics.h"
#include "server/options.h"
#include "store/store.h"

namespace portcullis::store {
class Encryption;
class EtcdStore;
struct Options;
}  // namespace portcullis::store

namespace portcullis::server {

class EtcdMetrics;

// Without one of these objects, by which requests are judged, a server would answer, but wrongly. All are among
// the rules that servers tell each other of (store::HasRules()).
std::span<const store::Collection> DecisiveCollections();

// Made and destroyed by one thread; the store is thread-safe.
class Storage {
 public:
  // `memory` is the limit of the process; the references outlive the result. Errors name the flag
  // or the database. An object that no key decrypts is an error only if requests are judged by it
  // (webhook configurations, policies, RBAC, namespaces, …): kube-apiserver would not become ready
  // without it, either. Other such objects are logged, and fail the requests that need them.
  static base::Result<std::unique_ptr<Storage>> Open(const Options& options,
                                                     const base::Clock& clock,
                                                     metrics::Registry& metrics,
                                                     std::size_t memory);
  ~Storage();

  store::Store& store() { return *store_; }
  // The same, if other servers write to it, too; else null.
  store::EtcdStore* etcd() { return etcd_; }

 private:
  struct EncryptionMetrics;

  Storage(const base::Clock& clock, metrics::Registry& metrics);
  base::Status OpenEncryption(const Options& options);
  base::Status OpenStore(const Options& options, std::size_t memory);
  base::Status OpenEtcd(const Options& options, const store::Options& choices);
  base::Status StartFollowing();
  void FollowFile() PC_EXCLUDES(mutex_);
  void Reload();
  // Whether the file has changed and is in force now.
  base::Result<bool> ReadAgain();
  void NoteReload(bool success);
  void NoteHash();

  const base::Clock& clock_;
  metrics::Registry& metrics_;
  std::unique_ptr<EncryptionMetrics> encryption_metrics_;
  std::shared_ptr<store::Encryption> encryption_;  // null: nothing is encrypted
  std::unique_ptr<EtcdMetrics> etcd_metrics_;      // null: the objects are not in etcd
  std::unique_ptr<store::Store> store_;
  store::EtcdStore* etcd_ = nullptr;

  // The thread's, once there is one.
  std::string path_;        // of the file
  std::string hash_;        // of what is in force
  std::string shown_hash_;  // of the metric
  std::string last_failure_;
  base::Mutex mutex_;
  base::CondVar wake_;
  bool stopping_ PC_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace portcullis::server
