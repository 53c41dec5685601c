// SPDX-License-Identifier: Apache-2.0

// What calling a webhook costs over the bare round trip to its server: the same bytes to and fro,
// over kept HTTPS connections. Client and server share the process and the machine.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "admission/catalog_objects.h"
#include "admission/store_feed.h"
#include "api/catalog/catalog.h"
#include "base/strings.h"
#include "json/reader.h"
#include "net/client.h"
#include "net/server.h"
#include "pki/certificates.h"
#include "store/memory/memory_store.h"
#include "webhook/validating_dispatcher.h"
#include "webhook/webhook_plugin.h"

namespace portcullis {
namespace {

// A webhook server that allows everything, and what calls it.
class Stage {
 public:
  explicit Stage(int hooks) {
    const auto now = base::SystemClock().Now();
    const auto authority = pki::MakeAuthority("bench", now).value();
    pki::CertificateRequest certificate;
    certificate.ip_addresses = {"127.0.0.1"};
    certificate.server = true;
    const auto serving = pki::Issue(authority, certificate, now).value();
    net::ServerOptions options;
    net::ServerTlsOptions tls;
    tls.certificate = {serving.certificate_pem, serving.key_pem, {}};
    options.tls = net::ServerTls::Create(tls).value();
    server_ = net::HttpsServer::Listen(
                  server_threads_, std::move(options),
                  [this](const std::shared_ptr<net::Exchange>& exchange) { Allow(*exchange); })
                  .value();
    client_ = net::HttpsClient::Create(client_threads_);
    call_.url = base::StrCat("https://", server_->address(), "/allow?timeout=10s");
    call_.tls = net::ClientTls::Create({.ca_pem = authority.certificate_pem}).value();
    call_.headers = {{"User-Agent", "kube-apiserver-admission"},
                     {"Accept", "application/json, */*"},
                     {"Content-Type", "application/json"}};
    Configure(hooks, authority.certificate_pem);
    admission::PluginContext context;
    context.reader = store_.get();
    context.feed = feed_.get();
    context.https = client_.get();
    context.objects = &objects_;
    context.metrics = &metrics_;
    core_ = webhook::WebhookPluginCore::Create(context, webhook::HookType::kValidating).value();
    attributes_.resource = {"", "v1", "configmaps"};
    attributes_.kind = {"", "v1", "ConfigMap"};
    attributes_.namespace_name = "default";
    attributes_.name = "c";
    attributes_.user.name = "admin";
    attributes_.user.groups = {"system:masters", "system:authenticated"};
    attributes_.object = json::Parse(arena_, kConfigMap).value();
    Admit();  // the server has seen the bytes
    call_.body = std::make_shared<const std::string>(body_);
  }

  bool RoundTrip() {
    const auto deadline = base::SystemClock().Steady() + std::chrono::seconds(10);
    return client_->Call(call_, deadline).ok();
  }

  bool Admit() {
    json::Arena arena;
    admission::Recorder recorder;
    const admission::Request request(attributes_, arena, recorder);
    const auto hooks = core_->HooksFor(request);
    return webhook::DispatchValidating(core_->services(), *hooks, request).ok();
  }

 private:
  static constexpr std::string_view kConfigMap =
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"default",)"
      R"("uid":"705ab4f5-6393-11e8-b7cc-42010a800002","creationTimestamp":"2026-11-21T08:00:00Z",)"
      R"("managedFields":[{"manager":"bench","operation":"Update","apiVersion":"v1",)"
      R"("time":"2026-11-21T08:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:data":{".":{},)"
      R"("f:key":{}}}}]},"data":{"key":"value"}})";

  void Allow(net::Exchange& exchange) {
    const std::string& review = exchange.request().body;
    if (body_.empty()) body_ = review;
    constexpr std::string_view kMark = "\"uid\":\"";
    const auto uid = review.find(kMark) + kMark.size();
    net::Response response;
    response.headers.Add("Content-Type", "application/json");
    response.body = base::StrCat(
        R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":")",
        review.substr(uid, 36), R"(","allowed":true}})");
    exchange.Respond(std::move(response));
  }

  void Configure(int hooks, const std::string& ca_pem) {
    std::vector<std::string> texts;
    for (int i = 0; i < hooks; ++i) {
      texts.push_back(base::StrCat(
          R"({"name":"hook-)", std::to_string(i),
          R"(.example.com","clientConfig":{"url":"https://)", server_->address(),
          R"(/allow","caBundle":")", base::Base64Encode(ca_pem),
          R"("},"rules":[{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],"resources":)"
          R"(["*/*"]}],"namespaceSelector":{},"objectSelector":{},"sideEffects":"None",)"
          R"("timeoutSeconds":10,"admissionReviewVersions":["v1"]})"));
    }
    store::Encoded object;
    object.bytes = base::StrCat(R"({"metadata":{"name":"v","resourceVersion":""},"webhooks":[)",
                                base::Join(texts, ","), "]}");
    object.revision_at = object.bytes.find(R"("resourceVersion":")") + 19;
    (void)store_->Create(
        {"admissionregistration.k8s.io", "validatingwebhookconfigurations", "", "v"}, object);
    feed_ = admission::MakeStoreFeed(*store_);
  }

  net::IoThreads server_threads_{1};
  net::IoThreads client_threads_{1};
  std::string body_;
  std::unique_ptr<net::HttpsServer> server_;
  std::unique_ptr<net::HttpsClient> client_;
  net::ClientRequest call_;
  std::unique_ptr<store::Store> store_ = store::OpenMemory();
  std::unique_ptr<admission::ObjectFeed> feed_;
  std::shared_ptr<const api::catalog::Catalog> catalog_ =
      api::catalog::Catalog::BuiltIn({}).value();
  admission::CatalogObjects objects_{[this] { return catalog_; }, nullptr};
  metrics::Registry metrics_;
  std::unique_ptr<webhook::WebhookPluginCore> core_;
  json::Arena arena_;
  admission::Attributes attributes_;
};

void BareRoundTrip(benchmark::State& state) {
  Stage stage(1);
  for (auto _ : state) {
    if (!stage.RoundTrip()) state.SkipWithError("the call failed");
  }
}

void Validating(benchmark::State& state) {
  Stage stage(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    if (!stage.Admit()) state.SkipWithError("refused");
  }
}

BENCHMARK(BareRoundTrip)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(Validating)
    ->Arg(1)
    ->Arg(10)
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace portcullis
