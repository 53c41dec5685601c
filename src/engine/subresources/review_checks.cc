// SPDX-License-Identifier: Apache-2.0

#include "engine/subresources/review_checks.h"

#include "api/api_status.h"
#include "api/field_error.h"
#include "api/selector/label_selector.h"
#include "base/strings.h"
#include "engine/codec/codec.h"
#include "json/writer.h"

namespace portcullis::engine {
namespace {

using api::FieldErrors;
using api::FieldPath;

// The attributes as the type without names of JSON is printed.
api::BadValue ShownPath(Operation& op, json::Value attributes) {
  return api::BadValue::Raw(json::ToString(json::ObjectBuilder(op.arena)
                                               .Set("Path", attributes["path"].AsString())
                                               .Set("Verb", attributes["verb"].AsString())
                                               .Build()));
}

// Operators that are not known may be those of newer clients.
void CheckRequirement(json::Value requirement, const FieldPath& path, bool of_labels,
                      FieldErrors& errors) {
  const std::string_view key = requirement["key"].AsString();
  const std::string_view op = requirement["operator"].AsString();
  const json::Value values = requirement["values"];
  if (!of_labels && key.empty()) {
    errors.push_back(api::Required(path.Child("key"), "must be specified"));
  }
  if ((op == "In" || op == "NotIn") && values.empty()) {
    errors.push_back(api::Required(path.Child("values"),
                                   "must be specified when `operator` is 'In' or 'NotIn'"));
  } else if ((op == "Exists" || op == "DoesNotExist") && !values.empty()) {
    errors.push_back(
        api::Forbidden(path.Child("values"),
                       "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
  }
  if (!of_labels) return;
  for (const std::string& text : api::IsQualifiedName(key)) {
    errors.push_back(api::Invalid(path.Child("key"), key, text));
  }
  std::size_t index = 0;
  for (const json::Value& value : values.elements()) {
    const FieldPath at = path.Child("values").Index(index++);
    for (const std::string& text : api::IsValidLabelValue(value.AsString())) {
      errors.push_back(api::Invalid(at, value.AsString(), text));
    }
  }
}

void CheckSelector(json::Value selector, const FieldPath& path, bool of_labels,
                   FieldErrors& errors) {
  if (selector.is_null()) return;
  const std::string_view raw = selector["rawSelector"].AsString();
  const json::Value requirements = selector["requirements"];
  if (!raw.empty() && !requirements.empty()) {
    errors.push_back(api::Invalid(path.Child("rawSelector"), raw,
                                  "may not specified at the same time as requirements"));
  }
  if (raw.empty() && requirements.empty()) {
    errors.push_back(api::Required(path.Child("requirements"),
                                   base::StrCat("when ", path.ToString(),
                                                " is specified, requirements or rawSelector is "
                                                "required")));
  }
  std::size_t index = 0;
  for (const json::Value& requirement : requirements.elements()) {
    CheckRequirement(requirement, path.Child("requirements").Index(index++), of_labels, errors);
  }
}

void CheckAccessSpec(Operation& op, json::Value spec, bool of_self, FieldErrors& errors) {
  const FieldPath path("spec");
  const json::Value resource = spec["resourceAttributes"];
  const json::Value url = spec["nonResourceAttributes"];
  if (!resource.is_null() && !url.is_null()) {
    errors.push_back(api::Invalid(path.Child("nonResourceAttributes"), ShownPath(op, url),
                                  "cannot be specified in combination with resourceAttributes"));
  }
  if (resource.is_null() && url.is_null()) {
    errors.push_back(api::Invalid(path.Child("resourceAttributes"), api::BadValue::Raw("null"),
                                  "exactly one of nonResourceAttributes or resourceAttributes must "
                                  "be specified"));
  }
  if (!of_self && spec["user"].AsString().empty() && spec["groups"].empty()) {
    errors.push_back(
        api::Invalid(path.Child("user"), "", "at least one of user or group must be specified"));
  }
  const FieldPath attributes("spec.resourceAttributes");
  CheckSelector(resource["fieldSelector"], attributes.Child("fieldSelector"), false, errors);
  CheckSelector(resource["labelSelector"], attributes.Child("labelSelector"), true, errors);
}

void CheckMetadata(json::Value metadata, bool of_namespace, FieldErrors& errors) {
  for (const json::Member& member : metadata.members()) {
    if (member.name() == "managedFields" || member.value.is_null()) continue;
    if (of_namespace && member.name() == "namespace") continue;
    errors.push_back(
        api::Invalid(FieldPath("metadata"), metadata,
                     of_namespace ? "must be empty except for namespace" : "must be empty"));
    return;
  }
}

void CheckLocal(Operation& op, json::Value spec, FieldErrors& errors) {
  const json::Value resource = spec["resourceAttributes"];
  const json::Value url = spec["nonResourceAttributes"];
  const std::string_view ns = resource["namespace"].AsString();
  if (!resource.is_null() && ns != op.ns) {
    errors.push_back(api::Invalid(FieldPath("spec.resourceAttributes.namespace"), ns,
                                  "must match metadata.namespace"));
  }
  if (!url.is_null()) {
    errors.push_back(api::Invalid(FieldPath("spec.nonResourceAttributes"), ShownPath(op, url),
                                  "disallowed on this kind of request"));
  }
}

}  // namespace

base::Status CheckReview(Operation& op, json::Value object) {
  const std::string& resource = op.resource->resource.resource;
  const json::Value spec = object["spec"];
  if (resource == "tokenreviews" && spec["token"].AsString().empty()) {
    return base::BadRequest("token is required for TokenReview in authentication");
  }
  if (resource == "selfsubjectrulesreviews" && spec["namespace"].AsString().empty()) {
    return base::BadRequest("no namespace on request");
  }
  if (!resource.ends_with("subjectaccessreviews")) return base::OkStatus();
  const bool local = resource == "localsubjectaccessreviews";
  FieldErrors errors;
  CheckAccessSpec(op, spec, resource == "selfsubjectaccessreviews", errors);
  CheckMetadata(Ordered(op.arena, object)["metadata"], local, errors);
  if (local) CheckLocal(op, spec, errors);
  if (errors.empty()) return base::OkStatus();
  // The kind of a refused access review is told by its group only.
  return api::InvalidStatus({op.kind().group, ""}, "", errors);
}

}  // namespace portcullis::engine
