// SPDX-License-Identifier: Apache-2.0

#include "engine/write/system_fields.h"

#include <algorithm>

#include "api/field_error.h"
#include "api/patch/field_set.h"
#include "api/patch/fields_cache.h"
#include "api/patch/managed_fields.h"
#include "api/view/metadata.h"
#include "base/random.h"
#include "base/strings.h"
#include "engine/codec/codec.h"
#include "engine/write/steps.h"
#include "json/value_set.h"
#include "registry/strategy_table.h"
#include "store/store.h"

namespace portcullis::engine {
namespace {

constexpr std::size_t kMaxNameLength = 63;
constexpr std::size_t kSuffixLength = 5;

// What the server alone sets in the metadata of a new object.
constexpr std::string_view kOfServer[] = {"creationTimestamp", "uid", "deletionTimestamp",
                                          "deletionGracePeriodSeconds", "selfLink"};

const api::schema::Schema* OwnSchema(const Operation& op) { return op.resource->schema; }

// What Kubernetes finds wrong with entries before it looks at their sets.
base::Status CheckEntries(json::Value entries) {
  api::FieldErrors errors;
  std::size_t index = 0;
  for (const json::Value& entry : entries.elements()) {
    const api::FieldPath path = api::FieldPath("metadata", "managedFields").Index(index++);
    const std::string_view operation = entry["operation"].AsString();
    if (operation != "Apply" && operation != "Update") {
      errors.push_back(
          api::Invalid(path.Child("operation"), operation, "must be `Apply` or `Update`"));
    }
    const std::string_view type = entry["fieldsType"].AsString();
    if (!type.empty() && type != "FieldsV1") {
      errors.push_back(api::Invalid(path.Child("fieldsType"), type, "must be `FieldsV1`"));
    }
  }
  if (!errors.empty()) return base::BadRequest(api::AggregateText(errors));
  index = 0;
  for (const json::Value& entry : entries.elements()) {
    if (entry["apiVersion"].AsString().empty()) {
      return base::BadRequest("apiVersion must not be empty");
    }
    if (entry["fieldsType"].AsString().empty()) {
      return base::BadRequest(
          base::StrCat("missing fieldsType in managed fields entry ", std::to_string(index)));
    }
    ++index;
  }
  return base::OkStatus();
}

// See Strategy::ResetFields.
api::patch::FieldSet ResetFields(Operation& op) {
  api::patch::FieldSet reset;
  const registry::Context context = StrategyContext(op, op.name);
  for (const std::string_view field : StrategyOf(op).ResetFields(context)) {
    api::patch::FieldPathSteps steps;
    for (const std::string_view name : base::Split(field, '.')) {
      steps.push_back(api::patch::PathElement::Field(name));
    }
    reset.Insert(steps);
  }
  return reset;
}

}  // namespace

base::Result<json::Value> MatchNamespace(Operation& op, json::Value object) {
  const std::string_view given = object["metadata"]["namespace"].AsString();
  if (!op.resource->namespaced) {
    if (given.empty()) return object;
    // Kubernetes drops a namespace on a cluster-scoped object.
    return json::RemovePath(op.arena, object, {"metadata", "namespace"});
  }
  if (given == op.ns) return object;
  if (!given.empty()) {
    return base::BadRequest(
        "the namespace of the provided object does not match the namespace sent on the request");
  }
  return json::SetPath(op.arena, object, {"metadata", "namespace"}, json::String(op.arena, op.ns));
}

base::Status MatchName(std::string_view url_name, json::Value object) {
  const std::string_view name = object["metadata"]["name"].AsString();
  if (name == url_name) return base::OkStatus();
  if (name.empty()) {
    return base::BadRequest(base::StrCat("the name of the object (", url_name,
                                         " based on URL) was undeterminable: name must be "
                                         "provided"));
  }
  return base::BadRequest(base::StrCat("the name of the object (", name,
                                       ") does not match the name on the URL (", url_name, ")"));
}

base::Result<json::Value> PrepareMetadata(Operation& op, json::Value object) {
  const json::Value given = object["metadata"];
  const auto is_set = [&](std::string_view name) { return given.Has(name); };
  if (!given.is_object() || std::any_of(std::begin(kOfServer), std::end(kOfServer), is_set)) {
    json::ObjectBuilder metadata(op.arena, given);
    for (const std::string_view name : kOfServer) metadata.Remove(name);
    object = json::With(op.arena, object, "metadata", metadata.Build());
  }
  return MatchNamespace(op, object);
}

json::Value DeduplicateOwners(Operation& op, json::Value object, When when) {
  const json::Value owners = object["metadata"]["ownerReferences"];
  if (owners.size() < 2) return object;
  json::ArrayBuilder kept(op.arena);
  json::ValueSet seen;
  std::vector<std::string_view> repeated;
  for (const json::Value& owner : owners.elements()) {
    if (seen.Insert(owner)) {
      kept.Add(owner);
    } else {
      repeated.push_back(owner["uid"].AsString());
    }
  }
  if (repeated.empty()) return object;
  op.recorder.Warn(base::StrCat(
      ".metadata.ownerReferences contains duplicate entries",
      when == When::kAfterAdmission ? " after mutating admission happens" : "",
      "; API server dedups owner references in 1.20+, and may reject such requests as early as "
      "1.24; please fix your requests; duplicate UID(s) observed: ",
      base::Join(repeated, ", ")));
  return json::SetPath(op.arena, object, {"metadata", "ownerReferences"}, kept.Build());
}

json::Value RegenerateName(Operation& op, json::Value object) {
  const std::string_view base = object["metadata"]["generateName"].AsString();
  const std::string name = base::StrCat(base.substr(0, kMaxNameLength - kSuffixLength),
                                        base::RandomSuffix(kSuffixLength));
  return json::SetPath(op.arena, object, {"metadata", "name"}, json::String(op.arena, name));
}

json::Value AssignIdentity(Operation& op, json::Value object) {
  const api::view::Metadata metadata(object);
  const bool generate = metadata.name().empty() && !metadata.generate_name().empty();
  json::ObjectBuilder builder(op.arena, object["metadata"]);
  builder.Set("uid", std::string_view(base::Uuid()));
  builder.Set("creationTimestamp", std::string_view(base::FormatTime(op.world.clock->Now())));
  // A dry run stores nothing, so the client's resourceVersion stays.
  if (!op.dry_run) builder.Remove("resourceVersion");
  object = json::With(op.arena, object, "metadata", builder.Build());
  return generate ? RegenerateName(op, object) : object;
}

json::Value KeepSystemFields(Operation& op, json::Value object, json::Value old) {
  const json::Value before = old["metadata"];
  json::ObjectBuilder metadata(op.arena, object["metadata"]);
  const auto keep = [&](std::string_view name) {
    if (const json::Value* value = before.Find(name)) {
      metadata.Set(name, *value);
    } else {
      metadata.Remove(name);
    }
  };
  const auto fill = [&](std::string_view name) {
    const json::Value* value = before.Find(name);
    if (value != nullptr && metadata.Find(name) == nullptr) metadata.Set(name, *value);
  };
  fill("uid");
  fill("namespace");
  keep("creationTimestamp");
  keep("generation");
  if (before.Has("deletionTimestamp"))
    metadata.Set("deletionTimestamp", before["deletionTimestamp"]);
  fill("deletionGracePeriodSeconds");
  return json::With(op.arena, object, "metadata", metadata.Build());
}

registry::Context StrategyContext(Operation& op, std::string_view name) {
  registry::Context context{
      op.arena, op.resource->resource, op.resource->kind, op.subresource_name(), name, op.ns,
      op.user,  *op.world.clock};
  context.reader = op.world.store;
  context.catalog = op.catalog.get();
  context.services = op.world.services;
  context.expressions = op.world.expressions;
  context.authorizer = op.by_server ? nullptr : op.world.authorizer;
  context.checks_policy_types = op.world.checks_policy_types;
  context.reserves_static_names = op.world.reserves_static_names;
  context.release = op.world.release;
  context.allow_privileged = op.world.allow_privileged;
  context.dry_run = op.dry_run;
  context.sent = op.sent;
  context.verb = VerbName(op.verb);
  return context;
}

const registry::Strategy& StrategyOf(const Operation& op) {
  return op.world.strategies->Find(*op.resource);
}

FieldWriter::FieldWriter(Operation& op, std::string_view manager, const api::GroupVersionKind& kind)
    : api_version_(ApiVersion(kind)),
      now_(base::FormatTime(op.world.clock->Now())),
      reset_(kind == op.resource->kind ? ResetFields(op) : api::patch::FieldSet()),
      versions_(op) {
  writer_.manager = manager;
  writer_.api_version = api_version_;
  writer_.subresource = op.subresource_name();
  writer_.now = now_;
  writer_.reset = &reset_;
  writer_.noted = &op.has_fresh_times;
  if (kind == op.resource->kind) {
    writer_.versions = &versions_;
    if (!op.resource->custom) writer_.cache = op.world.fields;
  }
}

json::Value TrackFields(Operation& op, json::Value live, json::Value next,
                        std::string_view manager) {
  const api::schema::Schema* schema = OwnSchema(op);
  if (schema == nullptr) return next;
  const FieldWriter by(op, manager, op.resource->kind);
  api::patch::Writer writer = by.writer();
  if (live.is_null()) {
    live = writer.cache != nullptr ? writer.cache->EmptyOf(*schema)
                                   : EmptyObject(op.arena, *op.resource);
  }
  writer.sent = op.sent;
  return api::patch::Track(op.arena, *schema, live, next, writer);
}

json::Value KeepTimes(Operation& op, json::Value object, json::Value live) {
  const json::Value now = object["metadata"]["managedFields"];
  const json::Value before = live["metadata"]["managedFields"];
  if (now.empty() || now.size() != before.size() || now == before) return object;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const bool same =
        json::Without(op.arena, now[i], "time") == json::Without(op.arena, before[i], "time");
    if (!same) return object;
  }
  const json::Value kept = json::SetPath(op.arena, object, {"metadata", "managedFields"}, before);
  if (kept == live) return kept;
  const json::Value filled = WithEmptyBytes(op, kept);
  return !filled.IsSameAs(kept) && filled == live ? kept : object;
}

json::Value RestoreManagedFields(Operation& op, json::Value object, json::Value before) {
  // Mostly managedFields are still what TrackFields made.
  if (OwnSchema(op) != nullptr &&
      object["metadata"]["managedFields"].IsSameAs(before["metadata"]["managedFields"])) {
    return object;
  }
  base::Status status = CheckEntries(object["metadata"]["managedFields"]);
  if (status.ok()) status = api::patch::CheckManagedFields(object);
  if (status.ok()) return object;
  op.recorder.Warn(base::StrCat(
      ".metadata.managedFields was in an invalid state after admission; this could be caused by an "
      "outdated mutating admission controller; please fix your requests: ",
      status.message()));
  return json::SetPath(op.arena, object, {"metadata", "managedFields"},
                       before["metadata"]["managedFields"]);
}

}  // namespace portcullis::engine
