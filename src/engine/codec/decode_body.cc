// SPDX-License-Identifier: Apache-2.0

// Request bodies to canonical, defaulted objects.
#include <algorithm>
#include <span>

#include "admission/trace/trace.h"
#include "api/catalog/bygone_kinds.h"
#include "api/catalog/bygone_types.h"
#include "api/conversion/conversion.h"
#include "api/schema/decode.h"
#include "api/schema/merge_duplicates.h"
#include "api/schema/raw_texts.h"
#include "api/schema/type_meta.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "cbor/diagnose.h"
#include "engine/codec/body.h"
#include "engine/codec/cbor.h"
#include "engine/codec/codec.h"
#include "engine/codec/kind_schema.h"
#include "json/duplicates.h"
#include "json/reader.h"
#include "json/sorted.h"
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
  return base::BadRequest(base::StrCat("the object provided is unrecognized (must be of type ",
                                       kind.kind, "): ", error, " (", Summary(body), ")"));
}

base::Status CannotBeHandled(std::string_view kind, std::string_view version,
                             const GroupVersionKind& expected, std::string_view error) {
  return base::BadRequest(base::StrCat(kind, " in version ", base::GoQuote(version),
                                       " cannot be handled as a ", expected.kind, ": ", error));
}

// The Go package of a group's internal types: "core", also of events, "apps", "admissionregistration".
std::string_view PackageOf(std::string_view group) {
  if (group.empty() || group == "events.k8s.io") return "core";
  return group.substr(0, group.find('.'));
}

base::Status OtherVersion(const GroupVersionKind& claimed, const GroupVersionKind& expected) {
  return base::BadRequest(base::StrCat(
      "the API version in the data (", claimed.group_version().ToString(),
      ") does not match the expected API version (", expected.group_version().ToString(), ")"));
}

// CustomResourceDefinitions and APIServices are served by servers of their own, each with a scheme of
// its own; `group` is that of what the endpoint takes.
std::string_view SchemeOf(std::string_view group) {
  if (group == "apiextensions.k8s.io") {
    return "k8s.io/apiextensions-apiserver/pkg/apiserver/apiserver.go:55";
  }
  if (group == "apiregistration.k8s.io") {
    return "k8s.io/kube-aggregator/pkg/apiserver/scheme/scheme.go:28";
  }
  return "k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30";
}

