// SPDX-License-Identifier: Apache-2.0

#include "library/request.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "base/strings.h"
#include "json/writer.h"
#include "json/yaml.h"
#include "offline/inputs.h"

namespace portcullis::library {
namespace {

constexpr std::string_view kMembers[] = {"operation", "object",      "oldObject", "user",
                                         "resource",  "subResource", "namespace", "name",
                                         "dryRun",    "trace"};

base::Status Wrong(std::string_view what) {
  return base::BadRequest(base::StrCat("the request ", what));
}

std::string_view OperationOf(json::Value request) {
  if (const auto given = request["operation"].AsString(); !given.empty()) return given;
  if (!request["object"].is_object()) return "DELETE";
  return request["oldObject"].is_object() ? "UPDATE" : "CREATE";
}

// The short form as the long one.
base::Result<json::Value> Lengthen(json::Arena& arena, json::Value request) {
  for (const json::Member& member : request.members()) {
    const auto* end = std::end(kMembers);
    if (std::find(std::begin(kMembers), end, member.name()) != end) continue;
    return Wrong(base::StrCat("has an unknown member ", member.name(), ": there are ",
                              base::Join(kMembers, ", "), "; or it is an AdmissionReview"));
  }
  if (!request["object"].is_object() && !request["oldObject"].is_object()) {
    return Wrong("has neither object nor oldObject");
  }
  json::ObjectBuilder long_form(arena, request);
  long_form.Remove("user").Remove("trace");
  long_form.Set("operation", OperationOf(request)).Set("userInfo", request["user"]);
  return json::ObjectBuilder(arena)
      .Set("apiVersion", "admission.k8s.io/v1")
      .Set("kind", "AdmissionReview")
      .Set("request", long_form.Build())
      .Build();
}

}  // namespace

base::Result<Request> ReadRequest(std::string_view text) {
  json::Arena arena;
  const auto parsed = json::ParseYamlOrJson(arena, text);
  if (!parsed.ok()) return parsed.status().Annotate("the request");
  if (!parsed->is_object()) return Wrong("is no object");
  Request request;
  json::Value review = *parsed;
  if (review["kind"].AsString() == "AdmissionReview") {
    if (!review["request"].is_object()) return Wrong("is an AdmissionReview without a request");
  } else {
    request.wants_trace = review["trace"].AsBool();
    review = TRY(Lengthen(arena, review));
  }
  request.dry_run = review["request"]["dryRun"].AsBool();
  offline::Inputs inputs;
  offline::ReadText("request", json::ToString(review), true, inputs);
  if (inputs.manifests.size() != 1 || !offline::IsReview(inputs.manifests.front())) {
    return Wrong("is no AdmissionReview of admission.k8s.io/v1 or v1beta1");
  }
  request.review = offline::ReadReview(inputs.manifests.front());
  return request;
}

}  // namespace portcullis::library
