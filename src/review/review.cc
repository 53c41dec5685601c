// SPDX-License-Identifier: Apache-2.0

#include "review/review.h"

#include <map>
#include <utility>

#include "admission/chain.h"
#include "admission/object_interfaces.h"
#include "api/api_status.h"
#include "api/catalog/catalog.h"
#include "api/user_info.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "engine/world.h"
#include "json/diff.h"
#include "json/patch.h"
#include "json/reader.h"
#include "json/writer.h"
#include "webhook/go_shape.h"

namespace portcullis::review {
namespace {

constexpr std::string_view kGroup = "admission.k8s.io/";

base::Status NoReview(std::string_view what) {
  return base::BadRequest(base::StrCat("the body is no AdmissionReview: ", what));
}

base::Result<webhook::ReviewVersion> VersionOf(json::Value review) {
  const std::string_view api_version = review["apiVersion"].AsString();
  if (review["kind"].AsString() != "AdmissionReview") {
    return NoReview(base::StrCat("its kind is ", base::GoQuote(review["kind"].AsString())));
  }
  for (const auto version : {webhook::ReviewVersion::kV1, webhook::ReviewVersion::kV1beta1}) {
    if (api_version == base::StrCat(kGroup, webhook::ReviewVersionText(version))) return version;
  }
  return NoReview(base::StrCat("its apiVersion is ", base::GoQuote(api_version),
                               ", neither admission.k8s.io/v1 nor admission.k8s.io/v1beta1"));
}

base::Result<admission::Operation> OperationOf(std::string_view text) {
  for (const auto operation :
       {admission::kCreate, admission::kUpdate, admission::kDelete, admission::kConnect}) {
    if (text == admission::OperationText(operation)) return operation;
  }
  return NoReview(base::StrCat("request.operation is ", base::GoQuote(text),
                               ", not one of CREATE, UPDATE, DELETE, CONNECT"));
}

std::string TextOf(json::Value value) { return std::string(value.AsString()); }

}  // namespace

base::Result<std::unique_ptr<Review>> Review::Read(const engine::World& world, std::string body) {
  std::unique_ptr<Review> review(new Review(world));
  auto text = std::make_shared<const std::string>(std::move(body));
  review->arena_.Retain(text);
  json::ParseOptions options;
  options.borrow_text = true;
  const auto parsed = json::Parse(review->arena_, *text, options);
  if (!parsed.ok()) return NoReview(parsed.status().message());
  if (!parsed->is_object()) return NoReview("it is no object");
  review->version_ = TRY(VersionOf(*parsed));
  const auto decoded =
      webhook::DecodeStruct(review->arena_, webhook::AdmissionReviewShape(), *parsed);
  if (!decoded.ok()) return NoReview(decoded.status().message());
  TRY(review->Take((*decoded)["request"]));
  return review;
}

base::Status Review::Take(json::Value request) {
  if (!request.is_object()) return NoReview("it has no request");
  uid_ = request["uid"].AsString();
  if (uid_.empty()) return NoReview("request.uid is empty");
  attributes_.operation = TRY(OperationOf(request["operation"].AsString()));
  const json::Value resource = request["resource"];
  attributes_.resource = {TextOf(resource["group"]), TextOf(resource["version"]),
                          TextOf(resource["resource"])};
  if (attributes_.resource.resource.empty()) return NoReview("request.resource is empty");
  const json::Value kind = request["kind"];
  attributes_.kind = {TextOf(kind["group"]), TextOf(kind["version"]), TextOf(kind["kind"])};
  attributes_.subresource = TextOf(request["subResource"]);
  attributes_.namespace_name = TextOf(request["namespace"]);
  attributes_.name = TextOf(request["name"]);
  attributes_.object = request["object"];
  const bool needs_object =
      attributes_.operation == admission::kCreate || attributes_.operation == admission::kUpdate;
  if (needs_object && !attributes_.object.is_object())
    return NoReview("request.object is no object");
  attributes_.old_object = request["oldObject"];
  attributes_.options = request["options"];
  attributes_.dry_run = request["dryRun"].AsBool();
  attributes_.user = api::UserInfoFromJson(request["userInfo"]);
  // What the catalog does not have is defined by somebody else.
  const auto catalog = world_.catalog->Get();
  const api::catalog::ResourceInfo* known = catalog->Find(attributes_.resource);
  attributes_.custom = known == nullptr || (known->custom && known->kind == attributes_.kind);
  return base::OkStatus();
}

bool Review::MayWait() {
  admission::Recorder recorder;
  const admission::Request request(attributes_, arena_, recorder);
  return world_.chain->WaitsOf(request) != admission::Waits::kForNothing;
}

// In the form that plugins expect; objects of kinds that are not built in as they are.
base::Result<json::Value> Review::Decode(json::Value object) {
  if (object.is_null() || attributes_.custom) return object;
  return world_.objects->Decode(arena_, object, attributes_.kind);
}

// The caller applies the patch to what it has sent, which need not have the form of the decoder, as what
// an API server sends has: then it is also told what the decoder has made of it.
json::Value Review::PatchOf(json::Value sent, json::Value difference, json::Value changed) {
  if (json::ApplyPatch(arena_, sent, difference).ok()) return difference;
  return json::Diff(arena_, sent, changed);
}

base::Status Review::Judge(const Scope& scope) {
  if (!world_.chain->Handles(attributes_.operation, scope.phase)) return base::OkStatus();
  const json::Value sent = attributes_.object;
  attributes_.object = TRY(Decode(sent));
  attributes_.old_object = TRY(Decode(attributes_.old_object));
  const json::Value before = attributes_.object;
  admission::Request request(std::move(attributes_), arena_, recorder_);
  if (scope.phase == admission::kValidate) return world_.chain->Validate(request, scope.plugin);
  TRY(world_.chain->Mutate(request, scope.plugin));
  if (request.object_changed()) {
    const json::Value difference = json::Diff(arena_, before, request.object());
    if (!difference.empty()) patch_ = PatchOf(sent, difference, request.object());
  }
  return base::OkStatus();
}

std::string Review::Answer(const Scope& scope) {
  verdict_ = Judge(scope);
  const std::string api_version = base::StrCat(kGroup, webhook::ReviewVersionText(version_));
  return json::ToString(json::ObjectBuilder(arena_)
                            .Set("kind", "AdmissionReview")
                            .Set("apiVersion", std::string_view(api_version))
                            .Set("response", Response())
                            .Build());
}

json::Value Review::Response() {
  json::ObjectBuilder response(arena_);
  response.Set("uid", uid_).Set("allowed", verdict_.ok());
  if (!verdict_.ok()) {
    response.Set("status", api::StatusToJson(arena_, verdict_));
  } else if (!patch_.is_null()) {
    response.Set("patch", std::string_view(base::Base64Encode(json::ToString(patch_))))
        .Set("patchType", "JSONPatch");
  }
  if (const json::Value annotations = Annotations(); !annotations.empty()) {
    response.Set("auditAnnotations", annotations);
  }
  json::ArrayBuilder warnings(arena_);
  for (const std::string& warning : recorder_.warnings()) warnings.Add(std::string_view(warning));
  if (warnings.size() > 0) response.Set("warnings", warnings.Build());
  return response.Build();
}

// The API server puts the webhook's name and a slash before each key, and allows one slash: the prefix of a
// key goes, unless two keys differ in nothing else.
json::Value Review::Annotations() {
  std::map<std::string, std::string> values;
  for (const admission::AuditAnnotation& annotation : recorder_.annotations()) {
    const auto parts = base::Cut(annotation.key, "/");
    std::string name(parts ? parts->second : annotation.key);
    if (values.contains(name)) name = base::ReplaceAll(annotation.key, "/", "_");
    values[name] = annotation.value;
  }
  json::ObjectBuilder out(arena_);
  for (const auto& [name, value] : values) out.Set(arena_.Copy(name), std::string_view(value));
  return out.Build();
}

}  // namespace portcullis::review