bool Contains(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The version of the types that kube-apiserver works with. Bodies may claim it.
constexpr std::string_view kInternal = "__internal";

// A version of a kind that claims to be of the internal one, whose types are those of the kind's own group;
// the kind itself in other versions, and if there is none.
GroupVersionKind KnownVersion(const api::catalog::Catalog& catalog, const GroupVersionKind& kind) {
  if (kind.version != kInternal) return kind;
  GroupVersionKind known = kind;
  if (kind.group == "extensions") {
    static constexpr std::string_view kOfNetworks[] = {"Ingress", "NetworkPolicy"};
    const bool of_networks =
        std::any_of(std::begin(kOfNetworks), std::end(kOfNetworks),
                    [&](std::string_view name) { return kind.kind.starts_with(name); });
    known.group = of_networks ? "networking.k8s.io" : "apps";
  }
  for (const std::string_view version :
       {"v1", "v2", "v1beta1", "v1beta2", "v1beta3", "v1alpha1", "v1alpha2", "v1alpha3"}) {
    known.version = version;
    if (api::catalog::FindReadable(catalog, known) != nullptr) return known;
  }
  return kind;
}

constexpr std::string_view kOfAllVersions[] = {"APIGroup", "APIGroupList", "APIResourceList",
                                               "APIVersions", "Status"};
// In the versions that a scheme has, and in v1 of the core group.
constexpr std::string_view kOfEachVersion[] = {"CreateOptions", "DeleteOptions", "GetOptions",
                                               "ListOptions",   "PatchOptions",  "UpdateOptions",
                                               "WatchEvent"};
constexpr std::string_view kWatchEvent = "WatchEvent";

// Whether a scheme has the kind in every version of every group, also of those that it does not know. The scheme of
// definitions has WatchEvent so, except in `__internal` of the core group and of its own.
bool IsUnversioned(const GroupVersionKind& kind, const GroupVersionKind& expected) {
  if (Contains(kOfAllVersions, kind.kind)) return true;
  constexpr std::string_view kDefinitions = "apiextensions.k8s.io";
  const bool is_own = kind.group.empty() || kind.group == kDefinitions;
  return kind.kind == kWatchEvent && expected.group == kDefinitions &&
         !(is_own && kind.version == kInternal);
}

// The kind whose type an object that claims to be `kind` has: Kubernetes' common kinds are those of v1 in
// every version. Of the internal one of WatchEvent nothing is known.
GroupVersionKind TypedAs(const GroupVersionKind& kind, const GroupVersionKind& expected) {
  if (IsUnversioned(kind, expected) ||
      (kind.version != kInternal && Contains(kOfEachVersion, kind.kind))) {
    return {"", "v1", kind.kind};
  }
  return kind;
}

// Whether the scheme of the server that takes `expected` has the kind.
bool IsRegistered(const Operation& op, GroupVersionKind kind, const GroupVersionKind& expected) {
  if (IsUnversioned(kind, expected)) return true;
  const bool is_common = Contains(kOfEachVersion, kind.kind);
  const bool is_internal = kind.version == kInternal;
  if (is_common && is_internal && kind.kind != kWatchEvent) return false;
  const bool is_core = kind.group.empty() && (is_internal || kind.version == "v1");
  if (is_core && is_common) return true;
  if (SchemeOf(kind.group) != SchemeOf(expected.group)) return false;
  if (is_internal) return KnownVersion(*op.catalog, kind).version != kInternal;
  // All of them are in the versions that this one is in.
  if (is_common) kind.kind = "DeleteOptions";
  if (is_core && kind.kind == "List") return true;
  if (const ResourceInfo* resource = op.catalog->FindKind(kind)) return !resource->custom;
  if (api::catalog::IsUnknownToKubernetes(kind.kind)) return false;
  return api::catalog::FindReadable(*op.catalog, kind) != nullptr ||
         api::catalog::FindBygone(kind) != nullptr;
}

std::string NoKind(const GroupVersionKind& kind, const GroupVersionKind& expected) {
  const std::string place =
      kind.version == kInternal
          ? base::StrCat("the internal version of group ", base::GoQuote(kind.group))
          : base::StrCat("version ", base::GoQuote(kind.group_version().ToString()));
  return base::StrCat("no kind ", base::GoQuote(kind.kind), " is registered for ", place,
                      " in scheme ", base::GoQuote(SchemeOf(expected.group)));
}

std::string NoConversion(const Operation& op, const GroupVersionKind& claimed,
                         const GroupVersionKind& to) {
  GroupVersionKind from = TypedAs(claimed, to);
  if (from.version == kInternal && from.kind == kWatchEvent) {
    from = {"", "v1", "InternalEvent"};
  }
  const std::string known = KnownVersion(*op.catalog, from).group;
  return base::StrCat("converting (", from.version == kInternal ? PackageOf(known) : from.version,
                      ".", from.kind, ") to (", PackageOf(to.group), ".", to.kind,
                      "): unknown conversion");
}

// Scales of custom resources have a scheme of their own, in which there are versions of Scale and
// nothing that converts them.
bool IsCustomScale(const Operation& op, const GroupVersionKind& kind) {
  return op.resource->custom && kind == GroupVersionKind{"autoscaling", "v1", "Scale"};
}

base::Status OtherScale(const GroupVersionKind& claimed) {
  static constexpr std::string_view kVersions[] = {"apps/v1beta1", "apps/v1beta2",
                                                   "extensions/v1beta1"};
  const std::string version = claimed.group_version().ToString();
  if (claimed.kind == "Scale" && Contains(kVersions, version)) {
    return base::BadRequest(
        base::StrCat("converting (", claimed.version, ".Scale) to (v1.Scale): unknown conversion"));
  }
  return base::BadRequest(
      api::schema::NotRegistered(claimed.kind, version, "k8s.io/client-go/scale/util.go:146"));
}

// The oldest clients evict by it; nothing else of its version is left.
bool IsEviction(const GroupVersionKind& claimed, const GroupVersionKind& expected) {
  return expected == GroupVersionKind{"policy", "v1", "Eviction"} &&
         claimed == GroupVersionKind{"policy", "v1beta1", "Eviction"};
}

bool IsCustomKind(const Operation& op, const GroupVersionKind& kind) {
  const ResourceInfo* resource = op.catalog->FindKind(kind);
  return resource != nullptr && resource->custom;
}

std::string WithoutKind(std::string_view body) {
  return base::StrCat("Object 'Kind' is missing in '", body, "'");
}

// A custom resource is any object that has a kind and, once it is decoded, the version: of what kind
// it is its validation finds out.
base::Status CheckCustomKind(const GroupVersionKind& expected, json::Value object,
                             std::string_view body, FieldValidation validation) {
  if (!object["kind"].AsString().empty()) return base::OkStatus();
  if (validation == FieldValidation::kIgnore) {
    return CannotBeHandled(expected.kind, expected.version, expected, WithoutKind(body));
  }
  return Unrecognized(expected, WithoutKind(body), body);
}

// The same of CBOR, whose decoder asks for both at once and quotes it in diagnostic notation.
base::Status CheckCustomCbor(const GroupVersionKind& expected, json::Value object,
                             std::string_view body) {
  const std::string_view kind = object["kind"].AsString();
  if (kind.empty()) return Unrecognized(expected, WithoutKind(cbor::Diagnose(body)), body);
  if (!object["apiVersion"].AsString().empty()) return base::OkStatus();
  return CannotBeHandled(
      kind, "", expected,
      base::StrCat("Object 'apiVersion' is missing in '", cbor::Diagnose(body), "'"));
}

base::Status CheckCustomVersion(const GroupVersionKind& expected, json::Value object) {
  const api::GroupVersion version = TRY(api::ParseGroupVersion(object["apiVersion"].AsString()));
  if (version == expected.group_version()) return base::OkStatus();
  return OtherVersion({version.group, version.version, expected.kind}, expected);
}

// Custom resources are pruned by the schema of the version that they claim, which is `own` for that
// of the endpoint; null if they are not pruned at all.
const api::schema::Schema* ClaimedSchema(const Operation& op, const GroupVersionKind& kind,
                                         json::Value object, const api::schema::Schema* own) {
  // The schema of a version that does not exist has no fields.
  static const api::schema::Schema kUnknown = [] {
    api::schema::Schema schema;
    schema.kind = api::schema::Kind::kStruct;
    return schema;
  }();
  const auto version = api::ParseGroupVersion(object["apiVersion"].AsString());
  if (!version.ok() || version->group != kind.group) return nullptr;
  if (version->version == kind.version) return own;
  const ResourceInfo* other = op.catalog->FindKind({kind.group, version->version, kind.kind});
  return other != nullptr ? other->schema : &kUnknown;
}

// The kind that the body names; parts that it lacks are those of `expected`.
base::Result<GroupVersionKind> ClaimedKind(const GroupVersionKind& expected, const TypeMeta& meta) {
  GroupVersionKind claimed = expected;
  if (!meta.api_version.empty()) {
    const auto version = TRY(api::ParseGroupVersion(meta.api_version));
    claimed.group = version.group;
    claimed.version = version.version;
  }
  if (!meta.kind.empty()) claimed.kind = std::string(meta.kind);
  return claimed;
}

// Checks that a body of a built-in kind claims to be what can become the kind.
base::Status CheckKind(const Operation& op, const GroupVersionKind& expected,
                       const GroupVersionKind& claimed) {
  if (claimed == expected || IsEviction(claimed, expected)) return base::OkStatus();
  if (!IsRegistered(op, claimed, expected)) {
    return CannotBeHandled(claimed.kind, claimed.version, expected, NoKind(claimed, expected));
  }
  if (claimed.kind != expected.kind ||
      !api::IsConvertible(KnownVersion(*op.catalog, claimed), expected)) {
    return CannotBeHandled(claimed.kind, claimed.version, expected,
                           NoConversion(op, claimed, expected));
  }
  return base::OkStatus();
}

}  // namespace

