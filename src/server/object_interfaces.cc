#include "server/object_interfaces.h"

#include "api/conversion/conversion.h"
#include "api/quantity.h"
#include "api/schema/decode.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "server/codec.h"

namespace portcullis::server {
namespace {

using api::GroupVersionKind;
using api::GroupVersionResource;
using api::schema::Kind;
using api::schema::Schema;

bool IsNothing(json::Value value) {
  return value.is_null() || ((value.is_array() || value.is_object()) && value.empty());
}

// k8s.io/apimachinery Semantic.DeepEqual over JSON.
bool Same(const Schema* schema, json::Value a, json::Value b) {
  if (a.IsSameAs(b) || (IsNothing(a) && IsNothing(b))) return true;
  if (schema != nullptr && schema->kind == Kind::kQuantity && a.is_string() && b.is_string()) {
    const auto left = api::Quantity::Parse(a.AsString());
    const auto right = api::Quantity::Parse(b.AsString());
    if (left.ok() && right.ok()) return *left == *right;
  }
  if (a.type() != b.type()) return false;
  if (a.is_array()) {
    if (a.size() != b.size()) return false;
    const Schema* element = schema != nullptr ? schema->element : nullptr;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!Same(element, a[i], b[i])) return false;
    }
    return true;
  }
  if (!a.is_object()) return a == b;
  const auto below = [&](std::string_view name) -> const Schema* {
    if (schema == nullptr) return nullptr;
    if (schema->kind == Kind::kMap) return schema->element;
    const api::schema::Field* field = schema->FindField(name);
    return field != nullptr ? field->schema : nullptr;
  };
  for (const json::Member& member : a.members()) {
    if (!Same(below(member.name()), member.value, b[member.name()])) return false;
  }
  for (const json::Member& member : b.members()) {
    if (!a.Has(member.name()) && !IsNothing(member.value)) return false;
  }
  return true;
}

class CatalogInterfaces final : public admission::ObjectInterfaces {
 public:
  explicit CatalogInterfaces(const Environment& env) : env_(env) {}

  std::vector<GroupVersionResource> Equivalents(const GroupVersionResource& resource,
                                                std::string_view subresource) const override {
    const auto catalog = env_.catalog->Get();
    std::vector<GroupVersionResource> result;
    const api::catalog::ResourceInfo* info = catalog->Find(resource);
    if (info == nullptr) return {resource};
    for (const api::catalog::ResourceInfo* other : catalog->Equivalents(*info)) {
      if (!subresource.empty() && other->FindSubresource(subresource) == nullptr) continue;
      result.push_back(other->resource);
    }
    return result;
  }

  GroupVersionKind KindFor(const GroupVersionResource& resource,
                           std::string_view subresource) const override {
    const auto catalog = env_.catalog->Get();
    const api::catalog::ResourceInfo* info = catalog->Find(resource);
    if (info == nullptr) return {};
    if (subresource.empty()) return info->kind;
    const api::catalog::SubresourceInfo* sub = info->FindSubresource(subresource);
    if (sub == nullptr) return {};
    return sub->kind.kind.empty() ? info->kind : sub->kind;
  }

  std::vector<admission::ResourceOfKind> ResourcesOf(const GroupVersionKind& kind) const override {
    const auto catalog = env_.catalog->Get();
    const api::catalog::ResourceInfo* info = catalog->FindKind(kind);
    if (info == nullptr) return {};
    return {{info->resource, info->namespaced}};
  }

  base::Result<json::Value> Convert(json::Arena& arena, json::Value object,
                                    const GroupVersionKind& kind) const override {
    return api::Convert(arena, object, kind);
  }

  base::Result<json::Value> Decode(json::Arena& arena, json::Value object,
                                   const GroupVersionKind& kind) const override {
    const auto catalog = env_.catalog->Get();
    const std::string version = ApiVersion(kind);
    const std::string_view given_kind = object["kind"].AsString();
    const std::string_view given_version = object["apiVersion"].AsString();
    if (given_kind != kind.kind || given_version != version) {
      auto parsed = api::ParseGroupVersion(given_version);
      if (!parsed.ok()) return std::move(parsed).status();
      const GroupVersionKind claimed{parsed->group, parsed->version, std::string(given_kind)};
      if (catalog->FindKind(claimed) == nullptr && catalog->FindSchema(claimed) == nullptr) {
        return base::BadRequest(
            base::StrCat("no kind ", base::GoQuote(given_kind), " is registered for version ",
                         base::GoQuote(given_version),
                         " in scheme \"k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30\""));
      }
      if (!api::IsConvertible(claimed, kind)) {
        return base::BadRequest(base::StrCat("converting (", claimed.version, ".", claimed.kind,
                                             ") to (", kind.group.empty() ? "core" : kind.group,
                                             ".", kind.kind, "): unknown conversion"));
      }
      const json::Value decoded = TRY(DecodeAs(*catalog, arena, object, claimed));
      return api::Convert(arena, decoded, kind);
    }
    return DecodeAs(*catalog, arena, object, kind);
  }

  json::Value Default(json::Arena& arena, json::Value object,
                      const GroupVersionKind& kind) const override {
    return ApplyDefaults(env_, *env_.catalog->Get(), arena, kind, object);
  }

  bool SemanticallyEqual(json::Value a, json::Value b,
                         const GroupVersionKind& kind) const override {
    const auto catalog = env_.catalog->Get();
    const api::catalog::ResourceInfo* info = catalog->FindKind(kind);
    const Schema* schema =
        info != nullptr && info->schema != nullptr ? info->schema : catalog->FindSchema(kind);
    return Same(schema, a, b);
  }

 private:
  static base::Result<json::Value> DecodeAs(const api::catalog::Catalog& catalog,
                                            json::Arena& arena, json::Value object,
                                            const GroupVersionKind& kind) {
    const api::catalog::ResourceInfo* info = catalog.FindKind(kind);
    if (info != nullptr && info->custom) {
      if (info->schema == nullptr) return object;
      return api::schema::Prune(arena, *info->schema, object, true, nullptr);
    }
    const Schema* schema = catalog.FindSchema(kind);
    if (schema == nullptr) return object;
    return api::schema::Decode(arena, *schema, object);
  }

  const Environment& env_;
};

}  // namespace

std::unique_ptr<admission::ObjectInterfaces> MakeObjectInterfaces(const Environment& env) {
  return std::make_unique<CatalogInterfaces>(env);
}

}  // namespace portcullis::server
