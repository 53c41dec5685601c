// SPDX-License-Identifier: Apache-2.0

// Both dispatchers against a real HTTPS server that answers as each test tells it.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admission/catalog_objects.h"
#include "admission/store_feed.h"
#include "api/catalog/catalog.h"
#include "base/strings.h"
#include "json/reader.h"
#include "json/writer.h"
#include "net/testing/on_fiber.h"
#include "net/testing/test_server.h"
#include "store/memory/memory_store.h"
#include "webhook/mutating_dispatcher.h"
#include "webhook/service_resolver.h"
#include "webhook/validating_dispatcher.h"
#include "webhook/webhook_plugin.h"

namespace portcullis::webhook::testing {

// What the server answers on a path: the members of `response` besides the uid, or anything else.
struct Answer {
  std::string response = R"("allowed":true)";
  int status = 200;
  std::string raw_body;
  std::string content_type = "application/json";
  std::string retry_after;
  bool hang = false;
  bool drop = false;
};

inline std::string Patch(std::string_view operations) {
  return base::StrCat(R"("allowed":true,"patchType":"JSONPatch","patch":")",
                      base::Base64Encode(operations), "\"");
}

// The parameter: whether what waits for webhooks is a fiber of an I/O thread, not a thread.
class DispatchTest : public ::testing::TestWithParam<bool> {
 protected:
  DispatchTest() {
    feed_ = admission::MakeStoreFeed(*store_);
    resolver_ = MakeServiceResolver(*store_, {.table = {{"ns/svc:443", Address()}}});
  }
  ~DispatchTest() override {
    // Exchanges left hanging are dropped before the server goes.
    const std::lock_guard lock(mutex_);
    hanging_.clear();
  }

  std::string Address() const { return "127.0.0.1:" + std::to_string(server_.server->port()); }