base::Result<GroupVersionKind> ReadableKind(const Operation& op, const GroupVersionKind& expected,
                                            json::Value object) {
  GroupVersionKind claimed = expected;
  if (const auto text = object["apiVersion"].AsString(); !text.empty()) {
    const auto version = TRY(api::ParseGroupVersion(text));
    claimed.group = version.group;
    claimed.version = version.version;
  } else if (!IsCustomScale(op, expected)) {
    // What it is read into, which says what it is taken for, is of the internal version.
    claimed.version = kInternal;
  }
  if (const auto text = object["kind"].AsString(); !text.empty()) claimed.kind = text;
  if (claimed == expected) return claimed;
  if (IsCustomScale(op, expected)) return OtherScale(claimed);
  if (!IsRegistered(op, claimed, expected)) return base::BadRequest(NoKind(claimed, expected));
  const GroupVersionKind known = KnownVersion(*op.catalog, claimed);
  if (claimed.kind == expected.kind && api::IsConvertible(known, expected)) {
    // Types that are not known here are those of the expected version.
    return api::catalog::FindReadable(*op.catalog, known) != nullptr ? claimed : expected;
  }
  return base::BadRequest(NoConversion(op, claimed, expected));
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

namespace {

// What strict decoding says, as an error or as warnings.
base::Status ReportStrict(Operation& op, FieldValidation validation, std::vector<std::string> texts,
                          std::string_view yaml_error) {
  if (validation == FieldValidation::kIgnore) return base::OkStatus();
  if (validation == FieldValidation::kStrict) {
    if (!yaml_error.empty()) texts.insert(texts.begin(), std::string(yaml_error));
    if (texts.empty()) return base::OkStatus();
    return base::BadRequest(base::StrCat("strict decoding error: ", base::Join(texts, ", ")));
  }
  WarnOfYaml(op, yaml_error);
  for (std::string& warning : texts) op.recorder.Warn(std::move(warning));
  return base::OkStatus();
}

// Its validation looks at how it was sent.
bool IsOldDefinition(const GroupVersionKind& kind) {
  return kind == GroupVersionKind{"apiextensions.k8s.io", "v1beta1", "CustomResourceDefinition"};
}

// An object of the internal version, as one of `known`. Go's types have no names for JSON there, so that
// fields go by those of Go, and those of the metadata stand beside them: only the latter are read.
base::Result<json::Value> FromInternal(Operation& op, const GroupVersionKind& known,
                                       json::Value object, std::vector<std::string>& unknown) {
  const api::schema::Schema& schema = *api::catalog::FindReadable(*op.catalog, known);
  json::ObjectBuilder metadata(op.arena);
  for (const json::Member& member : object.members()) {
    const std::string_view name = member.name();
    if (name == "kind" || name == "apiVersion") continue;
    if (op.catalog->object_meta()->FindField(name) != nullptr) {
      metadata.Set(name, member.value);
      continue;
    }
    const bool is_known = std::any_of(schema.fields.begin(), schema.fields.end(),
                                      [&](const api::schema::Field& field) {
                                        return field.go_name() == name && field.name != "metadata";
                                      });
    if (!is_known) unknown.emplace_back(name);
  }
  const json::Value alone = json::MakeObject(op.arena, {{"metadata", metadata.Build()}});
  return WithTypeMeta(op.arena, TRY(api::schema::Decode(op.arena, schema, alone)), known);
}

// An object on its way to Go's form.
struct Content {
  json::Value object;
  SentText text;
  // The schema by which it has been decoded already, and what it holds; null: it has not been.
  const api::schema::Schema* decoded_by = nullptr;
  api::schema::Decoded met;
};

base::Result<json::Value> InGoForm(Operation& op, const GroupVersionKind& kind,
                                   const Content& content, FieldValidation validation,
                                   const std::vector<std::string>& strict_errors) {
  json::Value object = content.object;
  const SentText& text = content.text;
  std::vector<std::string> unknown;
  if (kind.version == kInternal && !IsCustomKind(op, kind)) {
    object = TRY(FromInternal(op, KnownVersion(*op.catalog, kind), object, unknown));
    std::vector<std::string> texts = strict_errors;
    for (std::string& warning : api::schema::DecodingWarnings({}, unknown)) {
      texts.push_back(std::move(warning));
    }
    TRY(ReportStrict(op, validation, std::move(texts), text.yaml_error));
    return object;
  }
  std::vector<std::string>* unknown_or_null =
      validation == FieldValidation::kIgnore ? nullptr : &unknown;
  bool custom = false;
  const api::schema::Schema* schema = SchemaOf(*op.catalog, kind, custom);
  if (custom && object["kind"].AsString() != kind.kind) return object;
  if (custom) {
    // Metadata are read without a version, too.
    const api::schema::Schema* claimed = ClaimedSchema(op, kind, object, schema);
    if (claimed != nullptr) schema = claimed;
    if (schema != nullptr) TRY(api::schema::CheckMetadata(op.arena, *schema, object));
    schema = claimed;
  }
  const json::Value managers = object["metadata"]["managedFields"];
  if (kind == op.resource->kind || IsOldDefinition(kind)) {
    op.sent = custom ? json::Value() : object;
  }
  if (schema != nullptr && custom) {
    object = api::schema::Prune(op.arena, *schema, object, true, unknown_or_null);
  } else if (schema != nullptr) {
    api::schema::DecodeOptions options;
    options.unknown_fields = unknown_or_null;
    api::schema::Decoded met = content.met;
    options.met = &met;
    if (schema != content.decoded_by) {
      object = TRY(api::schema::Decode(op.arena, *schema, object, options));
    }
    const bool known = !met.empty_lists && !met.any && kind == op.resource->kind;
    op.canonical = known ? object : json::Value();
    if (!text.json.empty() && met.any && api::schema::HoldsRawTexts(*schema, object)) {
      object = api::schema::WithRawTexts(op.arena, *schema, object, text.json);
    }
  }
  // A list without entries means that all managers go; no list, that they stay. The metadata of a
  // custom resource loses an empty list before.
  const bool changes = op.verb == Verb::kUpdate || op.verb == Verb::kPatch;
  const bool clears = changes && !custom && managers.is_array() && managers.empty();
  if (clears && kind == op.resource->kind) {
    object = json::SetPath(op.arena, object, {"metadata", "managedFields"}, managers);
  }
  if (validation == FieldValidation::kIgnore) return object;
  std::vector<std::string> texts = strict_errors;
  for (std::string& warning :
       custom ? UnknownFields(unknown) : api::schema::DecodingWarnings({}, unknown)) {
    texts.push_back(std::move(warning));
  }
  TRY(ReportStrict(op, validation, std::move(texts), text.yaml_error));
  return object;
}

}  // namespace

base::Result<json::Value> Canonical(Operation& op, const GroupVersionKind& kind, json::Value object,
                                    FieldValidation validation,
                                    const std::vector<std::string>& strict_errors,
                                    const SentText& text) {
  return InGoForm(op, kind, {.object = object, .text = text}, validation, strict_errors);
}

base::Result<json::Value> WithoutDuplicates(Operation& op, const GroupVersionKind& kind,
                                            json::Value input,
                                            std::vector<std::string>& strict_errors) {
  bool custom = false;
  const api::schema::Schema* schema = SchemaOf(*op.catalog, kind, custom);
  if (schema != nullptr && !custom) {
    return api::schema::MergeDuplicates(op.arena, *schema, input, &strict_errors);
  }
  std::vector<std::string> paths;
  json::DuplicatePaths(input, paths);
  strict_errors = api::schema::DecodingWarnings(paths, {});
  return json::LastOfDuplicates(op.arena, input);
}

namespace {

// CBOR of a built-in kind, without the fields that the kind does not have: the first of them is
// reported by its place.
base::Result<json::Value> FitCbor(Operation& op, const GroupVersionKind& kind, json::Value object,
                                  std::vector<std::string>& strict_errors) {
  bool custom = false;
  const api::schema::Schema* schema = SchemaOf(*op.catalog, kind, custom);
  if (schema == nullptr) return object;
  const CborFaults faults = CheckCborTypes(*schema, object);
  if (!faults.type_error.empty()) return base::BadRequest(faults.type_error);
  if (!faults.unknown_field) return object;
  strict_errors.push_back(base::StrCat("cbor: found unknown field at map element index ",
                                       std::to_string(*faults.unknown_field)));
  return api::schema::Decode(op.arena, *schema, object);
}

// A body whose kind has been checked, by the kind's types. Errors are without the text around them.
base::Result<json::Value> DecodeContent(Operation& op, const GroupVersionKind& kind,
                                        std::string_view bytes, MediaType type, const Body& body,
                                        FieldValidation validation) {
  if (!body.message_error.empty()) return base::BadRequest(body.message_error);
  std::vector<std::string> strict_errors;
  json::Value object = body.value;
  if (body.repeats_keys) object = TRY(WithoutDuplicates(op, kind, object, strict_errors));
  if (!object.is_object()) object = json::MakeObject(op.arena, {});
  const bool custom = IsCustomKind(op, kind);
  if (type == MediaType::kCbor) {
    // Unknown fields of custom resources are not reported.
    if (custom) validation = FieldValidation::kIgnore;
    if (!custom) object = TRY(FitCbor(op, kind, object, strict_errors));
  }
  if (!custom) object = WithTypeMeta(op.arena, object, kind);
  std::string yaml_error;
  if (type == MediaType::kYaml) yaml_error = StrictYamlError(op.arena, bytes);
  Content content{object, {.yaml_error = yaml_error}, body.decoded_by, body.met};
  if (type == MediaType::kJson && body.value.source().empty()) content.text.json = bytes;
  object = TRY(InGoForm(op, kind, content, validation, strict_errors));
  if (!body.range_error.empty() && json::HasInfinity(object))
    return base::BadRequest(body.range_error);
  return api::ThroughInternal(op.arena, object, kind);
}

// For objects that no schema is applied to.
base::Status ReportDuplicates(Operation& op, const Body& body, FieldValidation validation) {
  if (!body.repeats_keys || validation == FieldValidation::kIgnore) return base::OkStatus();
  std::vector<std::string> paths;
  json::DuplicatePaths(body.value, paths);
  if (validation == FieldValidation::kStrict) {
    return base::BadRequest(api::schema::StrictDecodingError(paths, {}));
  }
  for (std::string& text : api::schema::DecodingWarnings(paths, {})) {
    op.recorder.Warn(std::move(text));
  }
  return base::OkStatus();
}

base::Result<json::Value> DecodeKind(Operation& op, const GroupVersionKind& kind,
                                     std::string_view bytes, MediaType type,
                                     FieldValidation validation) {
  const auto body = ReadBody(op.arena, *op.catalog, bytes, type, kind);
  if (!body.ok()) return Unrecognized(kind, body.status().message(), bytes);
  if (type == MediaType::kCbor && IsCustomKind(op, kind) && body->message_error.empty()) {
    TRY(CheckCustomCbor(kind, body->value, bytes));
  }
  const auto meta = ReadTypeMeta(body->value);
  if (!meta.ok()) return Unrecognized(kind, meta.status().message(), bytes);
  const auto claimed = ClaimedKind(kind, *meta);
  if (!claimed.ok()) return Unrecognized(kind, claimed.status().message(), bytes);
  const auto failed = [&](std::string_view error) {
    return CannotBeHandled(claimed->kind, claimed->version, kind, error);
  };
  if (IsCustomKind(op, kind)) {
    if (!body->range_error.empty()) return failed(body->range_error);
    if (!body->message_error.empty()) return failed(body->message_error);
    const json::Value object = Untyped(op.arena, *body);
    TRY(CheckCustomKind(kind, object, bytes, validation));
    if (object["kind"].AsString() != kind.kind) {
      const base::Status status = ReportDuplicates(op, *body, validation);
      if (!status.ok()) return failed(status.message());
      TRY(CheckCustomVersion(kind, object));
      return object;
    }
  } else {
    const base::Status checked = CheckKind(op, kind, *claimed);
    if (*claimed != kind && !IsEviction(*claimed, kind)) {
      // What is wrong with it as what it is comes first; if it cannot become the kind, not unknown fields.
      const GroupVersionKind typed = TypedAs(*claimed, kind);
      const bool is_known =
          IsRegistered(op, *claimed, kind) &&
          api::catalog::FindReadable(*op.catalog, KnownVersion(*op.catalog, typed)) != nullptr;
      if (is_known) {
        const auto own = DecodeContent(op, typed, bytes, type, *body,
                                       checked.ok() ? validation : FieldValidation::kIgnore);
        if (!own.ok()) return failed(own.status().message());
      }
      TRY(checked);
      return OtherVersion(*claimed, kind);
    }
  }
  const auto object = DecodeContent(op, kind, bytes, type, *body, validation);
  if (!object.ok()) return failed(object.status().message());
  if (IsCustomKind(op, kind)) TRY(CheckCustomVersion(kind, *object));
  const json::Value decoded = WithTypeMeta(op.arena, *object, kind);
  admission::Trace* const trace = op.recorder.trace();
  if (trace != nullptr) trace->Decoded(decoded);
  const json::Value defaulted = TRY(ApplyDefaults(op.world, *op.catalog, op.arena, kind, decoded));
  if (trace != nullptr) trace->Stage("decode", "defaulting", defaulted);
  return defaulted;
}

}  // namespace

base::Result<json::Value> DecodeBody(Operation& op, const GroupVersionKind& kind,
                                     std::string_view bytes, MediaType type,
                                     FieldValidation validation) {
  auto decoded = DecodeKind(op, kind, bytes, type, validation);
  // Whatever is wrong: Kubernetes fails to name the type that it expects.
  if (!decoded.ok() && IsCustomScale(op, kind)) {
    return base::BadRequest(
        "no kind is registered for the type v1.Scale in scheme "
        "\"k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go:781\"");
  }
  return decoded;
}

base::Result<json::Value> DecodeInput(Operation& op, const Input& input) {
  json::Value object =
      TRY(DecodeBody(op, op.kind(), input.body, input.type, input.options.validation));
  if (IsCustom(op)) object = json::Sorted(op.arena, object);
  op.request_object = object;
  return object;
}

}  // namespace portcullis::engine
