// SPDX-License-Identifier: Apache-2.0

#include "engine/codec/codec.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "api/catalog/bygone_types.h"
#include "api/conversion/conversion.h"
#include "api/conversion/custom_converter.h"
#include "api/schema/decode.h"
#include "api/schema/defaulting.h"
#include "api/schema/order.h"
#include "api/schema/raw_texts.h"
#include "api/stored_size.h"
#include "api/view/metadata_order.h"
#include "base/strings.h"
#include "engine/codec/hidden_fields.h"
#include "engine/codec/kind_schema.h"
#include "engine/codec/protobuf.h"
#include "json/reader.h"
#include "json/sorted.h"
#include "json/writer.h"

namespace portcullis::engine {
namespace {

using api::GroupVersionKind;
using api::catalog::ResourceInfo;

// Whether `text` is ApiVersion(kind), which is not made for that.
bool IsApiVersionOf(const GroupVersionKind& kind, std::string_view text) {
  const std::string_view group = kind.group;
  if (group.empty()) return text == kind.version;
  return text.size() == group.size() + 1 + kind.version.size() && text.starts_with(group) &&
         text[group.size()] == '/' && text.ends_with(kind.version);
}

}  // namespace

const api::schema::Schema* SchemaOf(const api::catalog::Catalog& catalog,
                                    const GroupVersionKind& kind, bool& custom) {
  const api::catalog::ResourceInfo* resource = catalog.FindKind(kind);
  custom = resource != nullptr && resource->custom;
  if (resource != nullptr && resource->schema != nullptr) return resource->schema;
  return api::catalog::FindReadable(catalog, kind);
}

json::Value WithTypeMeta(json::Arena& arena, json::Value object, const GroupVersionKind& kind) {
  if (object["kind"].AsString() == kind.kind &&
      IsApiVersionOf(kind, object["apiVersion"].AsString())) {
    return object;
  }
  object = json::With(arena, object, "kind", json::String(arena, kind.kind));
  return json::With(arena, object, "apiVersion", json::String(arena, ApiVersion(kind)));
}

std::string ApiVersion(const GroupVersionKind& kind) {
  return kind.group.empty() ? kind.version : base::StrCat(kind.group, "/", kind.version);
}

std::string KindPrefix(const GroupVersionKind& kind) {
  return base::StrCat("{\"kind\":\"", kind.kind, "\",\"apiVersion\":\"", ApiVersion(kind), "\",");
}

base::Result<json::Value> ApplyDefaults(const World& world, const api::catalog::Catalog& catalog,
                                        json::Arena& arena, const GroupVersionKind& kind,
                                        json::Value object) {
  const api::catalog::ResourceInfo* resource = catalog.FindKind(kind);
  if (resource != nullptr && resource->custom) {
    if (resource->schema == nullptr) return object;
    return api::schema::ApplySchemaDefaults(arena, *resource->schema, object);
  }
  return world.defaulter->Apply(arena, kind, object);
}

json::Value Recanonicalize(const api::catalog::Catalog& catalog, json::Arena& arena,
                           const GroupVersionKind& kind, json::Value object, json::Value known) {
  bool custom = false;
  const api::schema::Schema* schema = SchemaOf(catalog, kind, custom);
  if (schema == nullptr || custom) return object;
  api::schema::DecodeOptions options;
  options.known = known;
  auto decoded = api::schema::Decode(arena, *schema, object, options);
  return decoded.ok() ? WithTypeMeta(arena, *decoded, kind) : object;
}

json::Value AsStored(const api::catalog::Catalog& catalog, json::Arena& arena,
                     const GroupVersionKind& kind, json::Value object, json::Value known) {
  bool custom = false;
  const api::schema::Schema* schema = SchemaOf(catalog, kind, custom);
  if (schema == nullptr || custom) return object;
  bool has_empty_list = false;
  const json::Value ordered =
      api::schema::InGoOrder(arena, *schema, object, known, &has_empty_list);
  // Definitions are stored as JSON, which tells an empty list from none.
  if (!has_empty_list || kind.group == "apiextensions.k8s.io") return ordered;
  api::schema::DecodeOptions options;
  options.empty_becomes_null = true;
  options.keeps_empty_bytes = true;
  auto decoded = api::schema::Decode(arena, *schema, object, options);
  return api::schema::InGoOrder(arena, *schema,
                                decoded.ok() ? WithTypeMeta(arena, *decoded, kind) : object);
}

json::Value PruneCustom(const api::catalog::Catalog& catalog, json::Arena& arena,
                        const GroupVersionKind& kind, json::Value object) {
  bool custom = false;
  const api::schema::Schema* schema = SchemaOf(catalog, kind, custom);
  if (schema == nullptr || !custom) return object;
  return api::schema::Prune(arena, *schema, object, true, nullptr);
}

json::Value EmptyObject(json::Arena& arena, const api::catalog::ResourceInfo& resource) {
  const json::Value nothing = json::MakeObject(arena, {});
  if (resource.custom || resource.schema == nullptr) return nothing;
  auto decoded = api::schema::Decode(arena, *resource.schema, nothing);
  return decoded.ok() ? *decoded : nothing;
}

namespace {

constexpr std::string_view kVersionName = "resourceVersion";

// The hashes of the names in kMetadataOrder.
constexpr auto kMetadataHashes = [] {
  std::array<std::uint32_t, api::kMetadataOrder.size()> hashes{};
  std::transform(api::kMetadataOrder.begin(), api::kMetadataOrder.end(), hashes.begin(),
                 json::HashKey);
  return hashes;
}();

// Ordered(), with another resourceVersion unless that is null.
json::Value OrderedWith(json::Arena& arena, json::Value object, const json::Value* version) {
  const json::Value metadata = object["metadata"];
  std::vector<json::Member> members;
  members.reserve(metadata.size() + 1);
  for (std::size_t i = 0; i < api::kMetadataOrder.size(); ++i) {
    json::Member member;
    member.name_data = api::kMetadataOrder[i].data();
    member.name_size = static_cast<std::uint32_t>(api::kMetadataOrder[i].size());
    member.hash = kMetadataHashes[i];
    const json::Value* value = metadata.Find(member.name(), member.hash);
    if (version != nullptr && member.name() == kVersionName) value = version;
    if (value == nullptr || value->is_null()) continue;
    member.value = *value;
    members.push_back(member);
  }
  std::vector<json::Member> top;
  top.reserve(object.size() + 1);
  top.emplace_back("kind", object["kind"]);
  top.emplace_back("apiVersion", object["apiVersion"]);
  top.emplace_back("metadata", json::MakeObject(arena, members));
  for (const json::Member& member : object.members()) {
    const std::string_view name = member.name();
    if (name != "kind" && name != "apiVersion" && name != "metadata") top.push_back(member);
  }
  return json::MakeObject(arena, top);
}

}  // namespace

json::Value Ordered(json::Arena& arena, json::Value object) {
  return OrderedWith(arena, object, nullptr);
}

bool IsCustom(const Operation& op) { return op.resource->custom && op.kind() == op.resource->kind; }

json::Value AsWritten(Operation& op, json::Value object) {
  return IsCustom(op) ? json::Sorted(op.arena, object) : Ordered(op.arena, object);
}

namespace {

// The members of a JSON object, each after its comma or the brace.
class MemberWriter {
 public:
  explicit MemberWriter(std::string& out) : out_(out) {}
  void Name(const json::Member& member) {
    out_ += separator_;
    separator_ = ',';
    json::WriteString(member.name(), out_);
    out_ += ':';
  }

