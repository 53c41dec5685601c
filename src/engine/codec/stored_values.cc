// SPDX-License-Identifier: Apache-2.0

#include "engine/codec/stored_values.h"

#include <utility>

#include "api/conversion/conversion.h"
#include "api/schema/decode.h"
#include "base/strings.h"
#include "engine/codec/codec.h"
#include "engine/codec/kind_schema.h"
#include "engine/codec/protobuf.h"
#include "json/reader.h"
#include "release/served_resources.h"
#include "store/etcd/value.h"

namespace portcullis::engine {
namespace {

using api::GroupVersionKind;

base::Result<GroupVersionKind> KindOf(std::string_view api_version, std::string_view kind) {
  const api::GroupVersion version = TRY(api::ParseGroupVersion(api_version));
  return GroupVersionKind{version.group, version.version, std::string(kind)};
}

base::Status UnknownKind(const GroupVersionKind& kind) {
  return base::BadRequest(base::StrCat("no kind \"", kind.kind, "\" is registered for version \"",
                                       ApiVersion(kind), "\""));
}

bool IsService(const store::Key& key) { return key.group.empty() && key.resource == "services"; }

json::Value Families(json::Arena& arena, json::Value addresses) {
  json::ArrayBuilder families(arena);
  for (const json::Value& address : addresses.elements()) {
    const bool is_v6 = address.AsString().find(':') != std::string_view::npos;
    families.Add(std::string_view(is_v6 ? "IPv6" : "IPv4"));
  }
  return families.Build();
}

// Services older than fields that each one has now: clusterIPs and the families of dual stack are
// filled in. Behaviour: defaultOnReadService of kube-apiserver (registry/core/service/storage). The
// internalTrafficPolicy of an ExternalName is hidden instead (hidden_fields.h).
json::Value WithNewerFields(json::Arena& arena, json::Value service,
                            std::string_view first_family) {
  json::Value spec = service["spec"];
  const auto set = [&](std::string_view name, json::Value value) {
    spec = json::With(arena, spec, name, value);
  };
  const std::string_view address = spec["clusterIP"].AsString();
  if (!address.empty() && spec["clusterIPs"].empty()) {
    set("clusterIPs", json::MakeArray(arena, {spec["clusterIP"]}));
  }
  if (spec["type"].AsString() != "ExternalName" && spec["ipFamilies"].empty()) {
    const bool is_headless = address == "None";
    // Its endpoints are made by hand, in whatever family.
    const bool may_be_both = is_headless && spec["selector"].empty();
    json::Value families = Families(arena, spec["clusterIPs"]);
    if (is_headless) families = json::MakeArray(arena, {json::String(arena, first_family)});
    if (may_be_both) {
      const std::string_view second = first_family == "IPv4" ? "IPv6" : "IPv4";
      families = json::MakeArray(
          arena, {json::String(arena, first_family), json::Value::StringView(second)});
    }
    if (!families.empty()) {
      set("ipFamilies", families);
      set("ipFamilyPolicy",
          json::Value::StringView(families.size() == 1 ? "SingleStack" : "RequireDualStack"));
    }
  }
  return spec == service["spec"] ? service : json::With(arena, service, "spec", spec);
}

}  // namespace

base::Result<std::shared_ptr<const StoredValues>> StoredValues::Make(std::string_view first_family,
                                                                     int minor) {
  std::shared_ptr<StoredValues> made(new StoredValues(first_family));
  // Kinds that this server does not serve may have been stored by another one.
  made->catalog_ = TRY(api::catalog::Catalog::BuiltIn({{"api/all", true}}));
  made->defaulter_ = TRY(api::schema::Defaulter::BuiltIn());
  const auto served = release::ServedResources();
  for (const api::catalog::ResourceInfo* resource : made->catalog_->resources()) {
    const api::GroupResource stored = resource->stored_as();
    const std::string key = base::StrCat(stored.group, "/", stored.resource);
    const GroupVersionKind& kind = resource->storage_kind;
    const std::string_view version =
        release::EmulatedStorageVersion(served, kind.group, kind.version, stored.resource, minor);
    if (!version.empty()) made->emulated_.try_emplace(key, version);
    made->kinds_.try_emplace(key, kind);
  }
  return std::shared_ptr<const StoredValues>(std::move(made));
}

base::Result<store::Encoded> StoredValues::Read(const store::Key& key, std::string_view value,
                                                bool& converted) const {
  const auto found = kinds_.find(base::StrCat(key.group, "/", key.resource));
  const GroupVersionKind* wanted = found == kinds_.end() ? nullptr : &found->second;
  converted = false;
  json::Arena arena;
  json::Value stored;
  json::Value object;
  GroupVersionKind kind;
  if (value.starts_with('{')) {
    if (wanted == nullptr) return store::FromEtcdValue(value);
    stored = TRY(json::Parse(arena, value, {.borrow_text = true}));
    kind = TRY(KindOf(stored["apiVersion"].AsString(), stored["kind"].AsString()));
    object = stored;
  } else {
    const ProtobufEnvelope envelope = TRY(ReadProtobufEnvelope(value));
    kind = TRY(KindOf(envelope.api_version, envelope.kind));
    const api::schema::Schema* schema = catalog_->FindSchema(kind);
    if (schema == nullptr || wanted == nullptr) return UnknownKind(kind);
    object = TRY(ReadProtobufObject(arena, kind, envelope.raw, schema));
  }
  object = TRY(ToStored(arena, kind, object, *wanted));
  if (IsService(key)) {
    object =
        Recanonicalize(*catalog_, arena, *wanted, WithNewerFields(arena, object, first_family_));
  }
  const auto other = emulated_.find(base::StrCat(key.group, "/", key.resource));
  if (other == emulated_.end() && object == stored) return store::FromEtcdValue(value);
  const json::Value own = AsStored(*catalog_, arena, *wanted, object);
  converted = other == emulated_.end() || stored.is_null() || kind.version != other->second ||
              !(json::With(arena, stored, "apiVersion", own["apiVersion"]) == own);
  return EncodeAsIs(arena, own, false);
}

bool StoredValues::ToEmulated(const store::Key& key, std::string& value) const {
  if (emulated_.empty()) return false;
  const auto found = emulated_.find(base::StrCat(key.group, "/", key.resource));
  if (found == emulated_.end()) return false;
  constexpr std::string_view kName = R"("apiVersion":")";
  const std::size_t at = value.find(kName) + kName.size();
  value.replace(at, value.find('"', at) - at, base::StrCat(key.group, "/", found->second));
  return true;
}

