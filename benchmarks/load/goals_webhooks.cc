// SPDX-License-Identifier: Apache-2.0

// What webhooks cost.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "base/strings.h"
#include "goals.h"

namespace portcullis::load {
namespace {

using Milliseconds = std::chrono::duration<double, std::milli>;

// One call after the other, of each kind in turn; the medians, in milliseconds.
struct Medians {
  double bare = 0;
  double plain = 0;
  double hooked = 0;
};

double Time(const Target& target, net::ClientRequest request) {
  const auto deadline = base::SystemClock().Steady() + std::chrono::seconds(10);
  const auto result = target.client().Call(std::move(request), deadline);
  return Milliseconds(result.elapsed).count();
}

base::Result<std::unique_ptr<Target>> BareTarget(Workshop& shop) {
  TargetOptions options;
  options.url = shop.webhooks().Url("");
  options.ca_pem = shop.webhooks().ca_pem();
  return Target::Create(shop.load_threads(), options);
}

// The request that the server sends to the webhook for `matching`, head and body, as a plain client
// sends it again and again.
base::Result<MakeRequest> BareRequests(Workshop& shop, const Target& target, const Target& bare,
                                       const MakeRequest& matching) {
  shop.webhooks().CopyNext();
  Time(target, matching(0));
  const auto seen = shop.webhooks().TakeCopy();
  if (seen == nullptr) return base::ConfigError("the webhook has not been called");
  net::ClientRequest request =
      bare.Request(seen->method, seen->target, std::make_shared<const std::string>(seen->body));
  request.headers = seen->headers;
  for (const std::string_view added : {"Host", "Content-Length"}) request.headers.Remove(added);
  return MakeRequest([request](std::size_t) { return request; });
}

}  // namespace

base::Status WebhookOverhead(Workshop& shop) {
  const auto server = TRY(shop.Serve());
  const Target& target = server->target();
  const auto bare = TRY(BareTarget(shop));
  TRY(target.Create("/api/v1/namespaces", NamespaceText("plain")));
  TRY(target.Create("/api/v1/namespaces", NamespaceText("hooked", R"("hooked":"yes")")));
  TRY(CreateHooks(
      target, shop.webhooks(), "allow",
      {{.url = shop.webhooks().Url("/allow"),
        .more = R"(,"namespaceSelector":{"matchLabels":{"hooked":"yes"}},"timeoutSeconds":10)"}}));
  // Dry runs: the disk would only add noise to both sides.
  const MakeRequest plain = CreateConfigMaps(target, "plain", true);
  const MakeRequest hooked = CreateConfigMaps(target, "hooked", true);
  const MakeRequest round_trip = TRY(BareRequests(shop, target, *bare, hooked));
  constexpr std::size_t kWarmUp = 200;
  constexpr std::size_t kCalls = 3000;
  std::vector<double> times[3];
  for (std::size_t i = 0; i < kWarmUp + kCalls; ++i) {
    const double measured[] = {Time(*bare, round_trip(i)), Time(target, plain(i)),
                               Time(target, hooked(i))};
    if (i < kWarmUp) continue;
    for (std::size_t k = 0; k < 3; ++k) times[k].push_back(measured[k]);
  }
  const double trip = Median(times[0]);
  const double added = Median(times[2]) - Median(times[1]);
  shop.findings.push_back({.what = "added to a request, one after the other",
                           .figure = Format("%.1f us", added * 1000),
                           .baseline = Format("%.1f us round trip", trip * 1000),
                           .ratio = added / trip,
                           .target = "<= 1.3x",
                           .met = added <= 1.3 * trip});
  // Many at once share two cores: the time a request takes is what all of them compute.
  const Duel duel = Alternate({&target, plain}, {&target, hooked}, shop.options().connections, 8);
  const Duel trips =
      Alternate({bare.get(), round_trip}, {bare.get(), round_trip}, shop.options().connections, 4);
  const auto per_request = [](const Figures& figures) {
    return 1e6 / figures.requests_per_second;  // us of the whole machine
  };
  const double added_many = per_request(duel.second) - per_request(duel.first);
  shop.findings.push_back(
      {.what = base::StrCat("added to a request, ", std::to_string(shop.options().connections),
                            " at once (1/throughput)"),
       .figure = Format("%.1f us", added_many),
       .baseline = Format("%.1f us round trip", per_request(trips.first)),
       .ratio = added_many / per_request(trips.first),
       .target = "<= 1.3x",
       .met = added_many <= 1.3 * per_request(trips.first)});
  shop.findings.push_back(
      {.what = "CPU of the server per matching request",
       .figure = Format("%.1f us", duel.second.cpu_milliseconds * 1000),
       .baseline = Format("%.1f us without", duel.first.cpu_milliseconds * 1000),
       .ratio = duel.cpu.value});
  return base::OkStatus();
}

base::Status IdleWebhooks(Workshop& shop) {
  constexpr int kConfigurations = 100;
  constexpr int kEach = 100;
  const auto none = TRY(shop.Serve());
  const auto many = TRY(shop.Serve());
  const double before = many->megabytes();
  for (int c = 0; c < kConfigurations; ++c) {
    std::vector<HookText> hooks;
    for (int i = 0; i < kEach; ++i) {
      hooks.push_back({.url = shop.webhooks().Url("/allow"),
                       .resource = base::StrCat("widgets", std::to_string(c * kEach + i))});
    }
    TRY(CreateHooks(many->target(), shop.webhooks(), base::StrCat("idle-", std::to_string(c)),
                    hooks));
  }
  many->Settle();
  const double after = many->megabytes();
  const Duel duel = AlternateOften({&none->target(), CreateConfigMaps(none->target(), "default")},
                                   {&many->target(), CreateConfigMaps(many->target(), "default")},
                                   shop.options().connections);
  AddIdle(shop, duel, "10,000 configured");
  shop.findings.push_back({.what = "memory of a configured webhook",
                           .figure = Format("%.2f KB", (after - before) * 1024 / 10000)});
  return base::OkStatus();
}

base::Status ManyBackends(Workshop& shop) {
  constexpr std::size_t kBackends = 400;
  constexpr int kRounds = 4;
  std::vector<std::unique_ptr<WebhookServer>> backends;
  std::vector<HookText> hooks;
  const auto server = TRY(shop.Serve());
  const auto authority = TRY(MakeLoopbackTls("portcullis-load"));
  for (std::size_t i = 0; i < kBackends; ++i) {
    backends.push_back(TRY(WebhookServer::Start(shop.webhook_threads(), "127.0.0.1:0", authority)));
    hooks.push_back({.url = backends.back()->Url("/allow"),
                     .more = base::StrCat(R"(,"objectSelector":{"matchLabels":{"backend":"b)",
                                          std::to_string(i), R"("}})")});
    if (hooks.size() < 100) continue;
    TRY(CreateHooks(server->target(), *backends.back(),
                    base::StrCat("backends-", std::to_string(i)), hooks));
    hooks.clear();
  }
  const auto turn = [&](std::vector<double>& times) {
    for (std::size_t i = 0; i < kBackends; ++i) {
      auto body = std::make_shared<const std::string>(
          ConfigMapText(base::StrCat("o-", std::to_string(i)),
                        base::StrCat(R"("backend":"b)", std::to_string(i), "\"")));
      times.push_back(Time(server->target(),
                           server->target().Request(
                               "POST", "/api/v1/namespaces/default/configmaps?dryRun=All", body)));
    }
  };
  const auto count = [&](auto member) {
    std::size_t sum = 0;
    for (const auto& backend : backends) sum += member(*backend);
    return sum;
  };
  const auto accepted = [](const WebhookServer& backend) { return backend.accepted(); };
  std::vector<double> first;
  turn(first);
  const std::size_t at_first = count(accepted);
  std::vector<double> later;
  for (int i = 0; i < kRounds; ++i) turn(later);
  const std::size_t more = count(accepted) - at_first;
  const std::size_t calls = count([](const WebhookServer& backend) { return backend.calls(); });
  if (calls != kBackends * (1 + kRounds)) {
    return base::ConfigError(base::StrCat(std::to_string(calls), " calls have arrived"));
  }
  shop.findings.push_back(
      {.what = "handshakes of the first 400 calls", .figure = std::to_string(at_first)});
  shop.findings.push_back({.what = "handshakes of the next 1,600 calls",
                           .figure = std::to_string(more),
                           .target = "0",
                           .met = more == 0});
  shop.findings.push_back({.what = "a request, connection kept",
                           .figure = Format("%.0f us", Median(later) * 1000),
                           .baseline = Format("%.0f us first", Median(first) * 1000),
                           .ratio = Median(later) / Median(first)});
  return base::OkStatus();
}