 private:
  std::string& out_;
  char separator_ = '{';
};

// Anything may come before the resourceVersion here, fields of its name among it.
store::Encoded EncodeSorted(json::Arena& arena, json::Value object) {
  object = json::Sorted(arena, object);
  store::Encoded encoded;
  std::string& out = encoded.bytes;
  MemberWriter top(out);
  for (const json::Member& member : object.members()) {
    top.Name(member);
    if (member.name() != "metadata") {
      json::Write(member.value, out);
      continue;
    }
    MemberWriter metadata(out);
    for (const json::Member& field : member.value.members()) {
      metadata.Name(field);
      if (field.name() == kVersionName) encoded.revision_at = out.size() + 1;
      json::Write(field.value, out);
    }
    out += '}';
  }
  out += '}';
  return encoded;
}

// The object as it lies in the store, its resourceVersion left open.
store::Encoded Encode(json::Arena& arena, json::Value object, const GroupVersionKind& kind,
                      bool custom) {
  const json::Value open = json::Value::StringView("");
  if (custom) {
    object = json::SetPath(arena, object, {"metadata", kVersionName}, open);
    return EncodeSorted(arena, WithTypeMeta(arena, object, kind));
  }
  object = OrderedWith(arena, WithTypeMeta(arena, object, kind), &open);
  store::Encoded encoded;
  json::Write(object, encoded.bytes);
  // The first of this key and value: only names come before it.
  constexpr std::string_view kOpen = R"("resourceVersion":")";
  encoded.revision_at = encoded.bytes.find(kOpen) + kOpen.size();
  return encoded;
}

base::Result<json::Value> ParseStored(json::Arena& arena, const store::ObjectPtr& object) {
  arena.Retain(object);
  json::ParseOptions options;
  options.borrow_text = true;
  return json::Parse(arena, object->bytes(), options);
}

// True if the bytes are what the resource, a custom one, shows.
bool IsInOrder(const store::ObjectPtr& object, const ResourceInfo& resource) {
  return object->checked_by() == resource.number;
}

// Whether an object of a custom resource is stored in the version that the resource shows.
bool IsOfVersion(const store::ObjectPtr& object, const ResourceInfo& resource) {
  if (IsInOrder(object, resource)) return true;
  const std::string version = ApiVersion(resource.kind);
  const std::string_view bytes = object->bytes();
  // It comes first, but for fields with very low names and in what older releases have stored.
  constexpr std::string_view kFirst = R"({"apiVersion":")";
  if (bytes.starts_with(kFirst)) {
    return bytes.substr(kFirst.size()).starts_with(base::StrCat(version, "\""));
  }
  json::Arena arena;
  const auto parsed = json::Parse(arena, bytes, {.borrow_text = true});
  return parsed.ok() && (*parsed)["apiVersion"].AsString() == version;
}

