// SPDX-License-Identifier: Apache-2.0

#include "engine/read/selection.h"

#include <algorithm>

#include "base/gotext.h"
#include "base/strings.h"
#include "engine/codec/codec.h"

namespace portcullis::engine {
namespace {

// Each kind that can be selected by fields of its own words it itself.
std::string Unsupported(const api::catalog::ResourceInfo& resource, std::string_view field) {
  const api::GroupVersionKind& kind = resource.kind;
  if (kind.group == "batch" && kind.kind == "Job") {
    return base::StrCat("field label ", base::GoQuote(field), " not supported for Job");
  }
  if (kind.group == "resource.k8s.io" && kind.kind == "ResourceSlice") {
    return base::StrCat("field label not supported for ", kind.group, "/", kind.version,
                        ", Kind=", kind.kind, ": ", field);
  }
  if (!resource.selectable_fields.empty() || resource.custom) {
    return base::StrCat("field label not supported: ", field);
  }
  return base::StrCat(
      base::GoQuote(field),
      " is not a known field selector: only \"metadata.name\", \"metadata.namespace\"");
}

// That of a pod's certificate names its fields all by itself, and forgets the namespace.
bool SelectsByNamespace(const api::catalog::ResourceInfo& resource) {
  if (resource.selectable_fields.empty() && !resource.custom) return true;
  return resource.namespaced && resource.kind.kind != "PodCertificateRequest";
}

base::Status CheckFields(const Operation& op, const api::FieldSelector& fields) {
  for (const auto& term : fields.terms()) {
    if (term.field == "metadata.name") continue;
    const auto& selectable = op.resource->selectable_fields;
    if (term.field == "metadata.namespace" && SelectsByNamespace(*op.resource)) continue;
    if (std::find(selectable.begin(), selectable.end(), term.field) != selectable.end()) continue;
    return base::BadRequest(Unsupported(*op.resource, term.field));
  }
  return base::OkStatus();
}

}  // namespace

bool Selection::Matches(json::Value object) const {
  if (!name.empty() && object["metadata"]["name"].AsString() != name) return false;
  if (shard && !shard->Matches(object)) return false;
  return labels.Matches(object["metadata"]["labels"]) && fields.Matches(object, schema);
}

base::Result<Selection> ReadSelection(const Operation& op, const ListOptions& options) {
  Selection selection;
  auto labels = api::LabelSelector::Parse(options.label_selector);
  if (!labels.ok()) return base::BadRequest(labels.status().message());
  selection.labels = *std::move(labels);
  auto fields = api::FieldSelector::Parse(options.field_selector);
  if (!fields.ok()) return base::BadRequest(fields.status().message());
  selection.fields = *std::move(fields);
  TRY(CheckFields(op, selection.fields));
  // Fields of custom resources have no types here: those that are absent are empty.
  if (!op.resource->custom) selection.schema = op.resource->schema;
  if (op.resource->namespaced) selection.ns = op.ns;
  selection.name = options.name;
  selection.initialized_only = op.world.initializers && !options.include_uninitialized;
  if (!selection.name.empty() && !selection.fields.empty()) {
    const std::string* selected = selection.fields.RequiresExactMatch("metadata.name");
    if (selected == nullptr || *selected != selection.name) {
      return base::BadRequest("fieldSelector metadata.name doesn't match requested name");
    }
  }
  if (!options.shard_selector.empty() && op.world.release->GateEnabled("ShardedListAndWatch")) {
    auto shard = kube_cel::ShardSelector::Parse(options.shard_selector);
    if (!shard.ok()) return shard.status().Annotate("invalid shard selector");
    selection.shard = *std::move(shard);
  }
  return selection;
}

base::Status Filter(Operation& op, const Selection& selection,
                    std::vector<store::ObjectPtr>& objects) {
  if (selection.initialized_only) {
    std::erase_if(objects,
                  [](const store::ObjectPtr& object) { return store::IsUninitialized(*object); });
  }
  if (selection.everything()) return base::OkStatus();
  std::vector<store::ObjectPtr> kept;
  for (store::ObjectPtr& object : objects) {
    json::Arena arena;
    const json::Value value = TRY(FromStore(arena, object, *op.resource));
    if (selection.Matches(value)) kept.push_back(std::move(object));
  }
  objects = std::move(kept);
  return base::OkStatus();
}

}  // namespace portcullis::engine
