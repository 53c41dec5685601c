// SPDX-License-Identifier: Apache-2.0

#include "admission/catalog_objects.h"

#include <string>
#include <utility>

#include "admission/connect_options.h"
#include "admission/errors.h"
#include "api/conversion/conversion.h"
#include "api/conversion/custom_converter.h"
#include "api/schema/decode.h"
#include "api/schema/merge_duplicates.h"
#include "api/schema/type_meta.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "json/duplicates.h"
#include "json/writer.h"

namespace portcullis::admission {
namespace {

namespace schema = api::schema;
using api::catalog::ResourceInfo;

// Where kube-apiserver made the scheme that this text names.
constexpr std::string_view kScheme = "k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30";

std::string ApiVersion(const api::GroupVersionKind& kind) {
  return kind.group_version().ToString();
}

bool IsEmptyList(json::Value value) {
  return value.is_null() || ((value.is_array() || value.is_object()) && value.empty());
}

// Go's semantic equality: nil and empty maps and lists are the same, all else is as it is.
bool Equal(json::Value a, json::Value b, const schema::Schema* node);

bool EqualStructs(json::Value a, json::Value b, const schema::Schema& node) {
  for (const schema::Field& field : node.fields) {
    const json::Value* left = a.Find(field.name, field.hash);
    const json::Value* right = b.Find(field.name, field.hash);
    if (left == nullptr && right == nullptr) continue;
    if (!Equal(left != nullptr ? *left : json::Value(), right != nullptr ? *right : json::Value(),
               field.schema)) {
      return false;
    }
  }
  return true;
}

bool EqualMaps(json::Value a, json::Value b, const schema::Schema* element) {
  if (a.size() != b.size()) return false;
  for (const json::Member& member : a.members()) {
    const json::Value* other = b.Find(member.name(), member.hash);
    if (other == nullptr || !Equal(member.value, *other, element)) return false;
  }
  return true;
}

bool Equal(json::Value a, json::Value b, const schema::Schema* node) {
  if (a.IsSameAs(b)) return true;
  if (node == nullptr) return a == b;
  const bool is_list = node->kind == schema::Kind::kArray || node->kind == schema::Kind::kMap;
  if (is_list && IsEmptyList(a) && IsEmptyList(b)) return true;
  if (a.type() != b.type()) return false;
  switch (node->kind) {
    case schema::Kind::kStruct:
      return a.is_object() ? EqualStructs(a, b, *node) : a == b;
    case schema::Kind::kMap:
      return a.is_object() ? EqualMaps(a, b, node->element) : a == b;
    case schema::Kind::kArray: {
      if (!a.is_array() || a.size() != b.size()) return a == b;
      for (std::size_t i = 0; i < a.size(); ++i) {
        if (!Equal(a[i], b[i], node->element)) return false;
      }
      return true;
    }
    default:
      return a == b;
  }
}

}  // namespace

CatalogObjects::CatalogObjects(CatalogSource catalog, const schema::Defaulter* defaulter)
    : catalog_(std::move(catalog)), defaulter_(defaulter) {}

std::vector<api::GroupVersionResource> CatalogObjects::Equivalents(
    const api::GroupVersionResource& resource, std::string_view subresource) const {
  const auto catalog = catalog_();
  const ResourceInfo* info = catalog->Find(resource);
  if (info == nullptr) return {};
  std::vector<api::GroupVersionResource> out;
  for (const ResourceInfo* other : catalog->Equivalents(*info)) {
    const bool has = subresource.empty() ? !other->verbs.empty()
                                         : other->FindSubresource(subresource) != nullptr;
    if (!has && other != info) continue;
    out.push_back(other->resource);
  }
  return out;
}

namespace {

// Whatever a custom resource says it is, its converter looks at the version only.
base::Status CheckConvertible(const api::catalog::CustomResources& definition, json::Value object,
                              const api::GroupVersionKind& kind) {
  const api::GroupVersion from = TRY(api::ParseGroupVersion(object["apiVersion"].AsString()));
  if (from.group != kind.group) {
    const api::GroupVersionKind own{from.group, from.version,
                                    std::string(object["kind"].AsString())};
    return PlainError(base::StrCat(own.ToString(),
                                   " is unstructured and is not suitable for converting to ",
                                   base::GoQuote(kind.group_version().ToString())));
  }
  if (definition.FindSchema(from.version) != nullptr) return base::OkStatus();
  return PlainError(
      base::StrCat("request to convert CR from an invalid group/version: ", from.ToString()));
}

}  // namespace

api::GroupVersionKind CatalogObjects::KindFor(const api::GroupVersionResource& resource,
                                              std::string_view subresource) const {
  const auto catalog = catalog_();
  const ResourceInfo* info = catalog->Find(resource);
  if (info == nullptr) return {};
  if (subresource.empty()) return info->kind;
  const auto* sub = info->FindSubresource(subresource);
  if (sub == nullptr) return {};
  return sub->kind.kind.empty() ? info->kind : sub->kind;
}

std::vector<ResourceOfKind> CatalogObjects::ResourcesOf(const api::GroupVersionKind& kind) const {
  const auto catalog = catalog_();
  const ResourceInfo* info = catalog->FindKind(kind);
  if (info == nullptr) return {};
  return {{info->resource, info->namespaced}};
}

std::shared_ptr<const schema::Schema> CatalogObjects::SchemaOf(
    const api::GroupVersionKind& kind) const {
  const auto catalog = catalog_();
  const ResourceInfo* info = catalog->FindKind(kind);
  const schema::Schema* found = info != nullptr ? info->schema : catalog->FindSchema(kind);
  if (found == nullptr) return nullptr;
  return {catalog, found};
}

base::Result<json::Value> CatalogObjects::Convert(json::Arena& arena, json::Value object,
                                                  const api::GroupVersionKind& kind) const {
  const auto catalog = catalog_();
  const ResourceInfo* info = catalog->FindKind(kind);
  if (info != nullptr && info->definition != nullptr) {
    TRY(CheckConvertible(*info->definition, object, kind));
    return TRY(info->definition->converter().Convert(arena, std::span(&object, 1),
                                                     kind.group_version()))
        .front();
  }
  const json::Value converted = TRY(api::Convert(arena, object, kind));
  if (converted.IsSameAs(object)) return object;
  const schema::Schema* node = catalog->FindSchema(kind);
  if (node == nullptr || (info != nullptr && info->custom)) return converted;
  // The form in which Go writes the other version: fields that are always there, their order.
  return schema::Decode(arena, *node, converted);
}

bool CatalogObjects::ConversionWaits(const api::GroupVersionKind& kind) const {
  const auto catalog = catalog_();
  const ResourceInfo* info = catalog->FindKind(kind);
  return info != nullptr && info->definition != nullptr && info->definition->converter().blocks();
}

base::Result<json::Value> CatalogObjects::Decode(json::Arena& arena, json::Value given,
                                                 const api::GroupVersionKind& kind,
                                                 bool repeats_keys, json::Value known) const {
  const auto catalog = catalog_();
  const ResourceInfo* info = catalog->FindKind(kind);
  const json::Value object = repeats_keys ? json::LastOfDuplicates(arena, given) : given;
  if (info != nullptr && info->custom) {
    if (object["kind"].AsString().empty()) {
      return base::BadRequest(
          base::StrCat("Object 'Kind' is missing in '", json::ToString(object), "'"));
    }
    return object;
  }
  if (const auto named = schema::CheckTypeMeta(object); !named.ok()) {
    return base::BadRequest(named.message());
  }
  api::GroupVersionKind own = kind;
  if (const auto text = object["kind"].AsString(); !text.empty()) own.kind = text;
  if (const auto text = object["apiVersion"].AsString(); !text.empty()) {
    const api::GroupVersion parsed = TRY(api::ParseGroupVersion(text));
    own.group = parsed.group;
    own.version = parsed.version;
  }
  const schema::Schema* node = catalog->FindSchema(own);
  if (node == nullptr) {
    if (own == kind) return DecodeConnectOptions(arena, object, kind);
    return base::BadRequest(api::schema::NotRegistered(own.kind, ApiVersion(own), kScheme));
  }
  const json::Value merged =
      repeats_keys ? TRY(schema::MergeDuplicates(arena, *node, given, nullptr)) : object;
  schema::DecodeOptions options;
  if (own == kind) options.known = known;  // else its parts are of other types
  json::Value decoded = TRY(schema::Decode(arena, *node, merged, options));
  if (own == kind) {
    decoded = TRY(api::ThroughInternal(arena, decoded, kind));
    if (!decoded.Has("kind"))
      decoded = json::With(arena, decoded, "kind", json::String(arena, own.kind));
    if (!decoded.Has("apiVersion")) {
      decoded = json::With(arena, decoded, "apiVersion", json::String(arena, ApiVersion(own)));
    }
    return decoded;
  }
  // Decodes well, but cannot be converted to the kind of the request. Kubernetes notices after the
  // chain has run and returns the bare error (500).
  return PlainError(base::StrCat("converting (", own.version, ".", own.kind, ") to (",
                                 kind.group.empty() ? "core" : kind.group, ".", kind.kind,
                                 "): unknown conversion"));
}

base::Result<json::Value> CatalogObjects::Default(json::Arena& arena, json::Value object,
                                                  const api::GroupVersionKind& kind,
                                                  json::Value known) const {
  const auto catalog = catalog_();
  const ResourceInfo* info = catalog->FindKind(kind);
  if (info != nullptr && info->custom) {
    if (info->schema == nullptr) return object;
    return schema::ApplySchemaDefaults(arena, *info->schema, object);
  }
  return defaulter_ == nullptr ? object : defaulter_->Apply(arena, kind, object, known);
}

bool CatalogObjects::SemanticallyEqual(json::Value a, json::Value b,
                                       const api::GroupVersionKind& kind) const {
  const auto catalog = catalog_();
  const ResourceInfo* info = catalog->FindKind(kind);
  // Custom resources are plain maps in Kubernetes: an empty list is not an absent one.
  if (info != nullptr && info->custom) return a == b;
  return Equal(a, b, catalog->FindSchema(kind));
}

}  // namespace portcullis::admission
