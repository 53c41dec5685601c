// SPDX-License-Identifier: Apache-2.0

#include "webhook/conversion_review.h"

#include <algorithm>

#include "admission/errors.h"
#include "api/field_error.h"
#include "api/field_path.h"
#include "api/patch/go_value.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "json/sorted.h"
#include "json/writer.h"
#include "registry/validation/checks.h"
#include "webhook/go_shape.h"

namespace portcullis::webhook {
namespace {

constexpr std::string_view kGroup = "apiextensions.k8s.io";
constexpr std::string_view kKind = "ConversionReview";

// Both are empty where the apiVersion cannot be read.
api::GroupVersionKind GvkOf(json::Value object) {
  const auto version = api::ParseGroupVersion(object["apiVersion"].AsString());
  if (!version.ok()) return {};
  return {version->group, version->version, std::string(object["kind"].AsString())};
}

std::string GvkText(const api::GroupVersionKind& kind) {
  return base::StrCat(kind.group, "/", kind.version, ", Kind=", kind.kind);
}

// Go's UnmarshalJSON of an object of any kind.
base::Status CheckIsObject(json::Value value) {
  if (value.is_null()) return admission::PlainError("unexpected end of JSON input");
  if (!value.is_object()) {
    const std::string_view name = value.is_array()    ? "array"
                                  : value.is_string() ? "string"
                                  : value.is_bool()   ? "bool"
                                                      : "number";
    return admission::PlainError(base::StrCat("json: cannot unmarshal ", name,
                                              " into Go value of type map[string]interface {}"));
  }
  if (value["kind"].AsString().empty()) {
    return admission::PlainError(
        base::StrCat("Object 'Kind' is missing in '", json::ToString(value), "'"));
  }
  return base::OkStatus();
}

// What a webhook may not change.
base::Status CheckIdentity(json::Value original, json::Value converted) {
  const auto same = [](std::string_view what, json::Value a, json::Value b) -> base::Status {
    if (a.AsString() == b.AsString()) return base::OkStatus();
    return admission::PlainError(
        base::StrCat("must have the same ", what, ": ", a.AsString(), " != ", b.AsString()));
  };
  const json::Value a = original["metadata"];
  const json::Value b = converted["metadata"];
  TRY(same("kind", original["kind"], converted["kind"]));
  TRY(same("name", a["name"], b["name"]));
  TRY(same("namespace", a["namespace"], b["namespace"]));
  return same("UID", a["uid"], b["uid"]);
}

base::Status ErrorOf(const api::FieldErrors& errors) {
  if (errors.empty()) return base::OkStatus();
  std::vector<std::string> texts;
  for (const api::FieldError& error : errors) texts.push_back(error.ToString());
  if (texts.size() == 1) return admission::PlainError(texts.front());
  return admission::PlainError(base::StrCat("[", base::Join(texts, ", "), "]"));
}

// `field` is "labels" or "annotations": as the webhook has it, if it may be had so.
base::Result<json::Value> TakeMap(json::Arena& arena, json::Value metadata, std::string_view field,
                                  json::Value original, json::Value answered) {
  const json::Value value = answered[field];
  if (value.is_null()) return json::Without(arena, metadata, field);
  if (!value.is_object()) {
    return admission::PlainError(base::StrCat("invalid metadata.", field, " of type ",
                                              api::patch::GoTypeName(value),
                                              " in converted object"));
  }
  for (const json::Member& member : value.members()) {
    if (member.value.is_string()) continue;
    return admission::PlainError(
        base::StrCat("metadata.", field, "[", member.name(), "] must be a string, but is ",
                     api::patch::GoTypeName(member.value), " in converted object"));
  }
  if (!(value == original[field])) {
    api::FieldErrors errors;
    if (field == "labels") {
      registry::CheckLabels(value, api::FieldPath("metadata", "labels"), errors);
    } else {
      registry::CheckAnnotations(value, api::FieldPath("metadata", "annotation"), errors);
    }
    TRY(ErrorOf(errors));
  }
  return json::With(arena, metadata, field, value);
}

base::Result<json::Value> RestoreMetadata(json::Arena& arena, json::Value original,
                                          json::Value converted) {
  const json::Value* answered = converted.Find("metadata");
  if (answered == nullptr) {
    return admission::PlainError("missing metadata in converted object");
  }
  if (!answered->is_object()) {
    return admission::PlainError(base::StrCat(
        "invalid metadata of type ", api::patch::GoTypeName(*answered), " in converted object"));
  }
  const json::Value before = original["metadata"];
  json::Value metadata = before.is_object() ? before : json::MakeObject(arena, {});
  metadata = TRY(TakeMap(arena, metadata, "labels", before, *answered));
  metadata = TRY(TakeMap(arena, metadata, "annotations", before, *answered));
  return json::With(arena, converted, "metadata", metadata);
}

base::Status CheckVersionAndKind(json::Value original, json::Value converted,
                                 const api::GroupVersion& to) {
  const api::GroupVersionKind got = GvkOf(converted);
  if (got.group_version() != to) {
    return admission::PlainError(base::StrCat("invalid groupVersion (expected ", to.ToString(),
                                              ", received ", got.group_version().ToString(), ")"));
  }
  if (const std::string_view expected = original["kind"].AsString(); expected != got.kind) {
    return admission::PlainError(
        base::StrCat("invalid kind (expected ", expected, ", received ", got.kind, ")"));
  }
  return base::OkStatus();
}

}  // namespace

std::string GvkTextOf(json::Value object) { return GvkText(GvkOf(object)); }

std::string_view ConversionFailureText(ConversionFailure failure) {
  switch (failure) {
    case ConversionFailure::kNone:
      break;
    case ConversionFailure::kCall:
      return "conversion_webhook_call_failure";
    case ConversionFailure::kMalformedResponse:
      return "conversion_webhook_malformed_response_failure";
    case ConversionFailure::kPartialResponse:
      return "conversion_webhook_partial_response_failure";
    case ConversionFailure::kInvalidObject:
      return "conversion_webhook_invalid_converted_object_failure";
  }
  return "";
}

std::string EncodeConversionReview(ReviewVersion version, std::string_view uid,
                                   std::span<const json::Value> objects,
                                   const api::GroupVersion& to) {
  std::string out = base::StrCat("{\"kind\":\"", kKind, "\",\"apiVersion\":\"", kGroup, "/",
                                 ReviewVersionText(version), "\",\"request\":{\"uid\":\"", uid,
                                 "\",\"desiredAPIVersion\":\"", to.ToString(), "\",\"objects\":[");
  bool first = true;
  for (const json::Value& object : objects) {
    if (!first) out.push_back(',');
    first = false;
    json::Arena scratch;
    json::Write(json::Sorted(scratch, object), out);
  }
  // kube-apiserver sends the empty answer along.
  out.append(
      "]},\"response\":{\"uid\":\"\",\"convertedObjects\":null,\"result\":{\"metadata\":{}}}}\n");
  return out;
}

base::Result<std::vector<json::Value>> DecodeConversionReview(json::Arena& arena,
                                                              ReviewVersion sent,
                                                              std::string_view uid, int http_status,
                                                              std::string_view content_type,
                                                              std::string_view body) {
  const ReviewKind kind{kGroup, kKind, ConversionReviewShape()};
  const json::Value review =
      TRY(DecodeReviewOf(kind, arena, sent, http_status, content_type, body));
  const json::Value response = review["response"];
  if (sent == ReviewVersion::kV1) {
    const api::GroupVersionKind got = GvkOf(review);
    const api::GroupVersionKind expected{std::string(kGroup), "v1", std::string(kKind)};
    if (got != expected) {
      return admission::PlainError(
          base::StrCat("expected webhook response of ", GvkText(expected), ", got ", GvkText(got)));
    }
  }
  if (!response.is_object()) return admission::PlainError("no response provided");
  if (const auto got = response["uid"].AsString(); sent == ReviewVersion::kV1 && got != uid) {
    return admission::PlainError(
        base::StrCat("expected response.uid=", base::GoQuote(uid), ", got ", base::GoQuote(got)));
  }
  const json::Value result = response["result"];
  if (const std::string_view status = result["status"].AsString(); status != "Success") {
    const std::string_view message = result["message"].AsString();
    if (!message.empty()) return admission::PlainError(std::string(message));
    return admission::PlainError(
        base::StrCat("response.result.status was '", status, "', not 'Success'"));
  }
  const auto objects = response["convertedObjects"].elements();
  return std::vector<json::Value>(objects.begin(), objects.end());
}

base::Result<std::vector<json::Value>> CheckConverted(json::Arena& arena,
                                                      std::span<const json::Value> originals,
                                                      std::span<const json::Value> converted,
                                                      const api::GroupVersion& to,
                                                      ConversionFailure& failure) {
  const std::string head =
      base::StrCat("conversion webhook for ",
                   originals.empty() ? std::string() : GvkTextOf(originals.front()), " returned ");
  if (converted.size() != originals.size()) {
    failure = ConversionFailure::kPartialResponse;
    return admission::PlainError(base::StrCat(head, std::to_string(converted.size()),
                                              " objects, expected ",
                                              std::to_string(originals.size())));
  }
  failure = ConversionFailure::kInvalidObject;
  const bool single = originals.size() == 1;
  std::vector<json::Value> out;
  out.reserve(originals.size());
  for (std::size_t i = 0; i < originals.size(); ++i) {
    const std::string at = base::StrCat(" at index ", std::to_string(i), ": ");
    const auto in_list = [&](std::string_view what, const base::Status& error) {
      return admission::PlainError(base::StrCat(head, what, at, error.message()));
    };
    if (const base::Status bad = CheckIsObject(converted[i]); !bad.ok()) {
      return single ? bad : in_list("invalid converted object", bad);
    }
    if (const base::Status bad = CheckVersionAndKind(originals[i], converted[i], to); !bad.ok()) {
      return in_list(single ? "invalid object" : "invalid converted object", bad);
    }
    if (const base::Status bad = CheckIdentity(originals[i], converted[i]); !bad.ok()) {
      if (!single) return in_list("invalid converted object", bad);
      return admission::PlainError(base::StrCat(head, "invalid object: ", bad.message()));
    }
    auto restored = RestoreMetadata(arena, originals[i], converted[i]);
    if (!restored.ok()) {
      if (!single) return in_list("invalid metadata in object", restored.status());
      return admission::PlainError(
          base::StrCat(head, "invalid metadata: ", restored.status().message()));
    }
    out.push_back(*restored);
  }
  failure = ConversionFailure::kNone;
  return out;
}

}  // namespace portcullis::webhook
