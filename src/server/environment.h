// SPDX-License-Identifier: Apache-2.0

// Environment: everything a request may need, in one place: the engine's world and what the server
// puts around it. Made once by ApiServer; all pointers outlive every request. Immutable after
// construction; what it points to is thread-safe.
#pragma once

#include <string>

#include "engine/world.h"

namespace portcullis::metrics {
class Registry;
struct AccessMetrics;
struct RequestMetrics;
struct WatchMetrics;
}  // namespace portcullis::metrics
namespace portcullis::authn {
class Authenticator;
}
namespace portcullis::store {
class EtcdStore;
}
namespace portcullis::authz {
class LastModes;
}
namespace portcullis::audit {
class Policy;
class Sink;
}  // namespace portcullis::audit

namespace portcullis::server::filters {
class AnswerHeaders;
}

namespace portcullis::server {

struct Options;
class Seats;
class WatchHub;
class Documents;
class Aggregation;
class MemoryBudget;
class AdmissionTraces;

struct Environment : engine::World {
  const Options* options = nullptr;
  const authn::Authenticator* authenticator = nullptr;
  authz::LastModes* impersonation_modes = nullptr;  // null: ConstrainedImpersonation is off
  const audit::Policy* audit_policy = nullptr;      // null: nothing is audited
  audit::Sink* audit_sink = nullptr;
  bool cbor = false;  // CBORServingAndStorage: resources are read and written in CBOR, too
  // Whether a request may have to wait before its verb: for an authorizer or an audit sink.
  bool begins_may_wait = false;
  store::EtcdStore* etcd = nullptr;  // the store, if other servers write to it, too; else null
  metrics::Registry* metrics = nullptr;
  const metrics::RequestMetrics* request_metrics = nullptr;
  const metrics::AccessMetrics* access_metrics = nullptr;
  const metrics::WatchMetrics* watch_metrics = nullptr;
  MemoryBudget* memory = nullptr;
  Seats* seats = nullptr;
  WatchHub* watches = nullptr;
  AdmissionTraces* traces = nullptr;
  const filters::AnswerHeaders* answer_headers = nullptr;  // null: no flag adds any
  Documents* documents = nullptr;                          // discovery, OpenAPI, health
  Aggregation* aggregation = nullptr;                      // API servers behind this one
  std::string server_address;                              // "10.0.0.1:6443", as discovery tells it
};

}  // namespace portcullis::server