namespace {

// A port that never answers: the kernel takes connections until its queue is full; we accept them
// (`accepts`) or not.
class BlackHole {
 public:
  explicit BlackHole(bool accepts) {
    fd_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    bind(fd_, reinterpret_cast<sockaddr*>(&address), size);
    getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    listen(fd_, accepts ? 1024 : 1);
    if (accepts) thread_ = std::thread([this] { Accept(); });
  }
  ~BlackHole() {
    shutdown(fd_, SHUT_RDWR);
    if (thread_.joinable()) thread_.join();
    for (const int fd : held_) close(fd);
    close(fd_);
  }
  BlackHole(const BlackHole&) = delete;
  BlackHole& operator=(const BlackHole&) = delete;
  std::string Url() const { return base::StrCat("https://127.0.0.1:", std::to_string(port_), "/"); }
  int port() const { return port_; }

 private:
  void Accept() {
    for (int fd = 0; (fd = accept(fd_, nullptr, nullptr)) >= 0;) held_.push_back(fd);
  }
  int fd_ = -1;
  int port_ = 0;
  std::vector<int> held_;
  std::thread thread_;
};

// Non-matching creates alone, and while `hanging` matching ones are under way all the time.
base::Status Beside(Workshop& shop, const std::string& what, const std::string& url, int hanging) {
  const auto quiet = TRY(shop.Serve());
  const auto beset = TRY(shop.Serve());
  TRY(CreateHooks(
      beset->target(), shop.webhooks(), "dead",
      {{.url = url,
        .more = R"(,"objectSelector":{"matchLabels":{"dead":"yes"}},"failurePolicy":"Ignore",)"
                R"("timeoutSeconds":5)"}}));
  std::atomic<bool> over{false};
  std::atomic<std::size_t> answered{0};
  std::atomic<std::size_t> refused{0};
  const auto background = TRY(Target::Create(shop.load_threads(), beset->target().options()));
  const auto dead_body =
      std::make_shared<const std::string>(ConfigMapText("dead", R"("dead":"yes")"));
  std::thread pressure([&] {
    while (!over) {
      RunEach(
          *background, hanging, static_cast<std::size_t>(hanging),
          [&](std::size_t) {
            return background->Request("POST", "/api/v1/namespaces/default/configmaps?dryRun=All",
                                       dead_body);
          },
          [&](const net::CallResult& result) {
            ++(result.ok() && result.response.status == 201 ? answered : refused);
          });
      // One that is refused at once would be nothing but load.
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const Duel duel = Alternate({&quiet->target(), CreateConfigMaps(quiet->target(), "default")},
                              {&beset->target(), CreateConfigMaps(beset->target(), "default")},
                              shop.options().connections, 8);
  over = true;
  pressure.join();
  shop.findings.push_back(
      {.what = base::StrCat(what, ", ", std::to_string(hanging), " calls under way: requests/s"),
       .figure = Format("%.0f", duel.second.requests_per_second),
       .baseline = Format("%.0f without", duel.first.requests_per_second),
       .ratio = duel.rate.value,
       .target = ">= 0.9x, no errors",
       .met = duel.rate.value >= 0.9 && duel.second.errors == 0 && refused == 0});
  shop.findings.push_back({.what = "    p99 of requests that do not match",
                           .figure = Format("%.2f ms", duel.second.p99_milliseconds),
                           .baseline = Format("%.2f ms", duel.first.p99_milliseconds),
                           .ratio = duel.second.p99_milliseconds / duel.first.p99_milliseconds});
  if (duel.second.errors + refused > 0) {
    return base::ConfigError(base::StrCat(std::to_string(duel.second.errors),
                                          " requests beside and ", std::to_string(refused.load()),
                                          " of ", std::to_string((answered + refused)),
                                          " matching ones failed: ", duel.second.first_error));
  }
  return base::OkStatus();
}

}  // namespace

base::Status DeadWebhooks(Workshop& shop) {
  int closed_port = 0;
  {
    const BlackHole gone(false);
    closed_port = gone.port();
  }
  TRY(Beside(shop, "refused", base::StrCat("https://127.0.0.1:", std::to_string(closed_port), "/"),
             4));
  const BlackHole silent(true);
  TRY(Beside(shop, "accepts, never answers", silent.Url(), 300));
  const BlackHole full(false);
  return Beside(shop, "never accepts", full.Url(), 300);
}

}  // namespace portcullis::load
