// SPDX-License-Identifier: Apache-2.0

#include "engine/write/patching.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <span>

#include "admission/trace/trace.h"
#include "api/api_status.h"
#include "api/conversion/conversion.h"
#include "api/patch/field_set.h"
#include "api/patch/go_value.h"
#include "api/patch/managed_fields.h"
#include "api/patch/strategic_merge.h"
#include "api/schema/decode.h"
#include "api/schema/from_unstructured.h"
#include "base/strings.h"
#include "cbor/reader.h"
#include "engine/codec/body.h"
#include "engine/codec/codec.h"
#include "engine/write/system_fields.h"
#include "engine/write/versions.h"
#include "json/duplicates.h"
#include "json/edit.h"
#include "json/go_errors.h"
#include "json/merge_patch.h"
#include "json/patch.h"
#include "json/reader.h"
#include "json/sorted.h"
#include "json/writer.h"
#include "json/yaml.h"

namespace portcullis::engine {
namespace {

constexpr std::size_t kMaxOperations = 10000;

// The Go server prints the whole patched document where it does not fit the type.
base::Status PatchedInvalid(std::string_view shown, const base::Status& error) {
  const api::FieldErrors errors = {api::Invalid(api::FieldPath("patch"), shown, error.message())};
  return api::InvalidStatus({}, "", errors);
}

// The patched object, and how errors quote it if it does not fit its type.
struct Patched {
  json::Value object;
  bool repeats_keys = false;               // it has all members of repeated keys
  std::vector<std::string> strict_errors;  // of the patch itself
  std::string range_error;                 // of a number in the patch that no float64 holds
  json::Value merged;                      // the merge patch, if it was one
  bool by_operations = false;              // of a JSON patch
  std::optional<json::Value> strategic;    // the strategic merge patch, which is what is quoted
};

// Members are in order where a merge patch has looked into an object: Go's maps have no other one.
json::Value InOrderWhereMerged(json::Arena& arena, json::Value value, json::Value patch) {
  if (value.is_array() && patch.is_array()) {
    std::vector<json::Value> elements;
    for (const json::Value& element : value.elements()) {
      elements.push_back(InOrderWhereMerged(arena, element, element));
    }
    return json::MakeArray(arena, elements);
  }
  if (!value.is_object() || !patch.is_object()) return value;
  std::vector<json::Member> members(value.members().begin(), value.members().end());
  for (json::Member& member : members) {
    const json::Value* change = patch.Find(member.name(), member.hash);
    if (change != nullptr) member.value = InOrderWhereMerged(arena, member.value, *change);
  }
  std::sort(members.begin(), members.end(), json::HasLowerName);
  return json::MakeObject(arena, members);
}

// A merge patch without the lists that come in the place of maps: nothing looks into those.
json::Value LookedInto(json::Arena& arena, json::Value live, json::Value patch) {
  return json::EditMembers(arena, patch, [&](const json::Member& change) {
    const json::Value* old = live.Find(change.name(), change.hash);
    if (old == nullptr || !old->is_object()) return change.value;
    return change.value.is_array() ? json::Value() : LookedInto(arena, *old, change.value);
  });
}

// Numbers that a patch brought are quoted as they were written: infinity is what is printed so.
json::Value AsQuoted(json::Arena& arena, json::Value value) {
  if (value.is_double() && !value.NumberLiteral().empty()) {
    return json::NumberFromLiteral(arena, HUGE_VAL, value.NumberLiteral());
  }
  if (value.is_array()) {
    return json::EditElements(arena, value,
                              [&](const json::Value& element) { return AsQuoted(arena, element); });
  }
  if (!value.is_object()) return value;
  std::vector<json::Member> members(value.members().begin(), value.members().end());
  for (json::Member& member : members) member.value = AsQuoted(arena, member.value);
  return json::MakeObject(arena, members);
}

// A client that patches without looking cannot be told apart from one that means it.
base::Status Rejected() {
  return base::Status(base::Reason::kInvalid,
                      "the server rejected our request due to an error in our request",
                      base::StatusDetails{});
}

// A patched object as Kubernetes quotes it: custom resources are maps all through, but for what a text brought.
std::string TextOf(Operation& op, const Patched& patched, bool custom) {
  json::WriteOptions plain;
  plain.splice_source = false;
  plain.sort_keys = custom && !patched.by_operations && patched.merged.is_null();
  if (!patched.object.is_object()) return json::ToString(patched.object, plain);
  const std::span<const json::Member> unsorted = patched.object.members();
  std::vector<json::Member> members(unsorted.begin(), unsorted.end());
  std::stable_sort(members.begin(), members.end(), json::HasLowerName);
  const json::Value sorted = json::MakeObject(op.arena, members);
  json::Value quoted = InOrderWhereMerged(op.arena, sorted, patched.merged);
  if (!custom) quoted = AsQuoted(op.arena, quoted);
  return json::ToString(quoted, plain);
}

// Whether the patched object names a version, and as a custom resource a kind. `is_text`: it is decoded from JSON.
base::Status CheckNamed(Operation& op, const Patched& patched, bool custom, bool is_text) {
  if (is_text) {
    const auto meta = ReadTypeMeta(patched.object);
    if (!meta.ok()) return meta.status();
    const auto version = api::ParseGroupVersion(meta->api_version);
    if (!version.ok()) return version.status();
  }
  if (!custom || !patched.object["kind"].AsString().empty()) return base::OkStatus();
  return base::BadRequest(
      base::StrCat("Object 'Kind' is missing in '", TextOf(op, patched, custom), "'"));
}

// The object with the defaults of the kind that it was read as, in the version of the endpoint.
base::Result<json::Value> DefaultPatched(Operation& op, const api::GroupVersionKind& kind,
                                         const api::GroupVersionKind& endpoint,
                                         json::Value object) {
  admission::Trace* const trace = op.recorder.trace();
  if (trace != nullptr) trace->Stage("decode", "client", object);
  const json::Value defaulted = TRY(ApplyDefaults(op.world, *op.catalog, op.arena, kind, object));
  if (trace != nullptr) trace->Stage("decode", "defaulting", defaulted);
  if (kind == endpoint) return defaulted;
  const json::Value converted = TRY(api::Convert(op.arena, defaulted, endpoint));
  return Recanonicalize(*op.catalog, op.arena, endpoint, converted);
}

base::Result<json::Value> FinishPatch(Operation& op, const PatchTarget& target,
                                      FieldValidation validation, Patched patched) {
  const bool custom = op.resource->custom && target.kind == op.resource->kind;
  const auto does_not_fit = [&](const base::Status& why) {
    return PatchedInvalid(patched.strategic ? api::patch::GoValueText(*patched.strategic)
                                            : TextOf(op, patched, custom),
                          why);
  };
  json::Value object = patched.object;
  api::GroupVersionKind kind = target.kind;  // in whose types it is read
  const bool is_text = patched.by_operations || !patched.merged.is_null();
  const base::Status named = CheckNamed(op, patched, custom, is_text);
  if (!named.ok()) return does_not_fit(named);
  if (!custom || patched.repeats_keys) {
    // Raw extensions keep the order in which they are decoded, and fields that are unknown or there twice are
    // reported in it.
    object = InOrderWhereMerged(op.arena, object, patched.merged);
  }
  if (patched.repeats_keys) {
    // Values of the patch that no operation has looked into are decoded as they stand there.
    std::vector<std::string> repeated;
    const auto merged = WithoutDuplicates(op, target.kind, object, repeated);
    if (!merged.ok()) return does_not_fit(merged.status());
    object = *merged;
    patched.strict_errors.insert(patched.strict_errors.end(), repeated.begin(), repeated.end());
  }
  if (!custom) {
    // A strategic merge used the Go type: its result keeps that type, whatever kind it names.
    if (!patched.strategic) {
      const auto readable = ReadableKind(op, target.kind, object);
      if (!readable.ok()) return does_not_fit(readable.status());
      kind = *readable;
    }
    if (patched.strategic) {
      // A strategic merge yields a map, which Go converts without JSON.
      std::vector<std::string> unknown;
      const auto converted = api::schema::FromUnstructured(
          op.arena, *target.schema, object,
          validation == FieldValidation::kIgnore ? nullptr : &unknown);
      if (!converted.ok()) return does_not_fit(converted.status());
      object = *converted;
      for (std::string& text : UnknownFields(unknown)) {
        patched.strict_errors.push_back(std::move(text));
      }
    }
    object = json::With(op.arena, object, "kind", json::String(op.arena, kind.kind));
    object = json::With(op.arena, object, "apiVersion", json::String(op.arena, ApiVersion(kind)));
  }
  // All of it is decoded: an object that another version has stored may have fields that this one does not know.
  auto canonical = Canonical(op, kind, object, validation, patched.strict_errors);
  if (!canonical.ok()) return does_not_fit(canonical.status());
  if (custom && !is_text) {
    // An apply to a custom resource merges what is not decoded: its nulls stay for the validation to see.
    canonical = json::With(op.arena, object, "metadata", (*canonical)["metadata"]);
  }
  if (!patched.range_error.empty() && json::HasInfinity(*canonical)) {
    return does_not_fit(base::BadRequest(patched.range_error));
  }
  const auto internal = api::ThroughInternal(op.arena, *canonical, kind);
  if (!internal.ok()) {
    // Texts are decoded as bodies are; what was merged as a map is converted.
    return is_text ? does_not_fit(internal.status())
                   : base::Status(base::Reason::kUnknown, internal.status().message());
  }
  return DefaultPatched(op, kind, target.kind, *internal);
}

// The value of an operation is read into a Go value; what no field takes is not looked at.
base::Status CheckNumbers(json::Value value) {
  if (value.is_double() && std::isinf(value.AsDouble())) {
    return base::BadRequest(
        base::StrCat("error decoding patch: json: cannot unmarshal number ", value.NumberLiteral(),
                     " into Go struct field jsonPatchOp.value of type float64"));
  }
  for (const json::Value& element : value.elements()) TRY(CheckNumbers(element));
  for (const json::Member& member : value.members()) TRY(CheckNumbers(member.value));
  return base::OkStatus();
}

// What strict decoding of one operation reports, in the order of its members.
base::Status CheckOperation(json::Value operation, const std::string& place,
                            std::vector<std::string>& strict_errors) {
  std::set<std::string> reported;
  const auto report = [&](std::string_view what, std::string_view path) {
    std::string text = base::StrCat("json patch ", what, " field \"", place, path, "\"");
    if (reported.insert(text).second) strict_errors.push_back(std::move(text));
  };
  std::set<std::string_view> seen;
  for (const json::Member& member : operation.members()) {
    const std::string path = base::StrCat(".", member.name());
    const bool is_value = member.name() == "value";
    if (!is_value && path != ".op" && path != ".path" && path != ".from") {
      report("unknown", path);
      continue;
    }
    if (!seen.insert(member.name()).second) report("duplicate", path);
    if (is_value) {
      TRY(CheckNumbers(member.value));
      std::vector<std::string> repeated;
      json::DuplicatePaths(member.value, repeated);
      for (const std::string& inner : repeated) {
        report("duplicate", base::StrCat(path, inner.starts_with('[') ? "" : ".", inner));
      }
    } else if (!member.value.is_string() && !member.value.is_null()) {
      return base::BadRequest(base::StrCat(
          "error decoding patch: json: cannot unmarshal ", json::GoTypeName(member.value),
          " into Go struct field jsonPatchOp", path, " of type string"));
    }
  }
  return base::OkStatus();
}

// Whether an operation has the members op, path, from and value at most, each once.
bool IsPlain(json::Value operation) {
  const auto members = operation.members();
  return std::all_of(members.begin(), members.end(), [](const json::Member& member) {
    const std::string_view name = member.name();
    if (name == "value") return true;
    return member.value.is_string() && (name == "op" || name == "path" || name == "from");
  });
}

// Only done when fields are validated, as in Kubernetes.
base::Status CheckOperations(json::Value patch, bool repeats_keys,
                             std::vector<std::string>& strict_errors) {
  std::size_t index = 0;
  for (const json::Value& operation : patch.elements()) {
    const std::string place = base::StrCat("[", std::to_string(index++), "]");
    if (!repeats_keys && IsPlain(operation)) continue;
    TRY(CheckOperation(operation, place, strict_errors));
  }
  if (strict_errors.size() > json::kMaxStrictErrors) strict_errors.resize(json::kMaxStrictErrors);
  return base::OkStatus();
}

base::Result<Transform> MakeJsonPatch(Operation& op, const PatchTarget& target,
                                      const Input& input) {
  const FieldValidation validation = input.options.validation;
  json::PatchOptions options;
  std::string range_error;
  // Without validation Kubernetes leaves reading to the library that applies the patch.
  const bool validated = validation != FieldValidation::kIgnore;
  auto decoded = json::DecodePatch(op.arena, input.body,
                                   validated ? "[]handlers.jsonPatchOp" : "jsonpatch.Patch",
                                   {&options.repeats_keys, &range_error, &options.spelled});
  if (!decoded.ok()) {
    return base::BadRequest(
        base::StrCat(validated ? "error decoding patch: " : "", decoded.status().message()));
  }
  const json::Value patch = *decoded;
  std::vector<std::string> strict_errors;
  if (validated) {
    TRY(CheckOperations(patch, options.repeats_keys || !range_error.empty(), strict_errors));
  }
  if (patch.size() > kMaxOperations) {
    return api::RequestEntityTooLargeStatus(
        base::StrCat("The allowed maximum operations in a JSON patch is ",
                     std::to_string(kMaxOperations), ", got ", std::to_string(patch.size())));
  }
  return Transform([&op, target, validation, patch, options, strict_errors,
                    range_error](json::Value live) -> base::Result<json::Value> {
    auto patched = json::ApplyPatch(op.arena, live, patch, options);
    if (!patched.ok()) return Rejected();
    return FinishPatch(op, target, validation,
                       {.object = *patched,
                        .repeats_keys = options.repeats_keys,
                        .strict_errors = strict_errors,
                        .range_error = range_error,
                        .by_operations = true});
  });
}

// Why a patch that should be a map cannot be read, or "".
std::string NoMap(json::Value patch) {
  if (patch.is_object() || patch.is_null()) return "";
  constexpr std::string_view kNames[] = {"null",   "bool",  "number", "number",
                                         "string", "array", "object"};
  return base::StrCat("json: cannot unmarshal ", kNames[static_cast<std::size_t>(patch.type())],
                      " into Go value of type map[string]interface {}");
}

base::Result<Transform> MakeMergePatch(Operation& op, const PatchTarget& target,
                                       const Input& input) {
  const FieldValidation validation = input.options.validation;
  std::vector<std::string> duplicates;
  json::ParseOptions options;
  options.duplicate_keys = &duplicates;
  std::string range_error;
  // Without validation Kubernetes merges texts: a number is read where it has come to.
  if (validation == FieldValidation::kIgnore) options.range_error = &range_error;
  auto parsed = json::Parse(op.arena, input.body, options);
  if (!parsed.ok()) {
    return base::BadRequest(base::StrCat("error decoding patch: ", parsed.status().message()));
  }
  if (const std::string wrong = NoMap(*parsed); !wrong.empty()) {
    return base::BadRequest(base::StrCat("error decoding patch: ", wrong));
  }
  const json::Value patch = *parsed;
  const std::vector<std::string> strict_errors = api::schema::DecodingWarnings(duplicates, {});
  return Transform([&op, target, validation, patch, strict_errors,
                    range_error](json::Value live) -> base::Result<json::Value> {
    auto patched = json::MergePatch(op.arena, live, patch);
    if (!patched.ok()) return base::BadRequest(patched.status().message());
    return FinishPatch(op, target, validation,
                       {.object = *patched,
                        .strict_errors = strict_errors,
                        .range_error = range_error,
                        .merged = LookedInto(op.arena, live, patch)});
  });
}

base::Result<Transform> MakeStrategicPatch(Operation& op, const PatchTarget& target,
                                           const Input& input) {
  const FieldValidation validation = input.options.validation;
  std::vector<std::string> duplicates;
  json::ParseOptions options;
  options.duplicate_keys = &duplicates;
  auto parsed = json::Parse(op.arena, input.body, options);
  if (!parsed.ok()) return base::BadRequest(parsed.status().message());
  if (std::string wrong = NoMap(*parsed); !wrong.empty()) return base::BadRequest(std::move(wrong));
  const json::Value patch = *parsed;
  const std::vector<std::string> strict_errors = api::schema::DecodingWarnings(duplicates, {});
  return Transform([&op, target, validation, patch,
                    strict_errors](json::Value live) -> base::Result<json::Value> {
    const api::patch::StrategicMerged merged =
        TRY(api::patch::StrategicMerge(op.arena, *target.schema, live, patch));
    return FinishPatch(
        op, target, validation,
        {.object = merged.object, .strict_errors = strict_errors, .strategic = merged.patch});
  });
}

// An applied configuration must have the kind and the version of the endpoint.
base::Status CheckAppliedKind(const PatchTarget& target, json::Value config) {
  api::GroupVersionKind kind;
  if (const auto version = api::ParseGroupVersion(config["apiVersion"].AsString()); version.ok()) {
    kind = {version->group, version->version, std::string(config["kind"].AsString())};
  }
  if (kind == target.kind) return base::OkStatus();
  return base::BadRequest(base::StrCat("invalid object type: ", kind.ToString()));
}

// The result of an apply does not fit into the Go type: Kubernetes has no kind of error for that.
base::Status NotConverted(const PatchTarget& target, json::Value config, std::string_view why) {
  const std::string_view version = config["apiVersion"].AsString();
  const std::string kind = base::StrCat(version.find('/') == std::string_view::npos ? "/" : "",
                                        version, ", Kind=", target.kind.kind);
  return {base::Reason::kUnknown,
          base::StrCat("failed to convert new object (", config["metadata"]["namespace"].AsString(),
                       "/", config["metadata"]["name"].AsString(), "; ", kind,
                       ") to proper version: ", why)};
}

base::Status NotRestored(const PatchTarget& target, json::Value config, const base::Status& why) {
  const std::string_view version = config["apiVersion"].AsString();
  return NotConverted(target, config,
                      base::StrCat("unable to convert unstructured object to ",
                                   version.find('/') == std::string_view::npos ? "/" : "", version,
                                   ", Kind=", target.kind.kind, ": ", why.message()));
}

// The scale of a custom resource cannot be applied: what converts its managers knows no Scale.
constexpr std::string_view kNoScale =
    "request to convert CR to an invalid group/version: autoscaling/v1";

base::Status CheckScaleManagers(json::Value live) {
  if (!live["metadata"]["managedFields"].empty()) return base::OkStatus();
  return {
      base::Reason::kUnknown,
      base::StrCat("failed to create manager for existing fields: failed to convert live object "
                   "(/; autoscaling/v1, Kind=Scale) to proper version: ",
                   kNoScale)};
}

base::Result<json::Value> AppliedCbor(Operation& op, std::string_view body) {
  const auto parsed = cbor::Parse(op.arena, body);
  std::string wrong(parsed.status().message());
  if (parsed.ok() && !parsed->is_object() && !parsed->is_null()) {
    wrong = base::StrCat("cbor: cannot unmarshal ", cbor::TypeName(*parsed),
                         " into Go value of type map[string]interface {}");
  }
  if (!wrong.empty()) return base::BadRequest(base::StrCat("error decoding YAML: ", wrong));
  return *parsed;
}

// `yaml_error` is what strict reading says, unless nothing is validated.
base::Result<json::Value> AppliedObject(Operation& op, const Input& input,
                                        std::string& yaml_error) {
  if (!input.applied.is_null()) return input.applied;
  if (input.type == MediaType::kCbor) return AppliedCbor(op, input.body);
  json::YamlOptions yaml;
  if (input.options.validation != FieldValidation::kIgnore) yaml.strict_error = &yaml_error;
  auto parsed = json::ParseYaml(op.arena, input.body, yaml);
  if (!parsed.ok()) {
    return base::BadRequest(base::StrCat("error decoding YAML: error converting YAML to JSON: ",
                                         parsed.status().message()));
  }
  if (const std::string wrong = NoMap(*parsed); !wrong.empty()) {
    return base::BadRequest(
        base::StrCat("error decoding YAML: error unmarshaling JSON: while decoding JSON: ", wrong));
  }
  return parsed;
}

// Then kube-apiserver goes on with the stored object itself: raw JSON in it stays as it was sent.
bool ChangesManagersAlone(json::Arena& arena, json::Value live, json::Value applied) {
  return live.is_object() && json::RemovePath(arena, live, {"metadata", "managedFields"}) ==
                                 json::RemovePath(arena, applied, {"metadata", "managedFields"});
}

base::Result<Transform> MakeApply(Operation& op, const PatchTarget& target, const Input& input) {
  const WriteOptions& options = input.options;
  std::string yaml_error;
  const json::Value config = TRY(AppliedObject(op, input, yaml_error));
  TRY(CheckAppliedKind(target, config));
  const bool strict = options.validation == FieldValidation::kStrict;
  const bool force = options.force.value_or(false);
  const std::string manager = options.field_manager;
  const bool is_custom_scale = op.resource->custom && target.kind != op.resource->kind;
  return Transform([&op, target, config, force, manager, yaml_error, strict,
                    is_custom_scale](json::Value live) -> base::Result<json::Value> {
    if (is_custom_scale) TRY(CheckScaleManagers(live));
    const FieldWriter by(op, manager, target.kind);
    const json::Value applied =
        TRY(api::patch::Apply(op.arena, *target.schema, live, config, by.writer(),
                              force ? api::patch::Force::kYes : api::patch::Force::kNo));
    if (strict && !yaml_error.empty()) {
      return base::BadRequest(
          base::StrCat("error strict decoding YAML: error converting YAML to JSON: ", yaml_error));
    }
    WarnOfYaml(op, yaml_error);
    if (is_custom_scale) return NotConverted(target, config, kNoScale);
    Patched patched{.object = applied};
    const json::Value given = config["metadata"]["managedFields"];
    if (!op.resource->custom &&
        (!given.is_null() || !ChangesManagersAlone(op.arena, live, applied))) {
      // With the managedFields of the configuration, which then give way to those of the server.
      json::Value whole = applied;
      if (!given.is_null()) {
        whole = json::SetPath(op.arena, whole, {"metadata", "managedFields"}, given);
      }
      const auto converted = api::schema::FromUnstructured(op.arena, *target.schema, whole);
      if (!converted.ok()) return NotRestored(target, config, converted.status());
      patched.object = *converted;
      if (!given.is_null()) {
        patched.object = json::SetPath(op.arena, *converted, {"metadata", "managedFields"},
                                       applied["metadata"]["managedFields"]);
      }
    }
    const json::Value made =
        TRY(FinishPatch(op, target, FieldValidation::kIgnore, std::move(patched)));
    const std::string_view uid = made["metadata"]["uid"].AsString();
    if (!live.is_null() || uid.empty()) return made;
    return api::ConflictStatus(op.group_resource(), op.name,
                               base::StrCat("uid mismatch: the provided object specified uid ", uid,
                                            ", and no existing object was found"));
  });
}

}  // namespace

PatchTarget PatchTargetOf(const Operation& op) {
  const api::catalog::ResourceInfo& resource = *op.resource;
  if (op.kind() == resource.kind) {
    return {resource.kind, resource.schema, !resource.custom && resource.schema != nullptr};
  }
  const api::schema::Schema* schema = op.catalog->FindSchema(op.kind());
  return {op.kind(), schema, !resource.custom && schema != nullptr};
}

namespace {

base::Result<Transform> ReadPatch(Operation& op, const Input& input, const PatchTarget& target) {
  switch (input.patch) {
    case PatchType::kJson:
      return MakeJsonPatch(op, target, input);
    case PatchType::kMerge:
      return MakeMergePatch(op, target, input);
    case PatchType::kStrategic:
      return MakeStrategicPatch(op, target, input);
    case PatchType::kApply:
      return MakeApply(op, target, input);
  }
  return base::InternalError("unknown patch type");
}

}  // namespace

Transform MakePatch(Operation& op, const Input& input, const PatchTarget& target) {
  return [&op, input, target,
          read = Transform()](json::Value live) mutable -> base::Result<json::Value> {
    if (!read) read = TRY(ReadPatch(op, input, target));
    return read(live);
  };
}

}  // namespace portcullis::engine
