// Applying what mutations evaluate to.
#include "api/patch/typed.h"
#include "api/schema/decode.h"
#include "api/schema/schema.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "json/patch.h"
#include "kube_cel/mutation_objects.h"
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

Patched NoSchema(const api::GroupVersionKind& kind) {
  return Fatal(base::Status(
      base::Reason::kServiceUnavailable,
      base::StrCat("Resource kind ", kind.ToString(),
                   " not found. There can be a delay between when CustomResourceDefinitions are "
                   "created and when they are available.")));
}

// Fields of the patch that can only be replaced whole.
void FindAtomic(const schema::Schema* node, json::Value value, const std::string& path,
                std::vector<std::string>& found) {
  if (node == nullptr || value.is_null()) return;
  switch (node->kind) {
    case schema::Kind::kStruct:
    case schema::Kind::kMap:
      if (!value.is_object()) return;
      if (node->map_type == schema::MapType::kAtomic && !path.empty()) {
        found.push_back(path);
        return;
      }
      for (const json::Member& member : value.members()) {
        const schema::Schema* below = node->element;
        if (node->kind == schema::Kind::kStruct) {
          const schema::Field* field = node->FindField(member.name(), member.hash);
          below = field == nullptr ? nullptr : field->schema;
        }
        FindAtomic(below, member.value, base::StrCat(path, ".", member.name()), found);
      }
      return;
    case schema::Kind::kArray: {
      if (!value.is_array()) return;
      if (node->list_type != schema::ListType::kMap && node->list_type != schema::ListType::kSet) {
        found.push_back(path);
        return;
      }
      for (std::size_t i = 0; i < value.size(); ++i) {
        FindAtomic(node->element, value[i], base::StrCat(path, "[", std::to_string(i), "]"), found);
      }
      return;
    }
    default:
      return;
  }
}

// Nothing can be taken away by a null.
json::Value WithoutNulls(json::Arena& arena, json::Value value) {
  if (value.is_array()) {
    json::ArrayBuilder builder(arena);
    for (const json::Value& element : value.elements()) {
      builder.Add(WithoutNulls(arena, element));
    }
    return builder.Build();
  }
  if (!value.is_object()) return value;
  json::ObjectBuilder builder(arena);
  for (const json::Member& member : value.members()) {
    if (!member.value.is_null()) builder.Add(member.name(), WithoutNulls(arena, member.value));
  }
  return builder.Build();
}

bool IsTestMismatch(std::string_view message) { return message.ends_with(": test failed"); }

// A patch cannot make another kind of the object: Go has no type to decode it into.
base::Status CheckSameKind(json::Value before, json::Value after) {
  const std::string_view kind = after["kind"].AsString();
  const std::string_view version = after["apiVersion"].AsString();
  if ((kind.empty() || kind == before["kind"].AsString()) &&
      (version.empty() || version == before["apiVersion"].AsString())) {
    return base::OkStatus();
  }
  return base::InternalError(base::StrCat(
      "no kind ", base::GoQuote(kind), " is registered for version ", base::GoQuote(version),
      " in scheme \"k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30\""));
}

}  // namespace

Patched ApplyConfiguration(json::Arena& arena, const admission::ObjectInterfaces* objects,
                           const api::GroupVersionKind& kind, json::Value object,
                           cel::Value value) {
  if (!kube_cel::IsConstructed(value)) {
    return Failed(base::StrCat("unsupported return type from ApplyConfiguration expression: ",
                               cel::TypeName(value)));
  }
  if (auto status = kube_cel::CheckTypeNames(arena, value, "Object"); !status.ok()) {
    return Failed(status.message());
  }
  auto json = kube_cel::PatchValueToJson(arena, value);
  if (!json.ok()) return Failed(json.status().message());
  const auto type = objects == nullptr ? nullptr : objects->SchemaOf(kind);
  if (type == nullptr) return NoSchema(kind);
  json::Value patch =
      json::With(arena, WithoutNulls(arena, *json), "apiVersion", object["apiVersion"]);
  patch = json::With(arena, patch, "kind", object["kind"]);
  if (auto status = api::patch::CheckTyped(*type, patch); !status.ok()) {
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
  out.object = api::patch::MergeTyped(arena, type.get(), object, patch);
  // The merged object is what Go would have made of it.
  if (type->constraints == nullptr) {
    auto decoded = schema::Decode(arena, *type, out.object);
    if (!decoded.ok()) return Fatal(base::InternalError(decoded.status().message()));
    out.object = *decoded;
  }
  return out;
}

Patched ApplyJsonPatch(json::Arena& arena, const admission::ObjectInterfaces* objects,
                       const api::GroupVersionKind& kind, json::Value object, cel::Value value) {
  if (!value.is_list()) {
    return Failed(base::StrCat("invalid return type: ", cel::GoTypeName(value)));
  }
  json::ArrayBuilder operations(arena);
  for (std::size_t i = 0; i < value.size(); ++i) {
    const cel::Value operation = value.At(arena, i);
    // Objects in values have their own root.
    if (operation.is_object() && operation.object()->HasField("value")) {
      const cel::Value content = operation.object()->Field(arena, "value");
      if (kube_cel::IsConstructed(content)) {
        const auto root = content.object()->type()->name;
        if (auto status = kube_cel::CheckTypeNames(arena, content, root); !status.ok()) {
          return Failed(status.message());
        }
      }
    }
    auto json = kube_cel::PatchValueToJson(arena, operation);
    if (!json.ok()) {
      return Failed(base::StrCat(
          "JSONPath valueExpression evaluated to a type that could not marshal to JSON: ",
          json.status().message()));
    }
    operations.Add(*json);
  }
  auto patched = json::ApplyPatch(arena, object, operations.Build());
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
