// Environment: everything a request may need, in one place. Made once by ApiServer; all pointers
// outlive every request. Immutable after construction; what it points to is thread-safe.
#pragma once

#include <memory>
#include <string>

#include "api/catalog/catalog.h"
#include "base/published.h"

namespace portcullis::base {
class Clock;
}
namespace portcullis::store {
class Store;
}
namespace portcullis::metrics {
class Registry;
struct RequestMetrics;
}  // namespace portcullis::metrics
namespace portcullis::api::schema {
class Defaulter;
}
namespace portcullis::registry {
class ExpressionChecker;
class StrategyTable;
class ServiceNetwork;
}  // namespace portcullis::registry
namespace portcullis::admission {
class Chain;
class ObjectInterfaces;
}  // namespace portcullis::admission
namespace portcullis::authn {
class Authenticator;
class TokenAuthenticator;
class TokenSigner;
}  // namespace portcullis::authn
namespace portcullis::authz {
class Authorizer;
}
namespace portcullis::authz::rbac {
class RuleBook;
}
namespace portcullis::audit {
class Policy;
class Sink;
}  // namespace portcullis::audit

namespace portcullis::server {

struct Options;
class WatchHub;
class Documents;
class NamespaceFurnishing;

struct Environment {
  const Options* options = nullptr;
  const base::Clock* clock = nullptr;
  store::Store* store = nullptr;
  const base::Published<api::catalog::Catalog>* catalog = nullptr;
  const api::schema::Defaulter* defaulter = nullptr;
  const registry::StrategyTable* strategies = nullptr;
  registry::ServiceNetwork* services = nullptr;
  const registry::ExpressionChecker* expressions = nullptr;  // null: CEL is not checked
  bool checks_policy_types = false;                          // see registry::Context
  bool reserves_static_names = false;                        // likewise
  const admission::Chain* chain = nullptr;
  const admission::ObjectInterfaces* objects = nullptr;
  const authn::Authenticator* authenticator = nullptr;
  const authn::TokenAuthenticator* tokens = nullptr;  // for TokenReview; may be null
  const authn::TokenSigner* signer = nullptr;         // for TokenRequest; may be null
  const authz::Authorizer* authorizer = nullptr;
  const authz::rbac::RuleBook* rbac = nullptr;  // null unless RBAC is on
  const audit::Policy* audit_policy = nullptr;  // null: nothing is audited
  audit::Sink* audit_sink = nullptr;
  metrics::Registry* metrics = nullptr;
  const metrics::RequestMetrics* request_metrics = nullptr;
  WatchHub* watches = nullptr;
  Documents* documents = nullptr;  // discovery, OpenAPI, health
  const NamespaceFurnishing* furnishing = nullptr;
  std::string server_address;  // "10.0.0.1:6443", as discovery tells it
};

}  // namespace portcullis::server
