// Service account tokens that live in secrets ("legacy tokens"): whether they are still good, and the
// tracking of their use: a label on the secret with the day of the last use, metrics, warnings and
// audit annotations (pkg/serviceaccount/legacy.go of Kubernetes).
#pragma once

#include <string_view>

#include "authn/authenticator.h"
#include "authn/service_account.h"
#include "base/clock.h"
#include "base/status.h"
#include "metrics/metrics.h"
#include "store/store.h"

namespace portcullis::controllers {
class Client;
}

namespace portcullis::server {

// Thread-safe. Store, clock, registry and writer outlive it.
class LegacyTokens {
 public:
  LegacyTokens(const store::Reader& store, const base::Clock& clock, metrics::Registry& metrics);

  // By whom secrets are labelled. Call before tokens are checked.
  void SetWriter(controllers::Client& writer) { writer_ = &writer; }

  // An authn::LegacyClaimsCheck; errors are kube-apiserver's. Waits for the secret to be labelled, at
  // most once a day for each secret; that this has failed is only logged.
  base::Result<authn::Notes> Check(const authn::ServiceAccountClaims& claims,
                                   std::string_view token) const;

 private:
  base::Status CheckObjects(const authn::ServiceAccountClaims& claims, std::string_view token,
                            store::ObjectPtr& secret, store::ObjectPtr& account) const;
  void NoteUse(const store::Object& secret) const;

  const store::Reader& store_;
  const base::Clock& clock_;
  metrics::Counter& uses_;
  metrics::Counter& uses_of_generated_;
  metrics::Counter& uses_of_manual_;
  metrics::Counter& uses_of_invalid_;
  controllers::Client* writer_ = nullptr;
};

}  // namespace portcullis::server