// Recanonicalize(), but for the empty bytes that a stored object may hold (hidden_fields.h).
json::Value StoredValues::Canonical(json::Arena& arena, const GroupVersionKind& kind,
                                    json::Value object) const {
  bool custom = false;
  const api::schema::Schema* schema = SchemaOf(*catalog_, kind, custom);
  if (schema == nullptr || custom) return object;
  api::schema::DecodeOptions options;
  options.keeps_empty_bytes = true;
  const auto decoded = api::schema::Decode(arena, *schema, object, options);
  return decoded.ok() ? WithTypeMeta(arena, *decoded, kind) : object;
}

// What was left out because it is the default is filled in by the rules of the version that the
// object was stored in, and, where none of that version are known, by those of the other.
base::Result<json::Value> StoredValues::ToStored(json::Arena& arena, const GroupVersionKind& from,
                                                 json::Value object,
                                                 const GroupVersionKind& to) const {
  object = defaulter_->Apply(arena, from, Canonical(arena, from, object));
  if (from == to) return object;
  const bool is_known = from.group == to.group || api::IsConvertible(from, to);
  if (!is_known || from.kind != to.kind) return UnknownKind(from);
  object = TRY(api::Convert(arena, object, to));
  object = Canonical(arena, to, object);
  return defaulter_->Apply(arena, to, object);
}

}  // namespace portcullis::engine
