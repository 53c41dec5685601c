// SPDX-License-Identifier: Apache-2.0

// Service account tokens that live in secrets ("legacy tokens"): whether they are still good, and the
// tracking of their use: a label on the secret with the day of the last use, metrics, warnings and
// audit annotations (pkg/serviceaccount/legacy.go of Kubernetes).
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "authn/authenticator.h"
#include "authn/service_account.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "metrics/metrics.h"
#include "server/worker_pool.h"
#include "store/store.h"

namespace portcullis::controllers {
class Client;
}

namespace portcullis::server {

// Thread-safe. Store, clock, registry and writer outlive it.
class LegacyTokens {
 public:
  LegacyTokens(const store::Reader& store, const base::Clock& clock, metrics::Registry& metrics);

  // Secrets are labelled between these two, by `writer`. Stop() waits for what is under way.
  void Start(controllers::Client& writer);
  void Stop();

  // An authn::LegacyClaimsCheck; errors are kube-apiserver's. Never waits: the secret is labelled
  // soon after, on a thread of its own (kube-apiserver does it first). That it could not be labelled
  // is only logged.
  base::Result<authn::Notes> Check(const authn::ServiceAccountClaims& claims,
                                   std::string_view token) const;

 private:
  base::Status CheckObjects(const authn::ServiceAccountClaims& claims, std::string_view token,
                            store::ObjectPtr& secret, store::ObjectPtr& account) const;
  void NoteUse(const store::ObjectPtr& secret) const;
  void Label(const store::Object& secret, const std::string& today) const;

  const store::Reader& store_;
  const base::Clock& clock_;
  metrics::Counter& uses_;
  metrics::Counter& uses_of_generated_;
  metrics::Counter& uses_of_manual_;
  metrics::Counter& uses_of_invalid_;
  controllers::Client* writer_ = nullptr;
  mutable base::Mutex mutex_;
  std::unique_ptr<WorkerPool> worker_ PC_GUARDED_BY(mutex_);  // null: not started, or stopped
  mutable std::set<std::string, std::less<>> labelling_ PC_GUARDED_BY(mutex_);  // positions
};

}  // namespace portcullis::server
