// SPDX-License-Identifier: Apache-2.0

#include "webhook_server/server.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <optional>
#include <utility>

#include "admission/plugin.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory_reserve.h"
#include "base/strings.h"
#include "golang/netip.h"
#include "golang/time.h"
#include "metrics/metrics.h"
#include "net/client.h"
#include "net/io_threads.h"
#include "net/server.h"
#include "net/tls_reload.h"
#include "plugins/registry.h"
#include "review/review.h"
#include "server/allocation_failure.h"
#include "server/memory_budget.h"
#include "server/process_gauges.h"
#include "server/worker_pool.h"
#include "store/shrink.h"
#include "webhook_server/backend.h"
#include "webhook_server/serving_certificate.h"

namespace portcullis::webhook_server {
namespace {

// Objects old and new of up to 3 MiB each, and room for escapes.
constexpr std::size_t kMaxBody = std::size_t{16} << 20;
// Bodies of all clients, half of it for one address: who they are is not asked without --client-ca-file.
constexpr std::size_t kMostBodies = std::size_t{128} << 20;
// A review takes a multiple of its body; so much of the memory limit may be bodies.
constexpr std::size_t kBodyShare = 8;
// What a connection may take before anybody knows whose it is: TLS, and a head.
constexpr std::size_t kPerConnection = std::size_t{64} << 10;
constexpr std::size_t kMostWorkers = 64;
// API servers send short heads over few connections.
constexpr std::size_t kMaxHead = std::size_t{64} << 10;
// Connections from one address on which no client has shown a certificate of --client-ca-file.
constexpr std::size_t kMaxStrangers = 2000;
// What an API server waits for a webhook at most.
constexpr std::chrono::seconds kLongestReview{30};

net::Response Plain(int status, std::string text) {
  net::Response response;
  response.status = status;
  response.headers = {{"Content-Type", "text/plain; charset=utf-8"},
                      {"X-Content-Type-Options", "nosniff"}};
  response.body = std::move(text);
  return response;
}

// An API server asks again after a second, as long as the webhook's timeout lets it.
net::Response TryLater(int status, std::string text) {
  net::Response response = Plain(status, std::move(text));
  response.headers.Set("Retry-After", "1");
  return response;
}

net::BodyLimits BodyLimitsFor(std::size_t memory) {
  const std::size_t total = std::clamp(memory / kBodyShare, kMaxBody, kMostBodies);
  return {.total = total, .per_owner = std::max(total / 2, kMaxBody)};
}

// The media type without its parameters.
bool IsJson(std::string_view content_type) {
  const auto cut = base::Cut(content_type, ";");
  return base::EqualsIgnoreCase(base::Trim(cut ? cut->first : content_type), "application/json");
}

// "timeout=10s" of the query, as an API server sends it.
base::Duration TimeoutOf(std::string_view query) {
  for (const std::string_view pair : base::Split(query, '&')) {
    if (!pair.starts_with("timeout=")) continue;
    const auto timeout = golang::ParseDuration(pair.substr(8));
    if (timeout.ok() && *timeout > 0) {
      return std::min<base::Duration>(std::chrono::nanoseconds(*timeout), kLongestReview);
    }
  }
  return kLongestReview;
}

class Server final : public WebhookServer {
 public:
  Server(const Options& options, const base::Clock& clock)
      : clock_(clock),
        https_(net::HttpsClient::Create(threads_)),
        requests_(metrics_.AddCounter(
            {"controller_runtime_webhook_requests_total",
             "Total number of admission requests by HTTP status code.", metrics::Stability::kNone},
            {"webhook", "code"})),
        latency_(metrics_.AddHistogram({"controller_runtime_webhook_latency_seconds",
                                        "Histogram of the latency of processing admission requests",
                                        metrics::Stability::kNone},
                                       {"webhook"},
                                       {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10})),
        in_flight_(metrics_.AddGauge(
            {"controller_runtime_webhook_requests_in_flight",
             "Current number of admission requests being served.", metrics::Stability::kNone},
            {"webhook"})),
        requires_certificate_(!options.client_ca_file.empty()) {}
  ~Server() override { Stop(std::chrono::milliseconds(0)); }