// The schema of another version of the same definition.
base::Result<const api::schema::Schema*> SchemaOfVersion(const ResourceInfo& resource,
                                                         std::string_view api_version) {
  const auto version = base::Cut(api_version, "/");
  const api::schema::Schema* schema =
      version ? resource.definition->FindSchema(version->second) : nullptr;
  if (schema != nullptr) return schema;
  return base::Status(
      base::Reason::kUnknown,
      base::StrCat("request to convert CR from an invalid group/version: ", api_version));
}

// Objects that were stored before there were generations are of the first.
json::Value WithGeneration(json::Arena& arena, json::Value object) {
  const json::Value metadata = object["metadata"];
  if (!metadata.is_object() || metadata["generation"].AsInt() != 0) return object;
  return json::SetPath(arena, object, {"metadata", "generation"}, json::Value::Int(1));
}

// By the schema of the version it is stored in.
base::Result<json::Value> PrunedAndDefaulted(json::Arena& arena, json::Value stored,
                                             const ResourceInfo& resource) {
  const auto* schema = TRY(SchemaOfVersion(resource, stored["apiVersion"].AsString()));
  const json::Value pruned =
      WithGeneration(arena, api::schema::Prune(arena, *schema, stored, true, nullptr));
  const json::Value value = TRY(api::schema::ApplySchemaDefaults(arena, *schema, pruned));
  return value == stored ? stored : value;
}

// `object` with the resourceVersion of another one, if that has one.
json::Value WithVersionOf(json::Arena& arena, json::Value object, json::Value other) {
  const json::Value version = other["metadata"]["resourceVersion"];
  if (version.is_null()) return object;
  return json::SetPath(arena, object, {"metadata", "resourceVersion"}, version);
}

// Values in versions of the store as the resource shows them: those of other versions converted all
// at once, then pruned by the schema of the wanted one.
base::Result<std::vector<json::Value>> Converted(json::Arena& arena,
                                                 std::vector<json::Value> values,
                                                 const ResourceInfo& resource) {
  const std::string wanted = ApiVersion(resource.kind);
  std::vector<json::Value> others;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i]["apiVersion"].AsString() == wanted) continue;
    places.push_back(i);
    // Objects get their resourceVersion when all else has been read.
    others.push_back(json::RemovePath(arena, values[i], {"metadata", "resourceVersion"}));
  }
  if (others.empty()) return values;
  const auto converted =
      TRY(resource.definition->converter().Convert(arena, others, resource.kind.group_version()));
  for (std::size_t i = 0; i < places.size(); ++i) {
    json::Value& value = values[places[i]];
    const json::Value pruned =
        api::schema::Prune(arena, *resource.schema, converted[i], true, nullptr);
    value = WithVersionOf(arena, pruned, value);
  }
  return values;
}

