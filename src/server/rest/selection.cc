#include "server/rest/selection.h"

#include <algorithm>

#include "base/gotext.h"
#include "base/strings.h"
#include "server/codec.h"

namespace portcullis::server::rest {
namespace {

base::Status CheckFields(const Call& call, const api::FieldSelector& fields) {
  for (const auto& term : fields.terms()) {
    if (term.field == "metadata.name") continue;
    const bool anywhere = !call.resource->custom || call.resource->namespaced;
    if (term.field == "metadata.namespace" && anywhere) continue;
    const auto& selectable = call.resource->selectable_fields;
    if (std::find(selectable.begin(), selectable.end(), term.field) != selectable.end()) continue;
    if (selectable.empty() && !call.resource->custom) {
      return base::BadRequest(base::StrCat(
          base::GoQuote(term.field),
          " is not a known field selector: only \"metadata.name\", \"metadata.namespace\""));
    }
    return base::BadRequest(base::StrCat("field label not supported: ", term.field));
  }
  return base::OkStatus();
}

}  // namespace

bool Selection::Matches(json::Value object) const {
  if (!name.empty() && object["metadata"]["name"].AsString() != name) return false;
  return labels.Matches(object["metadata"]["labels"]) && fields.Matches(object);
}

base::Result<Selection> ReadSelection(const Call& call, const ListOptions& options) {
  Selection selection;
  auto labels = api::LabelSelector::Parse(options.label_selector);
  if (!labels.ok()) return base::BadRequest(labels.status().message());
  selection.labels = *std::move(labels);
  auto fields = api::FieldSelector::Parse(options.field_selector);
  if (!fields.ok()) return base::BadRequest(fields.status().message());
  selection.fields = *std::move(fields);
  TRY(CheckFields(call, selection.fields));
  if (call.resource->namespaced) selection.ns = call.info.name_space;
  // Only of the path: RequestInfo also takes a name from the field selector.
  if (call.info.parts.size() > 1) selection.name = call.info.parts[1];
  return selection;
}

base::Status Filter(Call& call, const Selection& selection,
                    std::vector<store::ObjectPtr>& objects) {
  if (selection.everything()) return base::OkStatus();
  std::vector<store::ObjectPtr> kept;
  for (store::ObjectPtr& object : objects) {
    json::Arena arena;
    const json::Value value = TRY(FromStore(arena, object, *call.resource));
    if (selection.Matches(value)) kept.push_back(std::move(object));
  }
  objects = std::move(kept);
  return base::OkStatus();
}

}  // namespace portcullis::server::rest
