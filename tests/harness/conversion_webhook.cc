// SPDX-License-Identifier: Apache-2.0

#include "harness/conversion_webhook.h"

#include "base/strings.h"
#include "json/reader.h"
#include "json/writer.h"

namespace portcullis::testing {
namespace {

using json::Value;

constexpr std::string_view kVersionV1 = R"({"name":"v1","served":true,"storage":%1,
  "schema":{"openAPIV3Schema":{"type":"object","properties":{
    "spec":{"type":"object","properties":{"address":{"type":"string"},
      "replicas":{"type":"integer"},"color":{"type":"string","default":"red"}}},
    "status":{"type":"object","properties":{"replicas":{"type":"integer"}}}}}},
  "subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas",
    "statusReplicasPath":".status.replicas"}},
  "additionalPrinterColumns":[{"name":"Address","type":"string","jsonPath":".spec.address"}]})";
constexpr std::string_view kVersionV2 = R"({"name":"v2","served":true,"storage":%2,
  "schema":{"openAPIV3Schema":{"type":"object","properties":{
    "spec":{"type":"object","properties":{"host":{"type":"string"},"port":{"type":"string"},
      "replicas":{"type":"integer"},"color":{"type":"string"}}},
    "status":{"type":"object","properties":{"replicas":{"type":"integer"}}}}}},
  "subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas",
    "statusReplicasPath":".status.replicas"}},
  "selectableFields":[{"jsonPath":".spec.host"}],
  "additionalPrinterColumns":[{"name":"Host","type":"string","jsonPath":".spec.host"}]})";

std::string Filled(std::string_view text, std::string_view mark, std::string_view with) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return std::string(text);
  return base::StrCat(text.substr(0, at), with, text.substr(at + mark.size()));
}

Value Converted(json::Arena& arena, Value object, std::string_view version) {
  Value spec = object["spec"];
  if (version == "example.com/v2" && spec.Has("address")) {
    const std::string_view address = spec["address"].AsString();
    const auto cut = base::Cut(address, ":");
    spec = json::Without(arena, spec, "address");
    spec = json::With(arena, spec, "host", json::String(arena, cut ? cut->first : address));
    if (cut) spec = json::With(arena, spec, "port", json::String(arena, cut->second));
  } else if (version == "example.com/v1" && spec.Has("host")) {
    const std::string address = base::StrCat(spec["host"].AsString(), ":", spec["port"].AsString());
    spec = json::Without(arena, json::Without(arena, spec, "host"), "port");
    spec = json::With(arena, spec, "address", json::String(arena, address));
  }
  object = json::With(arena, object, "apiVersion", json::String(arena, version));
  return spec.is_null() ? object : json::With(arena, object, "spec", spec);
}

}  // namespace

ConversionWebhook::ConversionWebhook()
    : server_([this](std::shared_ptr<net::Exchange> exchange) { Serve(exchange); }) {}

std::string ConversionWebhook::Definition(std::string_view storage,
                                          std::string_view review_versions,
                                          std::string_view url) const {
  const std::string target = url.empty() ? server_.Url("/convert") : std::string(url);
  return base::StrCat(
      R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
          "metadata":{"name":"widgets.example.com"},"spec":{"group":"example.com",
          "scope":"Namespaced","names":{"plural":"widgets","singular":"widget","kind":"Widget",
          "listKind":"WidgetList"},"conversion":{"strategy":"Webhook","webhook":{
          "conversionReviewVersions":)",
      review_versions, R"(,"clientConfig":{"url":")", target, R"(","caBundle":")",
      base::Base64Encode(server_.certificates.authority.certificate_pem), R"("}}},"versions":[)",
      Filled(kVersionV1, "%1", storage == "v1" ? "true" : "false"), ",",
      Filled(kVersionV2, "%2", storage == "v2" ? "true" : "false"), "]}}");
}

void ConversionWebhook::SetTwist(Twist twist) {
  const std::lock_guard lock(mutex_);
  twist_ = std::move(twist);
}

void ConversionWebhook::SetAnswer(Answer answer) {
  const std::lock_guard lock(mutex_);
  answer_ = std::move(answer);
}

std::vector<json::Document> ConversionWebhook::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

std::size_t ConversionWebhook::count() const {
  const std::lock_guard lock(mutex_);
  return calls_.size();
}

void ConversionWebhook::Forget() {
  const std::lock_guard lock(mutex_);
  calls_.clear();
}

void ConversionWebhook::Serve(const std::shared_ptr<net::Exchange>& exchange) {
  net::Response response;
  response.headers.Set("Content-Type", "application/json");
  const std::lock_guard lock(mutex_);
  auto review = json::ParseDocument(exchange->request().body);
  if (!review.ok()) {
    response.status = 400;
    exchange->Respond(std::move(response));
    return;
  }
  calls_.push_back(*review);
  if (answer_) {
    exchange->Respond(answer_(review->root()));
    return;
  }
  json::Arena arena;
  const Value request = (*review)["request"];
  json::ArrayBuilder objects(arena);
  for (const Value& object : request["objects"].elements()) {
    Value converted = Converted(arena, object, request["desiredAPIVersion"].AsString());
    objects.Add(twist_ ? twist_(arena, converted) : converted);
  }
  const Value answer =
      json::ObjectBuilder(arena)
          .Set("kind", "ConversionReview")
          .Set("apiVersion", (*review)["apiVersion"])
          .Set("response",
               json::ObjectBuilder(arena)
                   .Set("uid", request["uid"])
                   .Set("convertedObjects", objects.Build())
                   .Set("result", json::ObjectBuilder(arena).Set("status", "Success").Build())
                   .Build())
          .Build();
  response.body = json::ToString(answer);
  exchange->Respond(std::move(response));
}

}  // namespace portcullis::testing