  base::Status Build(const Options& options) {
    TRY(threads_.status());
    memory_.emplace(TRY(server::ReadMemoryLimit(options.memory_limit)), base::UsedMemory, clock_);
    const ServingCertificate serving = TRY(MakeServingCertificate(options, clock_.Now()));
    backend_ = TRY(Backend::Create(options, clock_, *https_, metrics_));
    memory_->AddCache([this] { store::ForgetDocuments(*backend_->world().store); });
    net::ServerOptions listening;
    const bool is_ipv6 = options.bind_address.find(':') != std::string::npos;
    listening.address =
        base::StrCat(is_ipv6 ? base::StrCat("[", options.bind_address, "]") : options.bind_address,
                     ":", std::to_string(options.secure_port));
    listening.clock = &clock_;
    listening.tls = TRY(net::ServerTls::Create(serving.tls));
    listening.max_header_bytes = kMaxHead;
    listening.max_strangers_per_address = kMaxStrangers;
    listening.max_body_bytes = [](const net::Request&) { return kMaxBody; };
    listening.bodies_on_demand = true;
    listening.bodies = BodyLimitsFor(memory_->limit());
    listening.max_connections =
        std::min(listening.max_connections, memory_->limit() / kPerConnection);
    workers_.emplace(kMostWorkers);
    server_ = TRY(net::HttpsServer::Listen(
        threads_, std::move(listening), [this](const std::shared_ptr<net::Exchange>& exchange) {
          server::AnswerIfMemoryRunsOut(*exchange, [&] { Handle(exchange); });
        }));
    reloader_.emplace(threads_, *server_, serving.tls, serving.files);
    server::AddProcessGauges(metrics_, *backend_->world().release, *memory_, server_);
    base::LimitMemory(memory_->limit(), &*memory_);
    return base::OkStatus();
  }

  const std::string& address() const override { return server_->address(); }
  void AnnounceStop() override { stopping_.store(true, std::memory_order_release); }

  void Stop(std::chrono::milliseconds grace) override {
    AnnounceStop();
    if (server_ != nullptr) server_->Shutdown(grace);
    workers_.reset();
    reloader_.reset();
    base::LimitMemory(std::numeric_limits<std::size_t>::max());
    if (memory_) memory_->Stop();  // before the cache goes
  }

 private:
  using ExchangePtr = std::shared_ptr<net::Exchange>;

  // What a path asks.
  struct Route {
    std::string path;
    review::Scope scope;
  };

  // On an I/O thread.
  void Handle(const ExchangePtr& exchange) {
    const net::Request& request = exchange->request();
    const std::string_view path = request.path();
    if (path == "/healthz" || path == "/livez") return exchange->Respond(Plain(200, "ok"));
    if (path == "/readyz") return exchange->Respond(Ready());
    if (requires_certificate_) {
      const auto certificate = exchange->client_certificate();
      if (certificate == nullptr || !certificate->error.empty()) {
        return exchange->Respond(
            Plain(401, "a client certificate of --client-ca-file is needed\n"));
      }
      exchange->MarkKnown();
    }
    if (path == "/metrics") return exchange->Respond(Metrics());
    const auto route = RouteOf(path);
    if (!route) return exchange->Respond(Plain(404, NoRoute(path)));
    if (const auto refusal = RefuseRequest(*exchange)) {
      Count(route->path, refusal->status);
      return exchange->Respond(*refusal);
    }
    if (!exchange->body_complete()) return ReadBody(exchange, *route);
    Begin(exchange, *route);
  }

  void ReadBody(const ExchangePtr& exchange, const Route& route) {
    const auto peer = golang::SplitHostPort(exchange->remote_address());
    const auto until = exchange->received_at() + TimeoutOf(exchange->request().query());
    exchange->ReadBody(
        {peer.ok() ? peer->first : "", until}, [this, exchange, route](net::BodyRead outcome) {
          server::AnswerIfMemoryRunsOut(*exchange, [&] { Resume(exchange, route, outcome); });
        });
  }

  void Resume(const ExchangePtr& exchange, const Route& route, net::BodyRead outcome) {
    if (outcome == net::BodyRead::kComplete) return Begin(exchange, route);
    net::Response refusal = Plain(408, "the body has not come in time\n");
    if (outcome == net::BodyRead::kTooLarge) refusal = Plain(413, "the body is too large\n");
    if (outcome == net::BodyRead::kRefused)
      refusal = Plain(429, "too many bodies are on their way\n");
    Count(route.path, refusal.status);
    exchange->Respond(std::move(refusal));
  }

  std::optional<Route> RouteOf(std::string_view path) const {
    Route route;
    route.path = std::string(path);
    std::string_view rest;
    if (path.starts_with("/mutate")) {
      route.scope.phase = admission::kMutate;
      rest = path.substr(7);
    } else if (path.starts_with("/validate")) {
      route.scope.phase = admission::kValidate;
      rest = path.substr(9);
    } else {
      return std::nullopt;
    }
    if (rest.empty()) return route;
    for (const admission::PluginInfo* plugin : backend_->choice().chosen) {
      if (rest.substr(1) != plugin->name || rest[0] != '/') continue;
      if ((plugin->phases & route.scope.phase) == 0) return std::nullopt;
      route.scope.plugin = plugin->name;
      return route;
    }
    return std::nullopt;
  }

