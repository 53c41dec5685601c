// SPDX-License-Identifier: Apache-2.0

// APIServices (k8s.io/kube-aggregator/pkg/apis/apiregistration/validation).

#include "base/clock.h"
#include "base/strings.h"
#include "registry/config/data_checks.h"
#include "registry/kind_table.h"
#include "registry/validation/checks.h"

namespace portcullis::registry {
namespace {

void CheckNumber(json::Value value, std::int64_t most, const FieldPath& path, FieldErrors& errors) {
  if (value.AsInt() > 0 && value.AsInt() <= most) return;
  errors.push_back(api::Invalid(
      path, value.AsInt(), base::StrCat("must be positive and less than ", std::to_string(most))));
}

void ValidateApiService(const Context&, json::Value object, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  const std::string_view group = spec["group"].AsString();
  const std::string_view version = spec["version"].AsString();
  const std::string wanted = base::StrCat(version, ".", group);
  for (const std::string_view field : {"generateName", "name"}) {
    const std::string_view name = object["metadata"][field].AsString();
    if (name.empty() || name == wanted || !IsPathSegmentName(name, false).empty()) continue;
    errors.push_back(
        api::Invalid(FieldPath("metadata", field), name,
                     base::StrCat("must be `spec.version+\".\"+spec.group`: ", Quoted(wanted))));
  }
  if (group.empty()) {
    if (version != "v1") {
      errors.push_back(api::Required(
          path.Child("group"), "only v1 may have an empty group and it better be legacy kube"));
    }
  } else {
    CheckSubdomain(group, path.Child("group"), errors);
  }
  AddInvalid(path.Child("version"), version, api::IsDns1035Label(version), errors);
  CheckNumber(spec["groupPriorityMinimum"], 20000, path.Child("groupPriorityMinimum"), errors);
  CheckNumber(spec["versionPriority"], 1000, path.Child("versionPriority"), errors);
  const json::Value service = spec["service"];
  const bool has_bundle = !spec["caBundle"].AsString().empty();
  const bool skips = spec["insecureSkipTLSVerify"].AsBool();
  const FieldPath skip_path = path.Child("insecureSkipTLSVerify");
  if (service.is_null()) {
    if (has_bundle) {
      errors.push_back(api::Invalid(
          path.Child("caBundle"),
          base::StrCat(std::to_string(DecodedSize(spec["caBundle"].AsString())), " bytes"),
          "local APIServices may not have a caBundle"));
    }
    if (skips) {
      errors.push_back(
          api::Invalid(skip_path, true, "local APIServices may not have insecureSkipTLSVerify"));
    }
    return;
  }
  RequireField(service, "namespace", path.Child("service"), errors);
  RequireField(service, "name", path.Child("service"), errors);
  if (const std::int64_t port = service["port"].AsInt(443); port < 1 || port > 65535) {
    errors.push_back(api::Invalid(path.Child("service", "port"), port,
                                  "port is not valid: must be between 1 and 65535, inclusive"));
  }
  if (skips && has_bundle) {
    errors.push_back(api::Invalid(skip_path, true, "may not be true if caBundle is present"));
  }
}

void ValidateApiServiceUpdate(const Context& ctx, json::Value object, json::Value,
                              FieldErrors& errors) {
  if (ctx.subresource.empty()) return ValidateApiService(ctx, object, errors);
  std::size_t index = 0;
  for (const json::Value& condition : object["status"]["conditions"].elements()) {
    CheckOneOf(condition["status"],
               FieldPath("status", "conditions").Index(index++).Child("status"),
               {"True", "False", "Unknown"}, errors);
  }
}

// Those without a Service are served by this process: they are available as soon as they are there.
class ApiServices final : public DefaultStrategy {
 public:
  using DefaultStrategy::DefaultStrategy;

  json::Value PrepareForCreate(const Context& ctx, json::Value object) const override {
    object = DefaultStrategy::PrepareForCreate(ctx, object);
    if (!object["spec"]["service"].is_null()) return object;
    json::ArrayBuilder conditions(ctx.arena);
    conditions.Add(json::ObjectBuilder(ctx.arena)
                       .Set("type", "Available")
                       .Set("status", "True")
                       .Set("lastTransitionTime", base::FormatTime(ctx.clock.Now()))
                       .Set("reason", "Local")
                       .Set("message", "Local APIServices are always available")
                       .Build());
    return json::SetPath(ctx.arena, object, {"status", "conditions"}, conditions.Build());
  }
};

}  // namespace

void AddApiServiceStrategy(KindTable& table) {
  table.Add({.group = "apiregistration.k8s.io",
             .resource = "apiservices",
             .validate = &ValidateApiService,
             .validate_update = &ValidateApiServiceUpdate,
             .traits = {.needs_version = true,
                        .status_keeps = StatusKeeps::kMetadata,
                        .free_finalizers = true,
                        .names = NameStyle::kWholePathSegment},
             .metadata = {.update = "uf", .subresource = "u"},
             .make = &Make<ApiServices>});
}

}  // namespace portcullis::registry
