// SPDX-License-Identifier: Apache-2.0

// Client: how controllers write. Each request is an operation of the engine, from its object to the
// commit, in the process and without HTTP; a server puts around it what it puts around requests of
// others: audit, flow control, authorization, metrics (server/own_requests.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "api/names.h"
#include "api/user_info.h"
#include "base/status.h"
#include "engine/operation.h"
#include "engine/options.h"
#include "engine/outcome.h"
#include "engine/read/listing.h"
#include "engine/world.h"
#include "json/value.h"
#include "store/object.h"

namespace portcullis::controllers {

// What is asked for. The views live until the request has been answered.
struct Request {
  engine::Verb verb = engine::Verb::kNone;  // one that writes, but no kConnect
  api::GroupVersionResource resource;
  std::string_view subresource;
  std::string_view ns;    // "" for cluster-scoped resources
  std::string_view name;  // "" for creates and collections
  json::Value body;       // of creates and updates the object, of patches the patch
  engine::PatchType patch = engine::PatchType::kMerge;
  std::string_view field_manager;                    // "": the first part of the client's agent
  bool force = false;                                // of applies
  bool include_uninitialized = false;                // of creates: wait for no initializer
  std::string_view uid;                              // of deletes: a precondition
  std::string_view propagation_policy;               // of deletes
  std::optional<std::int64_t> grace_period_seconds;  // of deletes
};

// Who asks.
struct Identity {
  api::UserInfo user;
  std::string agent;  // as the User-Agent of a client
};

// A service account in kube-system; and the server itself, as kube-apiserver's own requests show
// it (k8s.io/apiserver/pkg/server, AuthorizeClientBearerToken).
Identity ServiceAccountOf(std::string_view account);
Identity ServerItself();
// Who a controller is, by ControllerInfo::account.
Identity IdentityOf(std::string_view account);

// Thread-safe. Do() blocks until the write is committed or refused.
class Client {
 public:
  virtual ~Client() = default;
  // The object as it was stored; null for what is deleted. Errors are those of kube-apiserver.
  virtual base::Result<store::ObjectPtr> Do(const Request& request) = 0;
};

// A client of nothing but the engine: what is asked for is authorized and admitted, not audited or
// limited. `world` outlives it.
std::unique_ptr<Client> MakeClient(const engine::World& world, Identity identity);

// Names the resource in `op`, whose catalog is set; NotFound if it is not served.
base::Status Resolve(engine::Operation& op, const Request& request);

// Does what `request` asks for; `op` has been resolved, has its user and is authorized.
using Done = std::variant<engine::Outcome, engine::Listing>;  // a listing: of kDeleteCollection
base::Result<Done> Perform(engine::Operation& op, const Request& request, const Identity& identity);
// The object that was stored; null for what is deleted.
store::ObjectPtr StoredBy(const Done& done);

}  // namespace portcullis::controllers