  std::string NoRoute(std::string_view path) const {
    std::string text = base::StrCat(path, " is not served; these are: /mutate /validate");
    for (const admission::PluginInfo* plugin : backend_->choice().chosen) {
      if ((plugin->phases & admission::kMutate) != 0)
        text += base::StrCat(" /mutate/", plugin->name);
      if ((plugin->phases & admission::kValidate) != 0) {
        text += base::StrCat(" /validate/", plugin->name);
      }
    }
    return text + "\n";
  }

  std::optional<net::Response> RefuseRequest(const net::Exchange& exchange) {
    const net::Request& request = exchange.request();
    if (request.method != "POST") return Plain(405, "AdmissionReviews are posted\n");
    if (exchange.body_too_large()) return Plain(413, "the body is too large\n");
    if (!IsJson(request.headers.Get("Content-Type"))) {
      return Plain(415, "the Content-Type of an AdmissionReview is application/json\n");
    }
    if (!is_ready_.load(std::memory_order_acquire)) {
      if (!backend_->Missing().empty()) return TryLater(503, "not ready: see /readyz\n");
      is_ready_.store(true, std::memory_order_release);
    }
    if (!memory_->Admits(exchange.received_at())) return TryLater(429, "memory is short\n");
    return std::nullopt;
  }

  void Begin(const ExchangePtr& exchange, const Route& route) {
    in_flight_.With({route.path}).Add(1);
    const auto until = exchange->received_at() + TimeoutOf(exchange->request().query());
    auto read = review::Review::Read(backend_->world(), exchange->TakeBody());
    if (!read.ok()) {
      return Finish(*exchange, route, Plain(400, read.status().message() + "\n"));
    }
    std::shared_ptr<review::Review> review = std::move(read).value();
    review->set_deadline(until);
    if (!backend_->MayWait(review->attributes()) && !review->MayWait()) {
      return Answer(*exchange, route, *review);
    }
    workers_->Post([this, exchange, route, review] {
      server::AnswerIfMemoryRunsOut(*exchange, [&] {
        backend_->Prepare(review->attributes());
        Answer(*exchange, route, *review);
      });
    });
  }

  void Answer(net::Exchange& exchange, const Route& route, review::Review& review) {
    net::Response response;
    response.headers = {{"Content-Type", "application/json"}};
    response.body = review.Answer(route.scope);
    base::LogDebug("review", {{"path", route.path},
                              {"allowed", review.verdict().ok() ? "true" : "false"},
                              {"message", review.verdict().message()}});
    Finish(exchange, route, std::move(response));
  }

  void Finish(net::Exchange& exchange, const Route& route, net::Response response) {
    Count(route.path, response.status);
    in_flight_.With({route.path}).Add(-1);
    const base::Duration took = clock_.Steady() - exchange.received_at();
    latency_.With({route.path}).Observe(std::chrono::duration<double>(took).count());
    exchange.Respond(std::move(response));
  }

  void Count(std::string_view path, int status) {
    requests_.With({path, std::to_string(status)}).Increment();
  }

  net::Response Ready() {
    if (stopping_.load(std::memory_order_acquire)) return Plain(503, "stopping\n");
    memory_->Refresh(clock_.Steady());
    if (memory_->is_short()) return Plain(503, "memory is short\n");
    const std::vector<std::string> missing = backend_->Missing();
    if (missing.empty()) return Plain(200, "ok");
    return Plain(503, base::StrCat("waits for:\n", base::Join(missing, "\n"), "\n"));
  }

  net::Response Metrics() const {
    net::Response response;
    response.headers = {{"Content-Type", std::string(metrics::kContentType)}};
    response.body = metrics_.Expose();
    return response;
  }

  const base::Clock& clock_;
  metrics::Registry metrics_;
  net::IoThreads threads_;
  std::unique_ptr<net::HttpsClient> https_;
  metrics::Family<metrics::Counter>& requests_;
  metrics::Family<metrics::Histogram>& latency_;
  metrics::Family<metrics::Gauge>& in_flight_;
  const bool requires_certificate_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> is_ready_{false};  // it was once: nothing that is there goes
  std::optional<server::MemoryBudget> memory_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<net::HttpsServer> server_;
  std::optional<net::TlsReloader> reloader_;
  std::optional<server::WorkerPool> workers_;
};

}  // namespace

base::Result<std::unique_ptr<WebhookServer>> WebhookServer::Start(const Options& options,
                                                                  const base::Clock& clock) {
  base::PutMemoryAside();
  auto server = std::make_unique<Server>(options, clock);
  TRY(server->Build(options));
  return std::unique_ptr<WebhookServer>(std::move(server));
}

}  // namespace portcullis::webhook_server
