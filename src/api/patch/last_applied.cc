// SPDX-License-Identifier: Apache-2.0

#include "api/patch/last_applied.h"

#include <string>

#include "api/annotations.h"
#include "api/patch/typed.h"
#include "json/reader.h"
#include "json/writer.h"

namespace portcullis::api::patch {
namespace {

using json::Value;

constexpr std::string_view kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";

std::string_view LastAppliedOf(Value object) {
  return object["metadata"]["annotations"][kLastApplied].AsString();
}

}  // namespace

FieldSet FieldsLastApplied(json::Arena& arena, const schema::Schema& schema, Value live,
                           std::string_view api_version) {
  const auto last = json::Parse(arena, LastAppliedOf(live));
  if (!last.ok() || (*last)["kind"].AsString().empty()) return {};
  if ((*last)["apiVersion"].AsString() != api_version || !CheckTyped(schema, *last).ok()) return {};
  FieldSet fields = FieldsOf(&schema, *last);
  const Comparison change = Compare(&schema, *last, live);
  for (const FieldSet* other : {&change.modified, &change.added, &change.removed}) {
    fields.Subtract(*other);
  }
  return fields;
}

Value WithLastApplied(json::Arena& arena, Value object, Value config) {
  if (LastAppliedOf(object).empty()) return object;
  config = json::RemovePath(arena, config, {"metadata", "annotations", kLastApplied});
  const Value text = json::String(arena, json::ToString(config, {.sort_keys = true}) + "\n");
  const Value out = json::SetPath(arena, object, {"metadata", "annotations", kLastApplied}, text);
  if (AnnotationBytes(out["metadata"]["annotations"]) <= kMaxAnnotationBytes) return out;
  return json::RemovePath(arena, object, {"metadata", "annotations", kLastApplied});
}

}  // namespace portcullis::api::patch
