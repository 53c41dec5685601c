// SPDX-License-Identifier: Apache-2.0

#include "registry/custom_resources/definition_parts.h"

#include <algorithm>
#include <set>

#include "api/condition.h"
#include "api/named_value.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "registry/admission/webhook_configuration_validation.h"

namespace portcullis::registry {
namespace {

using json::Value;

constexpr std::size_t kMaxSelectableFields = 8;
constexpr std::size_t kMaxDeprecationWarning = 256;

void VisitSchema(Value schema, const std::function<void(Value)>& visit) {
  for (const Value& inner : schema.elements()) VisitSchema(inner, visit);
  if (!schema.is_object()) return;
  visit(schema);
  for (const std::string_view part :
       {"items", "allOf", "anyOf", "oneOf", "not", "additionalProperties", "additionalItems"}) {
    VisitSchema(schema[part], visit);
  }
  for (const std::string_view part :
       {"properties", "patternProperties", "definitions", "dependencies"}) {
    for (const json::Member& member : schema[part].members()) VisitSchema(member.value, visit);
  }
}

bool IsKnownReviewVersion(Value version) {
  return version.AsString() == "v1" || version.AsString() == "v1beta1";
}

bool HasKnownReviewVersion(Value versions) {
  const auto items = versions.elements();
  return std::any_of(items.begin(), items.end(), IsKnownReviewVersion);
}

void CheckReviewVersions(Value versions, bool lenient, const FieldPath& path, FieldErrors& errors) {
  if (versions.empty()) {
    errors.push_back(api::Required(path, ""));
    return;
  }
  std::set<std::string_view> seen;
  std::size_t index = 0;
  for (const Value& version : versions.elements()) {
    const FieldPath at = path.Index(index++);
    if (!seen.insert(version.AsString()).second) {
      errors.push_back(api::Invalid(at, version, "duplicate version"));
      continue;
    }
    for (const std::string& wrong : api::IsDns1035Label(version.AsString())) {
      errors.push_back(api::Invalid(at, version, wrong));
    }
  }
  if (!lenient && !HasKnownReviewVersion(versions)) {
    errors.push_back(api::Invalid(path, versions, "must include at least one of v1, v1beta1"));
  }
}

// A bundle is looked at once the definition is in force; one that was bad before may stay so.
bool MayHaveBadBundle(Value old) {
  if (!api::HasTrueCondition(old, "Established")) return true;
  const std::string_view before =
      old["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"].AsString();
  return !before.empty() && !IsCaBundle(before);
}

// The steps of ".spec.host"; `error` is what is wrong with the path.
std::vector<std::string_view> StepsOf(std::string_view path, std::string& error) {
  std::vector<std::string_view> steps;
  while (!path.empty()) {
    if (path.front() == '[') {
      error = "array notation is not allowed";
      return {};
    }
    if (path.front() != '.') {
      const std::string_view token = path.substr(0, path.find_first_of(".[]"));
      error = base::StrCat("expected [ or . but got: ", token);
      return {};
    }
    path.remove_prefix(1);
    const std::size_t end = std::min(path.find_first_of(".[]"), path.size());
    if (path.empty()) {
      error = "unexpected end of JSON path";
      return {};
    }
    steps.push_back(path.substr(0, end == 0 ? 1 : end));
    path.remove_prefix(steps.back().size());
  }
  return steps;
}

// The schema a path leads to.
Value SchemaAt(Value schema, const std::vector<std::string_view>& steps, std::string& error) {
  for (const std::string_view step : steps) {
    if (schema["properties"].is_object()) {
      schema = schema["properties"][step];
    } else {
      schema = schema["additionalProperties"];
    }
    if (schema.is_object()) continue;
    error = "does not refer to a valid field";
    return {};
  }
  return schema;
}

}  // namespace

bool IsCaBundle(std::string_view base64) {
  const auto text = base::Base64Decode(base64);
  if (!text) return false;
  constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----";
  constexpr std::string_view kEnd = "-----END CERTIFICATE-----";
  const std::size_t begin = text->find(kBegin);
  if (begin == std::string::npos) return false;
  const std::size_t end = text->find(kEnd, begin);
  if (end == std::string::npos) return false;
  std::string body;
  for (const char c : text->substr(begin + kBegin.size(), end - begin - kBegin.size())) {
    if (c != '\n' && c != '\r' && c != ' ' && c != '\t') body.push_back(c);
  }
  const auto der = base::Base64Decode(body);
  // A certificate is an ASN.1 sequence.
  return der && der->size() > 2 && der->front() == 0x30;
}

void VisitSchemas(Value versions, const std::function<void(Value)>& visit) {
  for (const Value& version : versions.elements()) {
    VisitSchema(version["schema"]["openAPIV3Schema"], visit);
  }
}

void CheckConversion(Value definition, Value old, const FieldPath& path, FieldErrors& errors) {
  const Value conversion = definition["spec"]["conversion"];
  if (conversion.is_null()) return;
  const FieldPath client = path.Child("webhookClientConfig");
  const FieldPath versions = path.Child("conversionReviewVersions");
  const std::string_view strategy = conversion["strategy"].AsString();
  if (strategy != "None" && definition["spec"]["preserveUnknownFields"].AsBool()) {
    errors.push_back(api::Invalid(path.Child("strategy"), api::NamedValue(strategy),
                                  "must be None if spec.preserveUnknownFields is true"));
  }
  if (RequireField(conversion, "strategy", path, errors)) {
    CheckOneOf(conversion["strategy"], path.Child("strategy"), {"None", "Webhook"}, errors);
  }
  const Value webhook = conversion["webhook"];
  const Value config = webhook["clientConfig"];
  if (strategy != "Webhook") {
    constexpr std::string_view kUnwanted = "should not be set when strategy is not set to Webhook";
    if (!config.is_null()) errors.push_back(api::Forbidden(client, kUnwanted));
    if (!webhook["conversionReviewVersions"].empty()) {
      errors.push_back(api::Forbidden(versions, kUnwanted));
    }
    return;
  }
  if (config.is_null()) {
    errors.push_back(api::Required(client, "required when strategy is set to Webhook"));
  } else {
    ValidateWebhookClient(config, client, errors);
    const std::string_view bundle = config["caBundle"].AsString();
    if (!bundle.empty() && !MayHaveBadBundle(old) && !IsCaBundle(bundle)) {
      errors.push_back(api::Invalid(client.Child("caBundle"), bundle,
                                    "unable to load root certificates: unable to parse bytes as "
                                    "PEM block"));
    }
  }
  const Value before = old["spec"]["conversion"]["webhook"]["conversionReviewVersions"];
  CheckReviewVersions(webhook["conversionReviewVersions"],
                      !before.empty() && !HasKnownReviewVersion(before), versions, errors);
}

void CheckSelectableFields(Value fields, Value schema, const FieldPath& path, FieldErrors& errors) {
  std::set<std::string_view> seen;
  std::size_t index = 0;
  for (const Value& field : fields.elements()) {
    const FieldPath at = path.Index(index++).Child("jsonPath");
    const std::string_view text = field["jsonPath"].AsString();
    if (text.empty()) {
      errors.push_back(api::Required(at, ""));
      continue;
    }
    std::string error;
    const auto steps = StepsOf(text, error);
    const Value found = error.empty() ? SchemaAt(schema, steps, error) : Value();
    if (!error.empty()) {
      errors.push_back(api::Invalid(at, text, base::StrCat("is an invalid path: ", error)));
      continue;
    }
    if (!steps.empty() && steps.front() == "metadata") {
      errors.push_back(api::Invalid(at, text, "must not point to fields in metadata"));
    }
    const std::string_view type = found["type"].AsString();
    if (type != "string" && type != "boolean" && type != "integer") {
      errors.push_back(api::Invalid(at, text,
                                    "must point to a field of type string, boolean or integer. "
                                    "Enum string fields and strings with formats are allowed."));
    }
    if (!seen.insert(text).second) errors.push_back(api::Duplicate(at, field["jsonPath"]));
  }
  if (seen.size() > kMaxSelectableFields) {
    errors.push_back(
        api::TooMany(path, static_cast<int>(seen.size()), static_cast<int>(kMaxSelectableFields)));
  }
}

void CheckDeprecationWarning(Value version, const FieldPath& path, FieldErrors& errors) {
  const Value warning = version["deprecationWarning"];
  if (warning.is_null()) return;
  const auto wrong = [&](std::string_view text) {
    errors.push_back(api::Invalid(path, warning, text));
  };
  if (!version["deprecated"].AsBool()) return wrong("can only be set for deprecated versions");
  std::string_view rest = warning.AsString();
  if (rest.size() > kMaxDeprecationWarning) wrong("must be <= 256 characters long");
  if (rest.empty()) wrong("must not be an empty string");
  std::size_t at = 0;
  while (!rest.empty()) {
    std::size_t size = 0;
    if (!base::IsPrintable(base::DecodeRune(rest, size))) {
      wrong(base::StrCat(
          "must only contain printable UTF-8 characters; non-printable character found at index ",
          std::to_string(at)));
      break;
    }
    at += size;
    rest.remove_prefix(size);
  }
}

}  // namespace portcullis::registry