// Objects in which nothing has to be changed are marked.
base::Result<std::vector<json::Value>> ReadCustom(json::Arena& arena,
                                                  std::span<const store::ObjectPtr> objects,
                                                  const ResourceInfo& resource) {
  const std::string version = ApiVersion(resource.kind);
  std::vector<json::Value> values;
  values.reserve(objects.size());
  for (const store::ObjectPtr& object : objects) {
    const json::Value stored = TRY(ParseStored(arena, object));
    const json::Value read = TRY(PrunedAndDefaulted(arena, stored, resource));
    values.push_back(read);
    const bool shown_so = read["apiVersion"].AsString() == version &&
                          read["kind"].AsString() == resource.kind.kind && json::IsSorted(read);
    if (shown_so && read.IsSameAs(stored)) object->MarkChecked(resource.number);
  }
  return Converted(arena, std::move(values), resource);
}

// The object as its resource shows it.
store::ObjectPtr View(json::Arena& arena, const store::Object& object, json::Value value,
                      const ResourceInfo& resource) {
  const store::Encoded encoded = Encode(arena, value, resource.kind, true);
  const std::string_view bytes = encoded.bytes;
  auto view =
      store::Object::Make(object.collection(), object.ns(), object.name(), object.revision(),
                          bytes.substr(0, encoded.revision_at), bytes.substr(encoded.revision_at));
  view->MarkChecked(resource.number);
  return view;
}

base::Result<json::Value> ToStorageVersion(json::Arena& arena, json::Value object,
                                           const ResourceInfo& resource) {
  if (object["apiVersion"].AsString() == ApiVersion(resource.storage_kind)) return object;
  object = json::RemovePath(arena, object, {"metadata", "resourceVersion"});
  const auto converted = TRY(resource.definition->converter().Convert(
      arena, std::span(&object, 1), resource.storage_kind.group_version()));
  const auto* schema = TRY(SchemaOfVersion(resource, ApiVersion(resource.storage_kind)));
  return api::schema::Prune(arena, *schema, converted.front(), true, nullptr);
}

// Whether etcd would take the object in the form kube-apiserver stores it in.
base::Status CheckSize(const store::Encoded& encoded, json::Value object,
                       const ResourceInfo& resource) {
  if (encoded.bytes.size() < api::kMaxRequestBytes - api::kMaxRequestBytes / 16) {
    return base::OkStatus();
  }
  const json::Value metadata = object["metadata"];
  const std::string_view name_space = metadata["namespace"].AsString();
  std::size_t key = std::string_view("/registry/").size() + resource.resource.resource.size() + 1 +
                    metadata["name"].AsString().size();
  if (!name_space.empty()) key += name_space.size() + 1;
  if (!resource.custom && resource.schema != nullptr) {
    return api::CheckRequestSize(api::ProtobufSize(*resource.schema, object), key);
  }
  key += resource.resource.group.size() + 1;
  // Kubernetes leaves the resourceVersion out and ends the object with a newline.
  constexpr std::size_t kVersionLessNewline =
      std::string_view(R"("resourceVersion":"",)").size() - 1;
  return api::CheckRequestSize(encoded.bytes.size() - kVersionLessNewline, key);
}

}  // namespace

base::Result<store::Encoded> EncodeForStore(json::Arena& arena, json::Value object,
                                            const ResourceInfo& resource) {
  if (resource.definition != nullptr) {
    object = TRY(ToStorageVersion(arena, object, resource));
  } else {
    object = TRY(api::Convert(arena, object, resource.storage_kind));
  }
  store::Encoded encoded = Encode(arena, object, resource.storage_kind, resource.custom);
  TRY(CheckSize(encoded, object, resource));
  return encoded;
}

store::Encoded EncodeAsIs(json::Arena& arena, json::Value object, bool custom) {
  GroupVersionKind kind;
  if (const auto version = api::ParseGroupVersion(object["apiVersion"].AsString()); version.ok()) {
    kind = {version->group, version->version, std::string(object["kind"].AsString())};
  }
  return Encode(arena, object, kind, custom);
}