  void Serve(const std::shared_ptr<net::Exchange>& exchange) {
    const std::string path(exchange->request().path());
    json::Arena arena;
    const auto review = json::Parse(arena, exchange->request().body);
    Answer answer;
    {
      const std::lock_guard lock(mutex_);
      calls_.push_back(base::StrCat(exchange->request().target));
      if (review.ok()) bodies_.push_back(exchange->request().body);
      if (auto& queue = answers_[path]; !queue.empty()) {
        answer = queue.front();
        if (queue.size() > 1) queue.erase(queue.begin());
      }
      if (answer.hang) {
        hanging_.push_back(exchange);
        return;
      }
    }
    if (answer.drop) return;
    net::Response response;
    response.status = answer.status;
    response.headers.Set("Content-Type", answer.content_type);
    if (!answer.retry_after.empty()) response.headers.Set("Retry-After", answer.retry_after);
    response.body = answer.raw_body;
    if (response.body.empty()) {
      response.body = base::StrCat(
          R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":")",
          review.ok() ? (*review)["request"]["uid"].AsString() : "", "\",", answer.response, "}}");
    }
    exchange->Respond(std::move(response));
  }

  // A webhook entry as JSON; `more` adds or replaces members.
  std::string Hook(std::string_view name, std::string_view path, std::string_view more = "") {
    return base::StrCat(
        R"({"name":")", name, R"(","clientConfig":{"url":")", server_.Url(path),
        R"(","caBundle":")", base::Base64Encode(server_.certificates.authority.certificate_pem),
        R"("},"rules":[{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],"resources":)"
        R"(["*/*"]}],"namespaceSelector":{},"objectSelector":{},"sideEffects":"None",)"
        R"("timeoutSeconds":5,"admissionReviewVersions":["v1"])",
        more.empty() ? "" : ",", more, "}");
  }

  void Configure(std::string_view resource, std::string_view name,
                 std::initializer_list<std::string> hooks) {
    store::Encoded object;
    object.bytes = base::StrCat(R"({"metadata":{"name":")", name, R"(","resourceVersion":"")",
                                R"(},"webhooks":[)", base::Join(hooks, ","), "]}");
    object.revision_at = object.bytes.find(R"("resourceVersion":")") + 19;
    ASSERT_TRUE(store_->Create({"admissionregistration.k8s.io", resource, "", name}, object).ok());
  }
  void Validating(std::initializer_list<std::string> hooks) {
    Configure("validatingwebhookconfigurations", "v", hooks);
  }
  void Mutating(std::initializer_list<std::string> hooks) {
    Configure("mutatingwebhookconfigurations", "m", hooks);
  }

  admission::Attributes ConfigMap(std::string_view more = R"("data":{"a":"1"})") {
    admission::Attributes attributes;
    attributes.resource = {"", "v1", "configmaps"};
    attributes.kind = {"", "v1", "ConfigMap"};
    attributes.namespace_name = "default";
    attributes.name = "c";
    attributes.user.name = "alice";
    const std::string text = base::StrCat(
        R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"default"},)",
        more, "}");
    attributes.object = *json::Parse(arena_, text);
    return attributes;
  }

  admission::PluginContext Context() {
    admission::PluginContext context;
    context.reader = store_.get();
    context.feed = feed_.get();
    context.https = server_.client.get();
    context.services = resolver_.get();
    context.objects = &objects_;
    context.metrics = &metrics_;
    context.release = &release_;
    return context;
  }

  // From here on plugins are those of that release of Kubernetes.
  void SetRelease(std::string_view version) {
    validating_.reset();
    mutating_.reset();
    release_ = release::Release::Open(version).value();
  }

  base::Status Validate(admission::Attributes attributes) {
    if (validating_ == nullptr) {
      validating_ = WebhookPluginCore::Create(Context(), HookType::kValidating).value();
    }
    const admission::Request request(std::move(attributes), arena_, recorder_);
    const auto hooks = validating_->HooksFor(request);
    if (hooks == nullptr) return base::OkStatus();
    return Run([&] { return DispatchValidating(validating_->services(), *hooks, request); });
  }

  template <typename Work>
  base::Status Run(Work work) {
    return GetParam() ? net::testing::OnFiber(server_.io, 0, std::move(work)) : work();
  }

  // The outcome and, if it went well, the data of the ConfigMap.
  std::string Mutate(admission::Attributes attributes, int passes = 1) {
    if (mutating_ == nullptr) {
      mutating_ = WebhookPluginCore::Create(Context(), HookType::kMutating).value();
    }
    admission::Request request(std::move(attributes), arena_, recorder_);
    const auto hooks = mutating_->HooksFor(request);
    for (int pass = 0; pass < passes; ++pass) {
      if (pass == 1) request.reinvocation().BeginSecondPass();
      const base::Status status =
          Run([&] { return DispatchMutating(mutating_->services(), *hooks, request); });
      if (!status.ok())
        return base::StrCat(std::to_string(status.http_code()), " ", status.message());
    }
    return json::ToString(request.object()["data"], {.sort_keys = true, .splice_source = false});
  }

  std::map<std::string, std::string> Annotations() const {
    std::map<std::string, std::string> out;
    for (const auto& annotation : recorder_.annotations()) out[annotation.key] = annotation.value;
    return out;
  }

  std::mutex mutex_;
  std::map<std::string, std::vector<Answer>> answers_;
  std::vector<std::string> calls_;
  std::vector<std::string> bodies_;
  std::vector<std::shared_ptr<net::Exchange>> hanging_;

  json::Arena arena_;
  admission::Recorder recorder_;
  metrics::Registry metrics_;
  std::unique_ptr<store::Store> store_ = store::OpenMemory();
  std::unique_ptr<admission::ObjectFeed> feed_;
  std::unique_ptr<admission::ServiceResolver> resolver_;
  std::shared_ptr<const api::catalog::Catalog> catalog_ =
      api::catalog::Catalog::BuiltIn({}).value();
  admission::CatalogObjects objects_{[this] { return catalog_; }, nullptr};
  net::testing::TestServer server_{
      [this](const std::shared_ptr<net::Exchange>& exchange) { Serve(exchange); }};
  release::Release release_ = release::Release::Newest();
  std::unique_ptr<WebhookPluginCore> validating_;
  std::unique_ptr<WebhookPluginCore> mutating_;
};

}  // namespace portcullis::webhook::testing
