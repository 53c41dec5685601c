#include "engine/codec/codec.h"

#include <algorithm>

#include "admission/trace/trace.h"
#include "api/conversion/conversion.h"
#include "api/conversion/custom_converter.h"
#include "api/schema/decode.h"
#include "api/schema/defaulting.h"
#include "api/schema/order.h"
#include "api/stored_size.h"
#include "api/view/metadata_order.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "engine/codec/protobuf.h"
#include "engine/codec/type_meta.h"
#include "json/reader.h"
#include "json/writer.h"
#include "json/yaml.h"

namespace portcullis::engine {
namespace {

using api::GroupVersionKind;
using api::catalog::ResourceInfo;

// What an undecodable body is shown as: its beginning as text if it looks like an object, else as
// hexadecimal digits.
std::string Summary(std::string_view body) {
  constexpr std::size_t kShown = 30;
  if (body.empty()) return "<empty>";
  const std::string_view shown = body.substr(0, kShown);
  std::string text = body.front() == '{' ? std::string(shown) : base::HexEncode(shown);
  if (body.size() > kShown) text += " ...";
  return text;
}

base::Status Unrecognized(const GroupVersionKind& kind, std::string_view error,
                          std::string_view body) {
  return base::BadRequest(base::StrCat(
      "the object provided is unrecognized (must be of type ", kind.kind,
      "): couldn't get version/kind; json parse error: ", error, " (", Summary(body), ")"));
}

base::Status CannotBeHandled(std::string_view kind, std::string_view version,
                             const GroupVersionKind& expected, std::string_view error) {
  return base::BadRequest(base::StrCat(kind, " in version ", base::GoQuote(version),
                                       " cannot be handled as a ", expected.kind, ": ", error));
}

// The Go package of a group's types: "core", "apps", "admissionregistration".
std::string_view PackageOf(std::string_view group) {
  if (group.empty()) return "core";
  return group.substr(0, group.find('.'));
}

bool IsRegistered(const Operation& op, const GroupVersionKind& kind) {
  return op.catalog->FindKind(kind) != nullptr || op.catalog->FindSchema(kind) != nullptr;
}

base::Status OtherVersion(const GroupVersionKind& claimed, const GroupVersionKind& expected) {
  return base::BadRequest(base::StrCat(
      "the API version in the data (", claimed.group_version().ToString(),
      ") does not match the expected API version (", expected.group_version().ToString(), ")"));
}

// Versions that Kubernetes still has types for, though it serves them no more.
bool IsBygone(const GroupVersionKind& kind) {
  static constexpr std::pair<std::string_view, std::string_view> kVersions[] = {
      {"admissionregistration.k8s.io", "v1beta1"},
      {"apps", "v1beta1"},
      {"apps", "v1beta2"},
      {"batch", "v1beta1"},
      {"policy", "v1beta1"},
      {"rbac.authorization.k8s.io", "v1alpha1"},
      {"rbac.authorization.k8s.io", "v1beta1"},
  };
  for (const auto& [group, version] : kVersions) {
    if (kind.group == group && kind.version == version) return true;
  }
  return false;
}

std::string NoKind(const GroupVersionKind& kind) {
  return base::StrCat("no kind ", base::GoQuote(kind.kind), " is registered for version ",
                      base::GoQuote(kind.group_version().ToString()),
                      " in scheme \"k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30\"");
}

std::string NoConversion(const GroupVersionKind& from, const GroupVersionKind& to) {
  return base::StrCat("converting (", from.version, ".", from.kind, ") to (", PackageOf(to.group),
                      ".", to.kind, "): unknown conversion");
}

// The oldest clients evict by it; nothing else of its version is left.
bool IsEviction(const GroupVersionKind& claimed, const GroupVersionKind& expected) {
  return expected == GroupVersionKind{"policy", "v1", "Eviction"} &&
         claimed == GroupVersionKind{"policy", "v1beta1", "Eviction"};
}

bool IsCustom(const Operation& op, const GroupVersionKind& kind) {
  const ResourceInfo* resource = op.catalog->FindKind(kind);
  return resource != nullptr && resource->custom;
}

std::string WithoutKind(std::string_view body) {
  return base::StrCat("Object 'Kind' is missing in '", body, "'");
}

// A custom resource is any object that has a kind and the version: of what kind it is its
// validation finds out.
base::Status CheckCustomKind(const GroupVersionKind& expected, json::Value object,
                             std::string_view body, FieldValidation validation) {
  if (object["kind"].AsString().empty()) {
    if (validation == FieldValidation::kIgnore) {
      return CannotBeHandled(expected.kind, expected.version, expected, WithoutKind(body));
    }
    return base::BadRequest(base::StrCat("the object provided is unrecognized (must be of type ",
                                         expected.kind, "): ", WithoutKind(body), " (",
                                         Summary(body), ")"));
  }
  const api::GroupVersion version = TRY(api::ParseGroupVersion(object["apiVersion"].AsString()));
  if (version == expected.group_version()) return base::OkStatus();
  return OtherVersion({version.group, version.version, expected.kind}, expected);
}

// Checks the kind and version a body claims; fills in `claimed` what it leaves out.
base::Status CheckKind(const Operation& op, const GroupVersionKind& expected, json::Value object,
                       std::string_view body, FieldValidation validation,
                       GroupVersionKind& claimed) {
  if (const std::string wrong = TypeMetaError(object); !wrong.empty()) {
    return Unrecognized(expected, wrong, body);
  }
  claimed = expected;
  const std::string_view version_text = object["apiVersion"].AsString();
  if (!version_text.empty()) {
    auto parsed = api::ParseGroupVersion(version_text);
    if (!parsed.ok()) return Unrecognized(expected, parsed.status().message(), body);
    claimed.group = parsed->group;
    claimed.version = parsed->version;
  }
  const std::string_view kind_text = object["kind"].AsString();
  if (!kind_text.empty()) claimed.kind = std::string(kind_text);
  if (IsCustom(op, expected)) return CheckCustomKind(expected, object, body, validation);
  if (claimed == expected) return base::OkStatus();

  if (IsEviction(claimed, expected)) return base::OkStatus();
  if (IsBygone(claimed) && claimed.group == expected.group && claimed.kind == expected.kind) {
    return OtherVersion(claimed, expected);
  } else if (!IsRegistered(op, claimed)) {
    return CannotBeHandled(claimed.kind, claimed.version, expected, NoKind(claimed));
  }
  if (claimed.kind != expected.kind || !api::IsConvertible(claimed, expected)) {
    return CannotBeHandled(claimed.kind, claimed.version, expected,
                           NoConversion(claimed, expected));
  }
  return OtherVersion(claimed, expected);
}

const api::schema::Schema* SchemaOf(const api::catalog::Catalog& catalog,
                                    const GroupVersionKind& kind, bool& custom) {
  const api::catalog::ResourceInfo* resource = catalog.FindKind(kind);
  custom = resource != nullptr && resource->custom;
  if (resource != nullptr && resource->schema != nullptr) return resource->schema;
  return catalog.FindSchema(kind);
}

bool HasEmptyCollection(json::Value value) {
  if (value.is_array() && value.empty()) return true;
  for (const json::Value& element : value.elements()) {
    const bool deep = element.is_array() || element.is_object();
    if (deep && HasEmptyCollection(element)) return true;
  }
  for (const json::Member& member : value.members()) {
    // Sets of fields hold no lists.
    if (!member.value.is_array() && (member.value.empty() || member.name() == "fieldsV1")) continue;
    if (HasEmptyCollection(member.value)) return true;
  }
  return false;
}

json::Value WithTypeMeta(json::Arena& arena, json::Value object, const GroupVersionKind& kind) {
  const std::string version = ApiVersion(kind);
  if (object["kind"].AsString() == kind.kind && object["apiVersion"].AsString() == version) {
    return object;
  }
  object = json::With(arena, object, "kind", json::String(arena, kind.kind));
  return json::With(arena, object, "apiVersion", json::String(arena, version));
}

}  // namespace

std::string ApiVersion(const GroupVersionKind& kind) {
  return kind.group.empty() ? kind.version : base::StrCat(kind.group, "/", kind.version);
}

base::Status CheckConvertible(const Operation& op, const GroupVersionKind& expected,
                              json::Value object) {
  GroupVersionKind claimed = expected;
  if (const auto text = object["apiVersion"].AsString(); !text.empty()) {
    const auto version = TRY(api::ParseGroupVersion(text));
    claimed.group = version.group;
    claimed.version = version.version;
  }
  if (const auto text = object["kind"].AsString(); !text.empty()) claimed.kind = text;
  if (claimed == expected) return base::OkStatus();
  if (!IsRegistered(op, claimed) && !IsBygone(claimed)) return base::BadRequest(NoKind(claimed));
  if (claimed.kind == expected.kind && api::IsConvertible(claimed, expected)) {
    return base::OkStatus();
  }
  return base::BadRequest(NoConversion(claimed, expected));
}

std::string KindPrefix(const GroupVersionKind& kind) {
  return base::StrCat("{\"kind\":\"", kind.kind, "\",\"apiVersion\":\"", ApiVersion(kind), "\",");
}

base::Result<json::Value> ParseBody(json::Arena& arena, std::string_view body, MediaType type,
                                    std::vector<std::string>* duplicates) {
  json::ParseOptions options;
  options.duplicate_keys = duplicates;
  if (type == MediaType::kProtobuf) return ParseProtobuf(arena, body);
  if (type == MediaType::kJson) return json::Parse(arena, body, options);
  return json::ParseYamlOrJson(arena, body);
}

std::string StrictYamlError(json::Arena& arena, std::string_view text) {
  std::string error;
  json::YamlOptions options;
  options.strict_error = &error;
  (void)json::ParseYaml(arena, text, options);
  return error;
}

void WarnOfYaml(Operation& op, std::string_view error) {
  if (error.empty()) return;
  const auto lines = base::Split(error, '\n');
  for (std::size_t i = 1; i < lines.size(); ++i) {
    op.recorder.Warn(std::string(base::Trim(lines[i])));
  }
}

base::Result<json::Value> Canonical(Operation& op, const GroupVersionKind& kind, json::Value object,
                                    FieldValidation validation,
                                    const std::vector<std::string>& duplicates,
                                    std::string_view yaml_error) {
  std::vector<std::string> unknown;
  std::vector<std::string>* unknown_or_null =
      validation == FieldValidation::kIgnore ? nullptr : &unknown;
  bool custom = false;
  const api::schema::Schema* schema = SchemaOf(*op.catalog, kind, custom);
  if (custom && object["kind"].AsString() != kind.kind) return object;
  if (schema != nullptr && custom) {
    TRY(api::schema::CheckMetadata(op.arena, *schema, object));
    object = api::schema::Prune(op.arena, *schema, object, true, unknown_or_null);
  } else if (schema != nullptr) {
    api::schema::DecodeOptions options;
    options.unknown_fields = unknown_or_null;
    object = TRY(api::schema::Decode(op.arena, *schema, object, options));
  }
  if (validation == FieldValidation::kStrict) {
    std::vector<std::string> texts = api::schema::DecodingWarnings(duplicates, unknown);
    if (!yaml_error.empty()) texts.insert(texts.begin(), std::string(yaml_error));
    if (!texts.empty()) {
      return base::BadRequest(base::StrCat("strict decoding error: ", base::Join(texts, ", ")));
    }
  } else if (validation == FieldValidation::kWarn) {
    WarnOfYaml(op, yaml_error);
    for (std::string& text : api::schema::DecodingWarnings(duplicates, unknown)) {
      op.recorder.Warn(std::move(text));
    }
  }
  return object;
}

base::Result<json::Value> DecodeBody(Operation& op, const GroupVersionKind& kind,
                                     std::string_view body, MediaType type,
                                     FieldValidation validation) {
  std::vector<std::string> duplicates;
  auto parsed = ParseBody(op.arena, body, type, &duplicates);
  if (!parsed.ok()) return Unrecognized(kind, parsed.status().message(), body);
  GroupVersionKind claimed;
  TRY(CheckKind(op, kind, *parsed, body, validation, claimed));
  json::Value object = *parsed;
  if (!object.is_object()) object = json::MakeObject(op.arena, {});
  if (IsCustom(op, kind) && claimed.kind != kind.kind) return object;
  object = WithTypeMeta(op.arena, object, kind);
  std::string yaml_error;
  if (type == MediaType::kYaml) yaml_error = StrictYamlError(op.arena, body);
  auto canonical = Canonical(op, kind, object, validation, duplicates, yaml_error);
  if (!canonical.ok()) {
    return CannotBeHandled(kind.kind, kind.version, kind, canonical.status().message());
  }
  const json::Value decoded = WithTypeMeta(op.arena, *canonical, kind);
  admission::Trace* const trace = op.recorder.trace();
  if (trace != nullptr) trace->Decoded(decoded);
  const json::Value defaulted = TRY(ApplyDefaults(op.world, *op.catalog, op.arena, kind, decoded));
  if (trace != nullptr) trace->Stage("decode", "defaulting", defaulted);
  return defaulted;
}

base::Result<json::Value> DecodeInput(Operation& op, const Input& input) {
  const json::Value object =
      TRY(DecodeBody(op, op.kind(), input.body, input.type, input.options.validation));
  op.request_object = object;
  return object;
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
                     const GroupVersionKind& kind, json::Value object) {
  bool custom = false;
  const api::schema::Schema* schema = SchemaOf(catalog, kind, custom);
  if (schema == nullptr || custom) return object;
  if (!HasEmptyCollection(object)) return api::schema::InGoOrder(arena, *schema, object);
  api::schema::DecodeOptions options;
  options.empty_becomes_null = true;
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

json::Value Ordered(json::Arena& arena, json::Value object) {
  const json::Value metadata = object["metadata"];
  std::vector<json::Member> members;
  members.reserve(metadata.size());
  for (std::string_view name : api::kMetadataOrder) {
    const json::Value* value = metadata.Find(name);
    if (value != nullptr && !value->is_null()) members.emplace_back(name, *value);
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

namespace {

// The object as it lies in the store, its resourceVersion left open.
store::Encoded Encode(json::Arena& arena, json::Value object, const GroupVersionKind& kind) {
  object =
      json::SetPath(arena, object, {"metadata", "resourceVersion"}, json::Value::StringView(""));
  object = Ordered(arena, WithTypeMeta(arena, object, kind));
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

// True if the bytes are what the resource shows.
bool IsInOrder(const store::ObjectPtr& object, std::string_view prefix,
               const ResourceInfo& resource) {
  return object->checked_by() == resource.definition->number() &&
         object->bytes().starts_with(prefix);
}

// Of another version of the same definition.
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

// By the schema of the version it is stored in.
base::Result<json::Value> PrunedAndDefaulted(json::Arena& arena, json::Value stored,
                                             const ResourceInfo& resource) {
  const auto* schema = TRY(SchemaOfVersion(resource, stored["apiVersion"].AsString()));
  const json::Value pruned = api::schema::Prune(arena, *schema, stored, true, nullptr);
  const json::Value value = TRY(api::schema::ApplySchemaDefaults(arena, *schema, pruned));
  return value == stored ? stored : value;
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
    value = json::SetPath(arena, pruned, {"metadata", "resourceVersion"},
                          value["metadata"]["resourceVersion"]);
  }
  return values;
}

// Objects in which nothing has to be changed are marked.
base::Result<std::vector<json::Value>> ReadCustom(json::Arena& arena,
                                                  std::span<const store::ObjectPtr> objects,
                                                  const ResourceInfo& resource) {
  const std::string prefix = KindPrefix(resource.kind);
  std::vector<json::Value> values;
  values.reserve(objects.size());
  for (const store::ObjectPtr& object : objects) {
    const json::Value stored = TRY(ParseStored(arena, object));
    values.push_back(TRY(PrunedAndDefaulted(arena, stored, resource)));
    if (values.back().IsSameAs(stored) && object->bytes().starts_with(prefix)) {
      object->MarkChecked(resource.definition->number());
    }
  }
  return Converted(arena, std::move(values), resource);
}

// The object as its resource shows it.
store::ObjectPtr View(json::Arena& arena, const store::Object& object, json::Value value,
                      const ResourceInfo& resource) {
  const store::Encoded encoded = Encode(arena, value, resource.kind);
  const std::string_view bytes = encoded.bytes;
  auto view =
      store::Object::Make(object.collection(), object.ns(), object.name(), object.revision(),
                          bytes.substr(0, encoded.revision_at), bytes.substr(encoded.revision_at));
  view->MarkChecked(resource.definition->number());
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
  store::Encoded encoded = Encode(arena, object, resource.storage_kind);
  TRY(CheckSize(encoded, object, resource));
  return encoded;
}

store::Encoded EncodeAsIs(json::Arena& arena, json::Value object) {
  GroupVersionKind kind;
  if (const auto version = api::ParseGroupVersion(object["apiVersion"].AsString()); version.ok()) {
    kind = {version->group, version->version, std::string(object["kind"].AsString())};
  }
  return Encode(arena, object, kind);
}

bool NeedsWebhook(const ResourceInfo& resource, std::span<const store::ObjectPtr> objects) {
  if (resource.definition == nullptr || !resource.definition->converter().blocks()) return false;
  const std::string prefix = KindPrefix(resource.kind);
  return std::any_of(objects.begin(), objects.end(), [&](const store::ObjectPtr& object) {
    return object != nullptr && !object->bytes().starts_with(prefix);
  });
}

base::Result<std::vector<store::ObjectPtr>> InVersion(const ResourceInfo& resource,
                                                      std::vector<store::ObjectPtr> objects) {
  if (resource.definition == nullptr) return objects;
  const std::string prefix = KindPrefix(resource.kind);
  json::Arena arena;
  std::vector<std::size_t> places;
  std::vector<store::ObjectPtr> raw;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (objects[i] == nullptr || IsInOrder(objects[i], prefix, resource)) continue;
    places.push_back(i);
    raw.push_back(objects[i]);
  }
  if (raw.empty()) return objects;
  const std::vector<json::Value> values = TRY(ReadCustom(arena, raw, resource));
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (IsInOrder(raw[i], prefix, resource)) continue;
    objects[places[i]] = View(arena, *raw[i], values[i], resource);
  }
  return objects;
}

base::Result<json::Value> FromStore(json::Arena& arena, const store::ObjectPtr& object,
                                    const ResourceInfo& resource) {
  if (resource.definition == nullptr || IsInOrder(object, KindPrefix(resource.kind), resource)) {
    return api::Convert(arena, TRY(ParseStored(arena, object)), resource.kind);
  }
  const auto values = TRY(ReadCustom(arena, std::span(&object, 1), resource));
  return values.front();
}

base::Result<json::Value> ThroughStore(json::Arena& arena, json::Value object,
                                       const ResourceInfo& resource) {
  if (resource.definition == nullptr || resource.kind == resource.storage_kind) return object;
  const json::Value stored = TRY(ToStorageVersion(arena, object, resource));
  const json::Value read = TRY(PrunedAndDefaulted(arena, stored, resource));
  const auto shown = TRY(Converted(arena, {read}, resource));
  return json::SetPath(arena, shown.front(), {"metadata", "resourceVersion"},
                       object["metadata"]["resourceVersion"]);
}

base::Result<std::string_view> BytesAs(const store::ObjectPtr& object, const ResourceInfo& resource,
                                       std::string& scratch) {
  const bool as_stored = resource.definition != nullptr
                             ? IsInOrder(object, KindPrefix(resource.kind), resource)
                             : resource.storage_kind == resource.kind;
  if (as_stored) return object->bytes();
  json::Arena arena;
  const json::Value value = TRY(FromStore(arena, object, resource));
  scratch.clear();
  json::Write(Ordered(arena, value), scratch);
  return std::string_view(scratch);
}

}  // namespace portcullis::engine