bool NeedsWebhook(const ResourceInfo& resource, std::span<const store::ObjectPtr> objects) {
  if (resource.definition == nullptr || !resource.definition->converter().blocks()) return false;
  return std::any_of(objects.begin(), objects.end(), [&](const store::ObjectPtr& object) {
    return object != nullptr && !IsOfVersion(object, resource);
  });
}

base::Result<std::vector<store::ObjectPtr>> InVersion(const ResourceInfo& resource,
                                                      std::vector<store::ObjectPtr> objects) {
  if (resource.definition == nullptr) {
    if (!ShowsOtherwise(resource)) return objects;
    for (store::ObjectPtr& object : objects) object = TRY(Shown(resource, std::move(object)));
    return objects;
  }
  json::Arena arena;
  std::vector<std::size_t> places;
  std::vector<store::ObjectPtr> raw;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (objects[i] == nullptr || IsInOrder(objects[i], resource)) continue;
    places.push_back(i);
    raw.push_back(objects[i]);
  }
  if (raw.empty()) return objects;
  const std::vector<json::Value> values = TRY(ReadCustom(arena, raw, resource));
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (IsInOrder(raw[i], resource)) continue;
    objects[places[i]] = View(arena, *raw[i], values[i], resource);
  }
  return objects;
}

namespace {

// A stored object that cannot be read is the server's fault (500), not the request's.
base::Status Unreadable(const base::Status& why) { return {base::Reason::kUnknown, why.message()}; }

}  // namespace

base::Result<json::Value> FromStore(json::Arena& arena, const store::ObjectPtr& object,
                                    const ResourceInfo& resource) {
  if (resource.definition == nullptr || IsInOrder(object, resource)) {
    json::Value parsed = TRY(ParseStored(arena, object));
    // All that is stored is as it is to be written.
    if (parsed.source().empty() && resource.schema != nullptr &&
        api::schema::HoldsRawTexts(*resource.schema, parsed)) {
      parsed = TRY(api::schema::ReadRawExtension(arena, object->bytes()));
    }
    const json::Value stored = WithoutUnwritten(arena, resource, parsed);
    const auto converted = api::Convert(arena, stored, resource.kind);
    if (!converted.ok()) return Unreadable(converted.status());
    const json::Value shown = *converted;
    if (resource.schema == nullptr || shown.IsSameAs(stored)) return shown;
    return api::schema::InGoOrder(arena, *resource.schema, shown);
  }
  const auto values = TRY(ReadCustom(arena, std::span(&object, 1), resource));
  return json::Sorted(arena, values.front());
}

base::Result<json::Value> ThroughStore(json::Arena& arena, json::Value object,
                                       const ResourceInfo& resource) {
  if (resource.definition == nullptr) {
    if (resource.kind == resource.storage_kind) return object;
    const json::Value stored = TRY(api::Convert(arena, object, resource.storage_kind));
    const json::Value shown = TRY(api::Convert(arena, stored, resource.kind));
    return resource.schema == nullptr ? shown
                                      : api::schema::InGoOrder(arena, *resource.schema, shown);
  }
  const json::Value stored = TRY(ToStorageVersion(arena, object, resource));
  const json::Value read = TRY(PrunedAndDefaulted(arena, stored, resource));
  const auto shown = TRY(Converted(arena, {read}, resource));
  return WithVersionOf(arena, shown.front(), object);
}

base::Result<std::string_view> BytesAs(const store::ObjectPtr& object, const ResourceInfo& resource,
                                       std::string& scratch) {
  const bool as_stored = resource.definition != nullptr ? IsInOrder(object, resource)
                                                        : resource.storage_kind == resource.kind;
  if (as_stored) return object->bytes();
  json::Arena arena;
  const json::Value value = TRY(FromStore(arena, object, resource));
  scratch.clear();
  json::Write(resource.custom ? value : Ordered(arena, value), scratch);
  return std::string_view(scratch);
}

base::Result<std::string_view> ProtobufAs(const store::ObjectPtr& object,
                                          const ResourceInfo& resource, std::string& scratch) {
  const bool as_stored = resource.definition == nullptr && resource.storage_kind == resource.kind;
  if (as_stored && !object->encoding().empty()) return object->encoding();
  json::Arena arena;
  const json::Value value = TRY(FromStore(arena, object, resource));
  scratch.clear();
  TRY(WriteProtobufMessage(value, scratch));
  if (!as_stored) return std::string_view(scratch);
  return object->KeepEncoding(std::string(scratch));
}

}  // namespace portcullis::engine
