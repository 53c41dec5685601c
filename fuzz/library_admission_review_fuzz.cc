// SPDX-License-Identifier: Apache-2.0

// Any bytes as an AdmissionReview that an API server sends to `portcullis webhook`, and as a request to
// the library, both judged by the whole chain. What is answered is an AdmissionReview for the same
// request; only the mutating phase patches, and its patch fits the object of the request.
#include <portcullis/portcullis.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/strings.h"
#include "json/patch.h"
#include "json/reader.h"
#include "json/writer.h"

namespace json = portcullis::json;

namespace {

// A policy, defaults of a namespace and a quota, so that plugins have something to say.
constexpr std::string_view kObjects = R"(
apiVersion: v1
kind: Namespace
metadata: {name: a, labels: {pod-security.kubernetes.io/enforce: baseline}}
---
apiVersion: v1
kind: LimitRange
metadata: {name: l, namespace: a}
spec: {limits: [{type: Container, default: {cpu: 1}}]}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: q, namespace: a}
spec: {hard: {pods: 1}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: ["*"], apiVersions: ["*"], resources: ["*"], operations: ["*"]}]
  validations: [{expression: "request.operation != 'CREATE' || object.metadata.name != 'refused'"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: p}
spec: {policyName: p, validationActions: [Deny]}
)";

constexpr const char* kOptions =
    R"({"enableAdmissionPlugins":["AlwaysPullImages","NodeRestriction"]})";

portcullis_cluster* Cluster() {
  static portcullis_cluster* const cluster = [] {
    portcullis_cluster* const opened = portcullis_open(kOptions, nullptr);
    if (opened == nullptr) std::abort();
    if (portcullis_add(opened, kObjects.data(), kObjects.size(), nullptr) != 5) std::abort();
    return opened;
  }();
  return cluster;
}

// The JSON of an answer; none, but an error, is right too.
std::optional<json::Value> Read(json::Arena& arena, char* answer, char* error) {
  const std::unique_ptr<char, decltype(&portcullis_free)> text(answer, &portcullis_free);
  const std::unique_ptr<char, decltype(&portcullis_free)> message(error, &portcullis_free);
  if ((text == nullptr) != (message != nullptr)) std::abort();
  if (text == nullptr) return std::nullopt;
  const auto value = json::Parse(arena, arena.Copy(text.get()));
  if (!value.ok()) std::abort();
  return *value;
}

void Review(std::string_view body, portcullis_phase phase) {
  json::Arena arena;
  char* error = nullptr;
  char* const text = portcullis_review(Cluster(), body.data(), body.size(), phase, nullptr, &error);
  const auto answer = Read(arena, text, error);
  if (!answer) return;
  const auto asked = json::Parse(arena, arena.Copy(body));
  if (!asked.ok()) std::abort();
  const json::Value response = (*answer)["response"];
  if ((*answer)["kind"].AsString() != "AdmissionReview") std::abort();
  if ((*answer)["apiVersion"].AsString() != (*asked)["apiVersion"].AsString()) std::abort();
  if (!response["allowed"].is_bool() || !response["uid"].is_string()) std::abort();
  if (!response.Has("patch")) return;
  if (phase != PORTCULLIS_MUTATE || !response["allowed"].AsBool()) std::abort();
  const auto decoded = portcullis::base::Base64Decode(response["patch"].AsString());
  if (!decoded) std::abort();
  const auto patch = json::DecodePatch(arena, arena.Copy(*decoded));
  if (!patch.ok()) std::abort();
  // Keys may be written in another case; which of several counts is the decoder's to say.
  const json::Value object = (*asked)["request"]["object"];
  if (!object.is_object()) return;
  if (!json::ApplyPatch(arena, object, *patch, {}).ok()) std::abort();
}

void Admit(std::string_view request) {
  json::Arena arena;
  char* error = nullptr;
  char* const text = portcullis_admit(Cluster(), request.data(), request.size(), &error);
  const auto result = Read(arena, text, error);
  if (!result) return;
  if (!(*result)["allowed"].is_bool()) std::abort();
  if (!(*result)["allowed"].AsBool() && (*result)["code"].AsInt() < 400) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Review(text, PORTCULLIS_MUTATE);
  Review(text, PORTCULLIS_VALIDATE);
  Admit(text);
  return 0;
}
