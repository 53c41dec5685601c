// SPDX-License-Identifier: Apache-2.0

#include "review.h"

#include <algorithm>
#include <cstdlib>

#include "base/strings.h"
#include "golang/url.h"
#include "json/reader.h"
#include "json/value.h"
#include "json/writer.h"

namespace example {
namespace {

namespace base = portcullis::base;
namespace golang = portcullis::golang;
namespace json = portcullis::json;

constexpr std::string_view kDelayPrefix = "/delay/";

// The value of a query parameter, or `fallback` if there is none.
std::string Parameter(std::string_view query, std::string_view name, std::string fallback) {
  for (auto& [key, value] : portcullis::golang::ParseQuery(query)) {
    if (key == name) return value;
  }
  return fallback;
}

// A key in a JSON Pointer: RFC 6901 §3.
std::string PointerToken(std::string_view key) {
  return base::ReplaceAll(base::ReplaceAll(key, "~", "~0"), "/", "~1");
}

// A patch that sets metadata.<field>[key]. "add" to a map that is not there would fail, so the map
// comes first if need be.
json::Value SetInMetadata(json::Arena& arena, json::Value object, std::string_view field,
                          std::string_view key, std::string_view value) {
  json::ArrayBuilder patch(arena);
  const std::string map = base::StrCat("/metadata/", field);
  if (!object["metadata"][field].is_object()) {
    patch.Add(json::ObjectBuilder(arena)
                  .Set("op", "add")
                  .Set("path", std::string_view(map))
                  .Set("value", json::MakeObject(arena, {}))
                  .Build());
  }
  patch.Add(json::ObjectBuilder(arena)
                .Set("op", "add")
                .Set("path", std::string_view(base::StrCat(map, "/", PointerToken(key))))
                .Set("value", value)
                .Build());
  return patch.Build();
}

void SetPatch(json::ObjectBuilder& response, std::string_view patch) {
  response.Set("patchType", "JSONPatch");
  response.Set("patch", std::string_view(base::Base64Encode(patch)));
}

void Deny(json::Arena& arena, std::string_view query, json::ObjectBuilder& response) {
  const auto code = base::ParseInt(Parameter(query, "code", "403")).value_or(403);
  response.Set("allowed", false);
  response.Set("status", json::ObjectBuilder(arena)
                             .Set("code", code)
                             .Set("message", std::string_view(Parameter(
                                                 query, "message", "the example webhook says no")))
                             .Build());
}

// Fills in what the path asks for. False if the path is unknown.
bool Decide(json::Arena& arena, std::string_view path, std::string_view query, json::Value request,
            json::ObjectBuilder& response) {
  response.Set("allowed", true);
  if (path == "/allow" || path == "/delay" || path.starts_with(kDelayPrefix)) return true;
  if (path == "/deny") {
    Deny(arena, query, response);
  } else if (path == "/add-label") {
    SetPatch(response, json::ToString(SetInMetadata(arena, request["object"], "labels",
                                                    Parameter(query, "key", "example.com/admitted"),
                                                    Parameter(query, "value", "true"))));
  } else if (path == "/patch") {
    const auto annotation =
        SetInMetadata(arena, request["object"], "annotations", "example.com/patched", "true");
    SetPatch(response, Parameter(query, "patch", json::ToString(annotation)));
  } else if (path == "/warn") {
    const auto text = Parameter(query, "message", "the example webhook warns");
    response.Set("warnings", json::ArrayBuilder(arena).Add(std::string_view(text)).Build());
  } else if (path == "/audit") {
    const auto key = Parameter(query, "key", "reviewed-by");
    const auto value = Parameter(query, "value", "example-webhook-server");
    response.Set("auditAnnotations",
                 json::ObjectBuilder(arena).Set(arena.Copy(key), std::string_view(value)).Build());
  } else {
    return false;
  }
  return true;
}

constexpr std::string_view kV1alpha1 = "admission.k8s.io/v1alpha1";

// An external admission hook of Kubernetes 1.7 and 1.8, which is always called at "/": refuses new
// objects without the label "team". Its answer stands in `status`.
std::string AnswerV1alpha1(json::Arena& arena, json::Value spec) {
  const bool lacks_label =
      spec["operation"].AsString() == "CREATE" && !spec["object"]["metadata"]["labels"].Has("team");
  json::ObjectBuilder status(arena);
  status.Set("allowed", !lacks_label);
  if (lacks_label) {
    status.Set("status", json::ObjectBuilder(arena)
                             .Set("status", "Failure")
                             .Set("message", "label 'team' is mandatory")
                             .Set("reason", "Forbidden")
                             .Set("code", 403)
                             .Build());
  }
  return json::ToString(json::ObjectBuilder(arena)
                            .Set("apiVersion", kV1alpha1)
                            .Set("kind", "AdmissionReview")
                            .Set("status", status.Build())
                            .Build());
}

}  // namespace

base::Result<std::string> Answer(std::string_view path, std::string_view query,
                                 std::string_view body) {
  json::Arena arena;
  const json::Value review = TRY(json::Parse(arena, body));
  const auto version = review["apiVersion"].AsString();
  if (review["kind"].AsString() == "AdmissionReview" && version == kV1alpha1 && path == "/") {
    return AnswerV1alpha1(arena, review["spec"]);
  }
  const json::Value request = review["request"];
  if (review["kind"].AsString() != "AdmissionReview" || !request.is_object() ||
      (version != "admission.k8s.io/v1" && version != "admission.k8s.io/v1beta1")) {
    return base::BadRequest("expected an AdmissionReview of admission.k8s.io/v1 or v1beta1");
  }
  json::ObjectBuilder response(arena);
  response.Set("uid", request["uid"]);
  if (!Decide(arena, path, query, request, response)) {
    return base::NotFound(base::StrCat("no such path: ", path));
  }
  return json::ToString(json::ObjectBuilder(arena)
                            .Set("apiVersion", version)
                            .Set("kind", "AdmissionReview")
                            .Set("response", response.Build())
                            .Build());
}

double DelaySeconds(std::string_view path, std::string_view query) {
  // A webhook's URL may have no query: the path can say it, too.
  const std::string in_path(path.starts_with(kDelayPrefix) ? path.substr(kDelayPrefix.size())
                                                           : "0");
  const double seconds = std::strtod(Parameter(query, "seconds", in_path).c_str(), nullptr);
  return std::clamp(seconds, 0.0, 3600.0);
}

}  // namespace example
