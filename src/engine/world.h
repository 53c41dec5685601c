// SPDX-License-Identifier: Apache-2.0

// World: what operations work with, in one place: the store, the catalog of kinds, the admission
// chain, the authorizer. It knows nothing of HTTP, files or flags.
//
// Filled by the code that starts the process, before the first operation; immutable from then on. All
// pointers outlive every operation; what they point to is thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/catalog/catalog.h"
#include "base/published.h"
#include "release/release.h"

namespace portcullis::base {
class Clock;
}
namespace portcullis::store {
class Store;
}
namespace portcullis::api::schema {
class Defaulter;
}
namespace portcullis::api::patch {
class FieldsCache;
}
namespace portcullis::registry {
class ExpressionChecker;
class StrategyTable;
class ServiceNetwork;
}  // namespace portcullis::registry
namespace portcullis::admission {
class Chain;
class ObjectInterfaces;
class Recorder;
}  // namespace portcullis::admission
namespace portcullis::authn {
class TokenAuthenticator;
class TokenSigner;
}  // namespace portcullis::authn
namespace portcullis::authz {
class Authorizer;
}
namespace portcullis::authz::rbac {
class RuleBook;
}

namespace portcullis::engine {

// How tokens of service accounts are issued: the flags of kube-apiserver with these names.
struct TokenSettings {
  std::string issuer;
  std::vector<std::string> api_audiences;  // empty: the issuer
  std::chrono::nanoseconds max_expiration{0};
  bool extend_expiration = true;
};

// Called after a Namespace was created and before its creator is answered. Thread-safe.
class NamespaceHook {
 public:
  virtual ~NamespaceHook() = default;
  // `recorder` is that of the operation.
  virtual void OnCreated(const std::string& name, const admission::Recorder& recorder) const = 0;
};

struct World {
  const base::Clock* clock = nullptr;
  store::Store* store = nullptr;
  const base::Published<api::catalog::Catalog>* catalog = nullptr;
  const api::schema::Defaulter* defaulter = nullptr;
  api::patch::FieldsCache* fields = nullptr;  // may be null
  const registry::StrategyTable* strategies = nullptr;
  registry::ServiceNetwork* services = nullptr;
  const registry::ExpressionChecker* expressions = nullptr;  // null: CEL is not checked
  bool checks_policy_types = false;                          // see registry::Context
  bool reserves_static_names = false;                        // likewise
  const admission::Chain* chain = nullptr;
  const admission::ObjectInterfaces* objects = nullptr;
  const authz::Authorizer* authorizer = nullptr;
  bool authorizer_may_wait = false;                   // it asks somebody outside the process
  const authz::rbac::RuleBook* rbac = nullptr;        // null unless RBAC is on
  const authn::TokenAuthenticator* tokens = nullptr;  // for TokenReview; may be null
  const authn::TokenSigner* signer = nullptr;         // for TokenRequest; may be null
  TokenSettings token_settings;
  const release::Release* release = &release::Release::Newest();
  bool allow_privileged = true;                   // see registry::Context
  bool initializers = false;                      // see write/initialization.h
  const NamespaceHook* namespace_hook = nullptr;  // may be null
  // Set when the process ends: what waits for clients (initializers) gives up. Null: it never does.
  const std::atomic<bool>* ending = nullptr;
};

}  // namespace portcullis::engine
