// SPDX-License-Identifier: Apache-2.0

// Applying what mutations evaluate to.
#include "api/patch/typed.h"
#include "api/schema/decode.h"
#include "api/schema/from_unstructured.h"
#include "api/schema/schema.h"
#include "api/schema/type_meta.h"
#include "base/strings.h"
#include "json/patch.h"
#include "kube_cel/mutation_objects.h"
#include "kube_cel/mutation_values.h"
#include "policy/cel_policy/mutating.h"

namespace portcullis::policy {
namespace {

namespace schema = api::schema;

Patched Failed(std::string message) {
  Patched out;
  out.error = base::Invalid(std::move(message));
  return out;
}

Patched Fatal(base::Status status) {
  Patched out;
  out.error = std::move(status);
  out.fatal = true;
  return out;
}

bool IsAssociative(const schema::Schema& list) {
  return list.list_type == schema::ListType::kMap || list.list_type == schema::ListType::kSet;
}

bool IsMerged(const schema::Schema& node) {
  if (node.kind == schema::Kind::kArray) return IsAssociative(node);
  return (node.kind == schema::Kind::kStruct || node.kind == schema::Kind::kMap) &&
         node.map_type != schema::MapType::kAtomic;
}

Patched NoSchema(const api::GroupVersionKind& kind) {
  return Fatal(base::Status(
      base::Reason::kServiceUnavailable,
      base::StrCat("Resource kind ", kind.ToString(),
                   " not found. There can be a delay between when CustomResourceDefinitions are "
                   "created and when they are available.")));
}

// Fields of the patch that can only be replaced whole, and those within them.
void FindAtomic(const schema::Schema* node, json::Value value, const std::string& path,
                std::vector<std::string>& found) {
  if (node == nullptr) return;
  const bool is_map = node->kind == schema::Kind::kStruct || node->kind == schema::Kind::kMap;
  if (is_map && value.is_object()) {
    if (node->map_type == schema::MapType::kAtomic && !path.empty()) found.push_back(path);
    for (const json::Member& member : value.members()) {
      const schema::Field* field = node->FindField(member.name(), member.hash);
      if (field == nullptr) continue;
      FindAtomic(field->schema, member.value, base::StrCat(path, ".", member.name()), found);
    }
  } else if (node->kind == schema::Kind::kArray && value.is_array()) {
    if (!IsAssociative(*node)) found.push_back(path);
    for (std::size_t i = 0; i < value.size(); ++i) {
      FindAtomic(node->element, value[i], base::StrCat(path, "[", std::to_string(i), "]"), found);
    }
  }
}

// A null takes a single value away; of what is merged it takes nothing.
json::Value WithoutHollow(json::Arena& arena, const schema::Schema* node, json::Value value) {
  if (node == nullptr) return value;
  if (node->kind == schema::Kind::kArray && value.is_array()) {
    json::ArrayBuilder builder(arena);
    for (const json::Value& element : value.elements()) {
      builder.Add(WithoutHollow(arena, node->element, element));
    }
    return builder.Build();
  }
  if (node->kind != schema::Kind::kStruct || !value.is_object()) return value;
  json::ObjectBuilder builder(arena);
  for (const json::Member& member : value.members()) {
    const schema::Field* field = node->FindField(member.name(), member.hash);
    const schema::Schema* below = field == nullptr ? nullptr : field->schema;
    const bool hollow = member.value.is_null() && below != nullptr && IsMerged(*below);
    if (!hollow) builder.Add(member.name(), WithoutHollow(arena, below, member.value));
  }
  return builder.Build();
}

bool IsTestMismatch(std::string_view message) { return message.ends_with(": test failed"); }

// A patch cannot make another kind of the object: Go has no type to decode it into.
base::Status CheckSameKind(json::Value before, json::Value after) {
  if (const auto named = schema::CheckTypeMeta(after); !named.ok()) {
    return base::InternalError(named.message());
  }
  const std::string_view kind = after["kind"].AsString();
  const std::string_view version = after["apiVersion"].AsString();
  if ((kind.empty() || kind == before["kind"].AsString()) &&
      (version.empty() || version == before["apiVersion"].AsString())) {
    return base::OkStatus();
  }
  return base::InternalError(api::schema::NotRegistered(
      kind, version, "k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30"));
}

}  // namespace

Patched ApplyConfiguration(const Patching& to, cel::Value value) {
  const auto& [arena, scratch, objects, kind, object] = to;
  if (!kube_cel::IsConstructed(value)) {
    return Failed(base::StrCat("unsupported return type from ApplyConfiguration expression: ",
                               cel::TypeName(value)));
  }
  if (auto status = kube_cel::CheckTypeNames(scratch, value, "Object"); !status.ok()) {
    return Failed(status.message());
  }
  auto json = kube_cel::ApplyConfigurationOf(scratch, value);
  if (!json.ok()) return Failed(json.status().message());
  const auto type = objects == nullptr ? nullptr : objects->SchemaOf(kind);
  // kube-apiserver looks for the type in the OpenAPI document of the kind's own group and version,
  // which has no kinds that only subresources of other groups have: Scale, Eviction, TokenRequest.
  const bool is_builtin = type == nullptr ? kind.group.empty() : type->constraints == nullptr;
  if (objects != nullptr && is_builtin && objects->ResourcesOf(kind).empty()) {
    return Failed(
        base::StrCat("error applying patch: failed to convert patch object to typed object: no "
                     "corresponding type for ",
                     kind.ToString()));
  }
  if (type == nullptr) return NoSchema(kind);
  json::Value patch = json::With(scratch, *json, "apiVersion", object["apiVersion"]);
  patch = json::With(scratch, patch, "kind", object["kind"]);
  if (auto status = api::patch::CheckTypedNative(*type, patch); !status.ok()) {
    return Failed(
        base::StrCat("error applying patch: failed to convert patch object to typed "
                     "object: ",
                     status.message()));
  }
  std::vector<std::string> atomic;
  FindAtomic(type.get(), patch, "", atomic);
  if (!atomic.empty()) {
    return Failed(
        base::StrCat("error applying patch: invalid ApplyConfiguration: may not mutate "
                     "atomic arrays, maps or structs: ",
                     base::Join(atomic, ", ")));
  }
  Patched out;
  patch = json::DeepCopy(arena, WithoutHollow(scratch, type.get(), patch));
  out.object = api::patch::MergeTyped(arena, type.get(), object, patch);
  // The merged object is what Go would have made of it.
  if (type->constraints == nullptr) {
    auto converted = schema::FromUnstructured(arena, *type, out.object);
    if (converted.ok()) converted = schema::Decode(arena, *type, *converted);
    if (!converted.ok()) {
      return Failed(base::StrCat("unable to convert unstructured object to ", kind.ToString(), ": ",
                                 converted.status().message()));
    }
    out.object = *converted;
  }
  return out;
}

Patched ApplyJsonPatch(const Patching& to, cel::Value value) {
  const auto& [arena, scratch, objects, kind, object] = to;
  if (!value.is_list()) {
    return Failed(base::StrCat("invalid return type: ", cel::GoTypeName(value)));
  }
  json::ArrayBuilder operations(scratch);
  for (std::size_t i = 0; i < value.size(); ++i) {
    const cel::Value operation = value.At(scratch, i);
    // Objects in values have their own root.
    if (operation.is_object() && operation.object()->HasField("value")) {
      const cel::Value content = operation.object()->Field(scratch, "value");
      if (kube_cel::IsConstructed(content)) {
        const auto root = content.object()->type()->name;
        if (auto status = kube_cel::CheckTypeNames(scratch, content, root); !status.ok()) {
          return Failed(status.message());
        }
      }
    }
    auto json = kube_cel::PatchOperationOf(scratch, operation);
    if (!json.ok()) {
      return Failed(base::StrCat(
          "JSONPath valueExpression evaluated to a type that could not marshal to JSON: ",
          json.status().message()));
    }
    operations.Add(*json);
  }
  const json::Value patch = json::DeepCopy(arena, operations.Build());
  auto patched = json::ApplyPatch(arena, object, patch);
  Patched out;
  if (!patched.ok()) {
    if (IsTestMismatch(patched.status().message())) {
      out.object = object;
      return out;
    }
    return Failed(base::StrCat("JSON Patch: ", patched.status().message()));
  }
  out.object = *patched;
  const auto type = objects == nullptr ? nullptr : objects->SchemaOf(kind);
  if (type == nullptr || type->constraints != nullptr) return out;
  if (auto status = CheckSameKind(object, *patched); !status.ok()) return Fatal(std::move(status));
  std::vector<std::string> unknown;
  auto decoded = schema::Decode(arena, *type, *patched, {.unknown_fields = &unknown});
  if (!decoded.ok()) return Fatal(base::InternalError(decoded.status().message()));
  if (!unknown.empty()) return Fatal(base::InternalError(schema::StrictDecodingError({}, unknown)));
  out.object = *decoded;
  return out;
}

}  // namespace portcullis::policy
