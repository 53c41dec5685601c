#include "engine/write/patching.h"

#include <algorithm>

#include "admission/trace/trace.h"
#include "api/api_status.h"
#include "api/patch/field_set.h"
#include "api/patch/go_value.h"
#include "api/patch/managed_fields.h"
#include "api/patch/strategic_merge.h"
#include "base/strings.h"
#include "engine/codec/codec.h"
#include "engine/write/system_fields.h"
#include "engine/write/versions.h"
#include "json/merge_patch.h"
#include "json/patch.h"
#include "json/reader.h"
#include "json/writer.h"
#include "json/yaml.h"

namespace portcullis::engine {
namespace {

using Transform = std::function<base::Result<json::Value>(json::Value live)>;
constexpr std::size_t kMaxOperations = 10000;

// The Go server prints the whole patched document where it does not fit the type.
base::Status PatchedInvalid(std::string_view shown, const base::Status& error) {
  const api::FieldErrors errors = {api::Invalid(api::FieldPath("patch"), shown, error.message())};
  return api::InvalidStatus({}, "", errors);
}

json::Value SortedTop(json::Arena& arena, json::Value object) {
  std::vector<json::Member> members(object.members().begin(), object.members().end());
  std::sort(members.begin(), members.end(),
            [](const json::Member& a, const json::Member& b) { return a.name() < b.name(); });
  return json::MakeObject(arena, members);
}

// A client that patches without looking cannot be told apart from one that means it.
base::Status Rejected() {
  return base::Status(base::Reason::kInvalid,
                      "the server rejected our request due to an error in our request",
                      base::StatusDetails{});
}

base::Result<json::Value> Finish(Operation& op, const PatchTarget& target, json::Value patched,
                                 FieldValidation validation,
                                 const std::vector<std::string>& duplicates,
                                 const std::string* shown) {
  const json::Value original = patched;
  const auto as_text = [&] {
    json::WriteOptions plain;
    plain.splice_source = false;
    return json::ToString(SortedTop(op.arena, Ordered(op.arena, original)), plain);
  };
  if (op.resource->custom && target.kind == op.resource->kind &&
      patched["kind"].AsString().empty()) {
    const std::string text = as_text();
    return PatchedInvalid(
        text, base::BadRequest(base::StrCat("Object 'Kind' is missing in '", text, "'")));
  }
  const bool custom = op.resource->custom && target.kind == op.resource->kind;
  if (!custom) {
    // What was merged by its Go type stays of that type, whatever it says.
    if (shown == nullptr) {
      const base::Status fits = CheckConvertible(op, target.kind, patched);
      if (!fits.ok()) return PatchedInvalid(as_text(), fits);
    }
    patched = json::With(op.arena, patched, "kind", json::String(op.arena, target.kind.kind));
    patched = json::With(op.arena, patched, "apiVersion",
                         json::String(op.arena, ApiVersion(target.kind)));
  }
  auto canonical = Canonical(op, target.kind, patched, validation, duplicates);
  if (!canonical.ok()) {
    if (shown != nullptr) return PatchedInvalid(*shown, canonical.status());
    return PatchedInvalid(as_text(), canonical.status());
  }
  admission::Trace* const trace = op.recorder.trace();
  if (trace != nullptr) trace->Stage("decode", "client", *canonical);
  const json::Value defaulted =
      TRY(ApplyDefaults(op.world, *op.catalog, op.arena, target.kind, *canonical));
  if (trace != nullptr) trace->Stage("decode", "defaulting", defaulted);
  return defaulted;
}

base::Result<Transform> MakeJsonPatch(Operation& op, const PatchTarget& target,
                                      const Input& input) {
  const FieldValidation validation = input.options.validation;
  auto decoded = json::DecodePatch(op.arena, input.body, "[]handlers.jsonPatchOp");
  if (!decoded.ok()) {
    return base::BadRequest(base::StrCat("error decoding patch: ", decoded.status().message()));
  }
  if (decoded->size() > kMaxOperations) {
    return api::RequestEntityTooLargeStatus(
        base::StrCat("The allowed maximum operations in a JSON patch is ",
                     std::to_string(kMaxOperations), ", got ", std::to_string(decoded->size())));
  }
  const json::Value patch = *decoded;
  return Transform([&op, target, validation, patch](json::Value live) -> base::Result<json::Value> {
    auto patched = json::ApplyPatch(op.arena, live, patch);
    if (!patched.ok()) return Rejected();
    return Finish(op, target, *patched, validation, {}, nullptr);
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
  auto parsed = json::Parse(op.arena, input.body, options);
  if (!parsed.ok()) {
    return base::BadRequest(base::StrCat("error decoding patch: ", parsed.status().message()));
  }
  if (const std::string wrong = NoMap(*parsed); !wrong.empty()) {
    return base::BadRequest(base::StrCat("error decoding patch: ", wrong));
  }
  const json::Value patch = *parsed;
  return Transform(
      [&op, target, validation, patch, duplicates](json::Value live) -> base::Result<json::Value> {
        auto patched = json::MergePatch(op.arena, live, patch);
        if (!patched.ok()) return base::BadRequest(patched.status().message());
        return Finish(op, target, *patched, validation, duplicates, nullptr);
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
  return Transform(
      [&op, target, validation, patch, duplicates](json::Value live) -> base::Result<json::Value> {
        const json::Value patched =
            TRY(api::patch::StrategicMerge(op.arena, *target.schema, live, patch));
        const std::string shown = api::patch::GoValueText(patch);
        return Finish(op, target, patched, validation, duplicates, &shown);
      });
}

// Only what has a schema can be applied.
base::Status CheckAppliedKind(const Operation& op, const PatchTarget& target, json::Value config) {
  api::GroupVersionKind kind = target.kind;
  kind.kind = config["kind"].AsString();
  if (kind == target.kind || op.catalog->FindSchema(kind) != nullptr) return base::OkStatus();
  const json::Value metadata = config["metadata"];
  return base::Status(
      base::Reason::kUnknown,
      base::StrCat("failed to create typed patch object (", metadata["namespace"].AsString(), "/",
                   metadata["name"].AsString(), "; ", kind.ToString(),
                   "): no corresponding type for ", kind.ToString()));
}

base::Result<Transform> MakeApply(Operation& op, const PatchTarget& target, const Input& input) {
  const WriteOptions& options = input.options;
  auto parsed = json::ParseYaml(op.arena, input.body);
  if (!parsed.ok()) {
    return base::BadRequest(base::StrCat("error decoding YAML: ", parsed.status().message()));
  }
  const json::Value config = *parsed;
  const std::string_view version = config["apiVersion"].AsString();
  if (version.empty() || config["kind"].AsString().empty()) {
    return base::BadRequest(base::StrCat("error decoding YAML: Object '",
                                         config["kind"].AsString().empty() ? "Kind" : "apiVersion",
                                         "' is missing in '", json::ToString(config), "'"));
  }
  if (version != ApiVersion(target.kind)) {
    return base::BadRequest(
        base::StrCat("Incorrect version specified in apply patch. Specified "
                     "patch version: ",
                     version, ", expected: ", ApiVersion(target.kind)));
  }
  if (config["metadata"]["managedFields"].is_array()) {
    return base::BadRequest("metadata.managedFields must be nil");
  }
  TRY(CheckAppliedKind(op, target, config));
  std::string yaml_error;
  if (options.validation != FieldValidation::kIgnore) {
    yaml_error = StrictYamlError(op.arena, input.body);
  }
  const bool strict = options.validation == FieldValidation::kStrict;
  const bool force = options.force.value_or(false);
  const std::string manager = options.field_manager;
  return Transform([&op, target, config, force, manager, yaml_error,
                    strict](json::Value live) -> base::Result<json::Value> {
    const std::string_view uid = config["metadata"]["uid"].AsString();
    if (live.is_null() && !uid.empty()) {
      return api::ConflictStatus(op.group_resource(), op.name,
                                 base::StrCat("uid mismatch: the provided object specified uid ",
                                              uid, ", and no existing object was found"));
    }
    const FieldWriter by(op, manager, target.kind);
    const json::Value applied =
        TRY(api::patch::Apply(op.arena, *target.schema, live, config, by.writer(),
                              force ? api::patch::Force::kYes : api::patch::Force::kNo));
    if (strict && !yaml_error.empty()) {
      return base::BadRequest(
          base::StrCat("error strict decoding YAML: error converting YAML to JSON: ", yaml_error));
    }
    WarnOfYaml(op, yaml_error);
    return Finish(op, target, applied, FieldValidation::kIgnore, {}, nullptr);
  });
}

}  // namespace

PatchTarget PatchTargetOf(const Operation& op) {
  const api::catalog::ResourceInfo& resource = *op.resource;
  if (op.kind() == resource.kind) {
    return {resource.kind, resource.schema, !resource.custom && resource.schema != nullptr};
  }
  const api::schema::Schema* schema = op.catalog->FindSchema(op.kind());
  return {op.kind(), schema, schema != nullptr};
}

base::Result<Transform> MakePatch(Operation& op, const Input& input, const PatchTarget& target) {
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

}  // namespace portcullis::engine
