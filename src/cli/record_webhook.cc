// SPDX-License-Identifier: Apache-2.0

#include "cli/record_webhook.h"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "audit/review_event.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/strings.h"
#include "cli/server_process.h"
#include "json/reader.h"
#include "json/writer.h"
#include "net/io_threads.h"
#include "net/server.h"
#include "net/tls.h"
#include "net/url.h"
#include "pki/key_folder.h"
#include "webhook_server/serving_certificate.h"

namespace portcullis::cli {
namespace {

using webhook_server::Target;

constexpr std::string_view kName = "portcullis-record";
constexpr std::chrono::seconds kGrace{2};
// Objects old and new of up to 3 MiB each, and room for escapes.
constexpr std::size_t kMaxBody = std::size_t{16} << 20;

base::Result<Target> TargetOf(const RecordingWebhookOptions& options, const std::string& address) {
  if (!options.service.empty() && !options.url.empty()) {
    return base::BadRequest("--service and --url both say where the webhook is reached");
  }
  if (!options.service.empty()) return webhook_server::TargetOfService(options.service);
  Target target;
  target.url = options.url.empty() ? base::StrCat("https://", address, "/record") : options.url;
  const auto url = TRY(net::ParseUrl(target.url));
  if (url.scheme != "https") return base::BadRequest("--url must begin with https://");
  if (url.host == "0.0.0.0" || url.host == "::") {
    return base::BadRequest(
        "--service or --url has to say where the API server reaches a webhook that listens at all "
        "addresses");
  }
  return target;
}

// Everything but what a server does by itself all the time.
std::string ConfigurationText(const Target& target, std::string_view ca_pem, bool mutating) {
  const std::string ca = base::Base64Encode(ca_pem);
  std::string client = base::StrCat("    caBundle: ", ca, "\n");
  if (target.name.empty()) {
    client += base::StrCat("    url: ", target.url, "\n");
  } else {
    client += base::StrCat("    service: {namespace: ", target.ns, ", name: ", target.name,
                           ", port: ", std::to_string(target.port), ", path: /record}\n");
  }
  // A mutating webhook whose name comes first sees what the others have not changed yet.
  return base::StrCat(
      "apiVersion: admissionregistration.k8s.io/v1\nkind: ", mutating ? "Mutating" : "Validating",
      "WebhookConfiguration\nmetadata: {name: ", mutating ? "0-" : "", kName,
      "}\nwebhooks:\n- name: record.portcullis.dev\n  clientConfig:\n", client,
      "  admissionReviewVersions: [v1, v1beta1]\n"
      "  sideEffects: NoneOnDryRun\n"
      "  failurePolicy: Ignore\n"
      "  timeoutSeconds: 2\n"
      "  matchPolicy: Exact\n"
      "  namespaceSelector:\n"
      "    matchExpressions:\n"
      "    - {key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system, "
      "kube-node-lease]}\n"
      "  rules:\n"
      "  - {apiGroups: ['*'], apiVersions: ['*'], operations: [CREATE, UPDATE, DELETE], "
      "resources: ['*/*']}\n");
}

net::Response Plain(int status, std::string text) {
  net::Response response;
  response.status = status;
  response.headers = {{"Content-Type", "text/plain; charset=utf-8"}};
  response.body = std::move(text);
  return response;
}

// Answers one request; called on I/O threads.
net::Response AnswerTo(const net::Request& request, audit::Recording& recording) {
  if (request.method == "GET" && (request.path() == "/healthz" || request.path() == "/readyz")) {
    return Plain(200, "ok");
  }
  if (request.method != "POST") return Plain(405, "AdmissionReviews are posted\n");
  json::Arena arena;
  const auto review = json::Parse(arena, request.body);
  const bool is_review = review.ok() && (*review)["kind"].AsString() == "AdmissionReview" &&
                         (*review)["request"].is_object();
  if (!is_review) return Plain(400, "the body is no AdmissionReview with a request\n");
  const json::Value asked = (*review)["request"];
  if (auto event = audit::EventOfReview(asked, base::SystemClock().Now())) {
    const base::Status written = recording.Write(*std::move(event));
    if (!written.ok()) base::LogError("recording", {{"err", written.message()}});
  }
  net::Response response;
  response.headers = {{"Content-Type", "application/json"}};
  const json::Value answer =
      json::ObjectBuilder(arena).Set("uid", asked["uid"]).Set("allowed", true).Build();
  response.body = json::ToString(json::ObjectBuilder(arena)
                                     .Set("apiVersion", (*review)["apiVersion"])
                                     .Set("kind", "AdmissionReview")
                                     .Set("response", answer)
                                     .Build());
  return response;
}

}  // namespace

base::Status RunRecordingWebhook(const RecordingWebhookOptions& options,
                                 audit::Recording& recording) {
  const sigset_t signals = BlockSignals({SIGINT, SIGTERM});
  net::IoThreads threads;
  TRY(threads.status());
  net::ServerOptions listening;
  listening.address = options.listen;
  listening.max_body_bytes = [](const net::Request&) { return kMaxBody; };
  // It takes connections before the certificate names the port, and no handshakes until it has one.
  const auto folder = TRY(
      pki::KeyFolder::Open(options.cert_dir, "portcullis-record-ca", base::SystemClock().Now()));
  pki::CertificateRequest wanted;
  wanted.common_name = kName;
  wanted.server = true;
  pki::AddHost(wanted, TRY(TargetOf(options, options.listen)).host());
  const pki::KeyPair pair = TRY(folder.Certificate("server", wanted));
  net::ServerTlsOptions tls;
  tls.certificate = {pair.certificate_pem, pair.key_pem, {}};
  listening.tls = TRY(net::ServerTls::Create(tls));
  const auto server = TRY(net::HttpsServer::Listen(
      threads, std::move(listening), [&recording](const std::shared_ptr<net::Exchange>& exchange) {
        if (exchange->body_too_large()) return exchange->Respond(Plain(413, "too large\n"));
        exchange->Respond(AnswerTo(exchange->request(), recording));
      }));
  const Target target = TRY(TargetOf(options, server->address()));
  const std::string text =
      ConfigurationText(target, folder.authority().certificate_pem, options.mutating);
  if (options.configuration.empty()) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  } else {
    TRY(base::WriteSharedFile(options.configuration, text));
  }
  std::fputs(base::StrCat("listening at ", server->address(), "\n").c_str(), stderr);
  int signal = 0;
  sigwait(&signals, &signal);
  server->Shutdown(kGrace);
  return base::OkStatus();
}

}  // namespace portcullis::cli
