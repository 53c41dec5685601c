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

base::Status CheckFields(const Operation& op, const api::FieldSelector& fields) {
  for (const auto& term : fields.terms()) {
    if (term.field == "metadata.name") continue;
    const auto& selectable = op.resource->selectable_fields;
    const bool knows_no_fields = selectable.empty() && !op.resource->custom;
    if (term.field == "metadata.namespace" && (knows_no_fields || op.resource->namespaced)) {
      continue;
    }
    if (std::find(selectable.begin(), selectable.end(), term.field) != selectable.end()) continue;
    return base::BadRequest(Unsupported(*op.resource, term.field));
  }
  return base::OkStatus();
}

}  // namespace

bool Selection::Matches(json::Value object) const {
  if (!name.empty() && object["metadata"]["name"].AsString() != name) return false;
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
