// SPDX-License-Identifier: Apache-2.0

// Operation: one verb on one resource, without HTTP: what is asked for, by whom, until when, and
// the memory in which it is answered.
//
// Made by its caller (an HTTP handler, a controller, a test), who fills in what is asked for and
// hands it to the functions of engine/; they read these fields and never change what is asked for.
// Belongs to one thread at a time. The snapshot of the catalog is taken once, so that the whole
// operation sees one set of kinds.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "admission/recorder.h"
#include "api/catalog/catalog.h"
#include "api/user_info.h"
#include "base/clock.h"
#include "engine/world.h"
#include "json/value.h"

namespace portcullis::engine {

enum class Verb : std::uint8_t {
  kNone,
  kGet,
  kList,
  kWatch,
  kCreate,
  kUpdate,
  kPatch,
  kDelete,
  kDeleteCollection,
  kConnect,  // exec, attach, portforward, proxy
};

// "deletecollection", as rules of RBAC name it; "" for kNone.
std::string_view VerbName(Verb verb);
// kNone if no verb is named so.
Verb VerbNamed(std::string_view name);

struct Operation {
  explicit Operation(const World& its_world)
      : world(its_world), arena_owner(std::make_shared<json::Arena>()), arena(*arena_owner) {}
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  const World& world;
  std::shared_ptr<json::Arena> arena_owner;
  json::Arena& arena;  // holds every value made for the operation
  admission::Recorder recorder;

  // What is asked for.
  std::shared_ptr<const api::catalog::Catalog> catalog;
  const api::catalog::ResourceInfo* resource = nullptr;  // of `catalog`
  const api::catalog::SubresourceInfo* subresource = nullptr;
  Verb verb = Verb::kNone;
  std::string ns;    // "" for cluster-scoped resources
  std::string name;  // "" for collections
  api::UserInfo user;
  bool dry_run = false;
  // The server itself asks: past admission and the check against escalation of rights.
  bool by_server = false;
  // Set if the operation judges by what the store has without having asked whether other servers
  // have written since: by which rules (store::Change::rules_revision).
  std::optional<std::int64_t> rules_revision;
  // Set by the engine when an outcome holds although: a write under these rules has been made, or has
  // failed for another reason than what the store has.
  bool is_settled = false;
  base::SteadyTime started;
  base::SteadyTime deadline;

  // The object that came with the request, decoded; set by the engine as soon as it is known. Audit
  // events show it.
  json::Value request_object;
  // The same before it was decoded, or what a patch has made; null if it has no such form.
  json::Value sent;
  // The object when it had just been decoded, as the kind of its resource: in Go's order, without empty
  // lists; null if it has had another form. Most of what is stored is still a part of it.
  json::Value canonical;
  // Whether managedFields of that object hold the time of this request.
  bool has_fresh_times = false;

  api::GroupResource group_resource() const { return resource->resource.group_resource(); }
  // The kind of the objects that are read and written: the subresource's or the resource's.
  const api::GroupVersionKind& kind() const {
    return subresource != nullptr && !subresource->kind.kind.empty() ? subresource->kind
                                                                     : resource->kind;
  }
  // "status", "scale", …; "" for the resource itself.
  std::string_view subresource_name() const {
    return subresource != nullptr ? std::string_view(subresource->name) : std::string_view();
  }
};

}  // namespace portcullis::engine
