// SPDX-License-Identifier: Apache-2.0

// The objects that tokens of service accounts depend on: a token ends when its account, or the pod, secret
// or node it is bound to, is deleted or made anew. Tokens that live in secrets: legacy_tokens.h.
#pragma once

#include <string_view>

#include "authn/service_account.h"
#include "base/clock.h"
#include "base/status.h"
#include "store/store.h"

namespace portcullis::server {

// Thread-safe; store and clock outlive it. Errors are kube-apiserver's.
class TokenObjects {
 public:
  TokenObjects(const store::Reader& store, const base::Clock& clock)
      : store_(store), clock_(clock) {}

  // Of a token of the TokenRequest API (authn::ClaimsCheck). What is being deleted still counts
  // for a minute.
  base::Status Check(const authn::ServiceAccountClaims& claims) const;

 private:
  base::Status CheckBound(std::string_view kind, const store::Key& key,
                          const authn::ObjectRef& ref) const;
  bool IsLongDeleted(const store::Object& object) const;

  const store::Reader& store_;
  const base::Clock& clock_;
};

}  // namespace portcullis::server
