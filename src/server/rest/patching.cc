#include "server/rest/patching.h"

#include <algorithm>

#include "api/api_status.h"
#include "api/patch/field_set.h"
#include "api/patch/go_value.h"
#include "api/patch/managed_fields.h"
#include "api/patch/strategic_merge.h"
#include "base/strings.h"
#include "json/merge_patch.h"
#include "json/patch.h"
#include "json/reader.h"
#include "json/writer.h"
#include "json/yaml.h"
#include "server/codec.h"
#include "server/rest/system_fields.h"
#include "server/rest/versions.h"

namespace portcullis::server::rest {
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

base::Result<json::Value> Finish(Call& call, const PatchTarget& target, json::Value patched,
                                 FieldValidation validation,
                                 const std::vector<std::string>& duplicates,
                                 const std::string* shown) {
  const json::Value original = patched;
  const auto as_text = [&] {
    json::WriteOptions plain;
    plain.splice_source = false;
    return json::ToString(SortedTop(call.arena, Ordered(call.arena, original)), plain);
  };
  if (call.resource->custom && target.kind == call.resource->kind &&
      patched["kind"].AsString().empty()) {
    const std::string text = as_text();
    return PatchedInvalid(
        text, base::BadRequest(base::StrCat("Object 'Kind' is missing in '", text, "'")));
  }
  const bool custom = call.resource->custom && target.kind == call.resource->kind;
  if (!custom) {
    // What was merged by its Go type stays of that type, whatever it says.
    if (shown == nullptr) {
      const base::Status fits = CheckConvertible(call, target.kind, patched);
      if (!fits.ok()) return PatchedInvalid(as_text(), fits);
    }
    patched = json::With(call.arena, patched, "kind", json::String(call.arena, target.kind.kind));
    patched = json::With(call.arena, patched, "apiVersion",
                         json::String(call.arena, ApiVersion(target.kind)));
  }
  auto canonical = Canonical(call, target.kind, patched, validation, duplicates);
  if (!canonical.ok()) {
    if (shown != nullptr) return PatchedInvalid(*shown, canonical.status());
    return PatchedInvalid(as_text(), canonical.status());
  }
  return ApplyDefaults(call.env, *call.catalog, call.arena, target.kind, *canonical);
}

base::Result<Transform> MakeJsonPatch(Call& call, const PatchTarget& target,
                                      FieldValidation validation) {
  auto decoded = json::DecodePatch(call.arena, call.body, "[]handlers.jsonPatchOp");
  if (!decoded.ok()) {
    return base::BadRequest(base::StrCat("error decoding patch: ", decoded.status().message()));
  }
  if (decoded->size() > kMaxOperations) {
    return api::RequestEntityTooLargeStatus(
        base::StrCat("The allowed maximum operations in a JSON patch is ",
                     std::to_string(kMaxOperations), ", got ", std::to_string(decoded->size())));
  }
  const json::Value patch = *decoded;
  return Transform(
      [&call, target, validation, patch](json::Value live) -> base::Result<json::Value> {
        auto patched = json::ApplyPatch(call.arena, live, patch);
        if (!patched.ok()) return Rejected();
        return Finish(call, target, *patched, validation, {}, nullptr);
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

base::Result<Transform> MakeMergePatch(Call& call, const PatchTarget& target,
                                       FieldValidation validation) {
  std::vector<std::string> duplicates;
  json::ParseOptions options;
  options.duplicate_keys = &duplicates;
  auto parsed = json::Parse(call.arena, call.body, options);
  if (!parsed.ok()) {
    return base::BadRequest(base::StrCat("error decoding patch: ", parsed.status().message()));
  }
  if (const std::string wrong = NoMap(*parsed); !wrong.empty()) {
    return base::BadRequest(base::StrCat("error decoding patch: ", wrong));
  }
  const json::Value patch = *parsed;
  return Transform([&call, target, validation, patch,
                    duplicates](json::Value live) -> base::Result<json::Value> {
    auto patched = json::MergePatch(call.arena, live, patch);
    if (!patched.ok()) return base::BadRequest(patched.status().message());
    return Finish(call, target, *patched, validation, duplicates, nullptr);
  });
}

base::Result<Transform> MakeStrategicPatch(Call& call, const PatchTarget& target,
                                           FieldValidation validation) {
  std::vector<std::string> duplicates;
  json::ParseOptions options;
  options.duplicate_keys = &duplicates;
  auto parsed = json::Parse(call.arena, call.body, options);
  if (!parsed.ok()) return base::BadRequest(parsed.status().message());
  if (std::string wrong = NoMap(*parsed); !wrong.empty()) return base::BadRequest(std::move(wrong));
  const json::Value patch = *parsed;
  return Transform([&call, target, validation, patch,
                    duplicates](json::Value live) -> base::Result<json::Value> {
    const json::Value patched =
        TRY(api::patch::StrategicMerge(call.arena, *target.schema, live, patch));
    const std::string shown = api::patch::GoValueText(patch);
    return Finish(call, target, patched, validation, duplicates, &shown);
  });
}

// Only what has a schema can be applied.
base::Status CheckAppliedKind(const Call& call, const PatchTarget& target, json::Value config) {
  api::GroupVersionKind kind = target.kind;
  kind.kind = config["kind"].AsString();
  if (kind == target.kind || call.catalog->FindSchema(kind) != nullptr) return base::OkStatus();
  const json::Value metadata = config["metadata"];
  return base::Status(
      base::Reason::kUnknown,
      base::StrCat("failed to create typed patch object (", metadata["namespace"].AsString(), "/",
                   metadata["name"].AsString(), "; ", kind.ToString(),
                   "): no corresponding type for ", kind.ToString()));
}

base::Result<Transform> MakeApply(Call& call, const PatchTarget& target,
                                  const WriteOptions& options) {
  auto parsed = json::ParseYaml(call.arena, call.body);
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
  TRY(CheckAppliedKind(call, target, config));
  std::string yaml_error;
  if (options.validation != FieldValidation::kIgnore) {
    yaml_error = StrictYamlError(call.arena, call.body);
  }
  const bool strict = options.validation == FieldValidation::kStrict;
  const bool force = options.force.value_or(false);
  const std::string manager = options.field_manager;
  return Transform([&call, target, config, force, manager, yaml_error,
                    strict](json::Value live) -> base::Result<json::Value> {
    const std::string_view uid = config["metadata"]["uid"].AsString();
    if (live.is_null() && !uid.empty()) {
      return api::ConflictStatus(call.group_resource(), call.info.name,
                                 base::StrCat("uid mismatch: the provided object specified uid ",
                                              uid, ", and no existing object was found"));
    }
    const FieldWriter by(call, manager, target.kind);
    const json::Value applied =
        TRY(api::patch::Apply(call.arena, *target.schema, live, config, by.writer(),
                              force ? api::patch::Force::kYes : api::patch::Force::kNo));
    if (strict && !yaml_error.empty()) {
      return base::BadRequest(
          base::StrCat("error strict decoding YAML: error converting YAML to JSON: ", yaml_error));
    }
    WarnOfYaml(call, yaml_error);
    return Finish(call, target, applied, FieldValidation::kIgnore, {}, nullptr);
  });
}

}  // namespace

base::Result<PatchType> ReadPatchType(const Call& call, bool strategic) {
  const std::string type = BareMediaType(call.headers().Get("Content-Type"));
  if (type == "application/json-patch+json") return PatchType::kJson;
  if (type == "application/merge-patch+json") return PatchType::kMerge;
  if (type == "application/apply-patch+yaml") return PatchType::kApply;
  if (type == "application/strategic-merge-patch+json" && strategic) return PatchType::kStrategic;
  return base::Status(
      base::Reason::kUnsupportedMediaType,
      base::StrCat("the body of the request was in an unknown format - accepted media types "
                   "include: application/json-patch+json, application/merge-patch+json, ",
                   strategic ? "application/strategic-merge-patch+json, " : "",
                   "application/apply-patch+yaml"));
}

base::Result<Transform> MakePatch(Call& call, PatchType type, const PatchTarget& target,
                                  const WriteOptions& options) {
  if (call.audit && call.audit->wants_request_object()) {
    if (const auto patch = json::Parse(call.arena, call.body); patch.ok()) {
      call.audit->SetRequestPatch(*patch);
    }
  }
  switch (type) {
    case PatchType::kJson:
      return MakeJsonPatch(call, target, options.validation);
    case PatchType::kMerge:
      return MakeMergePatch(call, target, options.validation);
    case PatchType::kStrategic:
      return MakeStrategicPatch(call, target, options.validation);
    case PatchType::kApply:
      return MakeApply(call, target, options);
  }
  return base::InternalError("unknown patch type");
}

}  // namespace portcullis::server::rest
