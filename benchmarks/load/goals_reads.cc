// SPDX-License-Identifier: Apache-2.0

// Watches, lists, and what stored objects occupy.
#include "base/strings.h"
#include "goals.h"
#include "watchers.h"

namespace portcullis::load {
namespace {

constexpr std::string_view kConfigMaps = "/api/v1/namespaces/default/configmaps";
constexpr std::string_view kPods = "/api/v1/namespaces/default/pods";

base::Status MeasureWatches(Workshop& shop, WatchProtocol protocol, const std::string& name) {
  constexpr std::size_t kWatches = 10'000;
  constexpr int kEvents = 10;
  const auto server = TRY(shop.Serve());
  const Target& target = server->target();
  const auto watchers = TRY(Watchers::Create(target.options(), protocol));
  // The first ones make what all share.
  const std::string path = base::StrCat(kConfigMaps, "?watch=true&resourceVersion=1");
  constexpr std::size_t kFirst = 50;
  TRY(watchers->AddMany(path, kFirst));
  server->Settle();
  const double before = server->megabytes();
  TRY(watchers->AddMany(path, kWatches - kFirst));
  server->Settle();
  const double each =
      (server->megabytes() - before) * 1024 / static_cast<double>(kWatches - kFirst);
  shop.findings.push_back({.what = base::StrCat("an idle watch of 10,000, ", name),
                           .figure = Format("%.1f KB", each),
                           .target = "<= 25 KB",
                           .met = each <= 25});
  std::vector<double> latency;
  const double cpu = server->cpu_seconds();
  const auto& clock = base::SystemClock();
  for (int i = 0; i < kEvents; ++i) {
    const std::string object = base::StrCat("event-", std::to_string(i));
    const auto start = clock.Steady();
    TRY(target.Create(kConfigMaps, ConfigMapText(object)));
    TRY(watchers->AwaitAll(object));
    latency.push_back(std::chrono::duration<double, std::milli>(clock.Steady() - start).count());
  }
  const double used = server->cpu_seconds() - cpu;
  shop.findings.push_back(
      {.what = base::StrCat("an event to 10,000 watches, ", name, ": CPU per watch"),
       .figure = Format("%.2f us", used * 1e6 / (kEvents * static_cast<double>(kWatches)))});
  shop.findings.push_back({.what = "    until the last one (read by one thread) has it",
                           .figure = Format("%.0f ms", Median(latency))});
  return base::OkStatus();
}

// How a list is asked for.
struct ListForm {
  std::string_view what;
  std::string_view query;
  std::string_view accept;
};

}  // namespace

base::Status WatchMemory(Workshop& shop) {
  TRY(MeasureWatches(shop, WatchProtocol::kHttp1, "HTTP/1.1"));
  return MeasureWatches(shop, WatchProtocol::kHttp2, "HTTP/2, a connection each");
}

base::Status ListPods(Workshop& shop) {
  constexpr std::size_t kCount = 5000;
  constexpr int kConnections = 4;
  const auto server = TRY(shop.Serve());
  const Target& target = server->target();
  TRY(CreateMany(target, kPods, kCount,
                 [](std::size_t i) { return PodText(base::StrCat("p-", std::to_string(i))); }));
  TargetOptions options;
  options.url = shop.webhooks().Url("");
  options.ca_pem = shop.webhooks().ca_pem();
  const auto bare = TRY(Target::Create(shop.load_threads(), options));
  const ListForm forms[] = {{"5,000 pods", "", "application/json"},
                            {"pages of 500 of 5,000 pods", "?limit=500", "application/json"},
                            {"5,000 pods as a table", "",
                             "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}};
  for (const ListForm& form : forms) {
    const auto make = [&](std::size_t) {
      net::ClientRequest request = target.Request("GET", base::StrCat(kPods, form.query));
      request.headers.Set("Accept", form.accept);
      return request;
    };
    const auto once =
        target.client().Call(make(0), base::SystemClock().Steady() + std::chrono::seconds(60));
    if (!once.ok() || once.response.status != 200) return base::ConfigError("the list fails");
    const std::size_t bytes = once.response.body.size();
    const auto same_size = [&](std::size_t) {
      return bare->Request("GET", base::StrCat("/bytes/", std::to_string(bytes)));
    };
    const Duel duel = Alternate({bare.get(), same_size}, {&target, make}, kConnections, 4, 0.5);
    const double megabytes = static_cast<double>(bytes) / (1 << 20);
    shop.findings.push_back(
        {.what = base::StrCat(form.what, Format(" (%.2f MB), requests/s", megabytes)),
         .figure = Format("%.1f", duel.second.requests_per_second),
         .baseline = Format("%.1f, same bytes bare", duel.first.requests_per_second),
         .ratio = duel.rate.value});
    shop.findings.push_back(
        {.what = base::StrCat("    p50 with 4 connections; MB/s ",
                              Format("%.0f", duel.second.requests_per_second * megabytes)),
         .figure = Format("%.1f ms", duel.second.p50_milliseconds),
         .baseline = Format("%.1f ms", duel.first.p50_milliseconds),
         .ratio = duel.second.p50_milliseconds / duel.first.p50_milliseconds});
    shop.findings.push_back({.what = "    CPU of the server per list",
                             .figure = Format("%.2f ms", duel.second.cpu_milliseconds)});
    if (duel.second.errors > 0) return base::ConfigError(duel.second.first_error);
  }
  return base::OkStatus();
}

base::Status StoredObjects(Workshop& shop) {
  constexpr std::size_t kMaps = 40'000;
  constexpr std::size_t kPodCount = 20'000;
  const auto& clock = base::SystemClock();
  const auto server = TRY(shop.Serve());
  const Target& target = server->target();
  const auto measure = [&](std::string_view collection, std::size_t count, const auto& body,
                           const std::string& what) -> base::Status {
    server->Settle();
    const double before = server->megabytes();
    TRY(CreateMany(target, collection, count, body));
    server->Settle();
    std::string text;
    target.Call("GET", base::StrCat(collection, "/s-1"), "", &text);
    const double each = (server->megabytes() - before) * (1 << 20) / static_cast<double>(count);
    const auto stored = static_cast<double>(text.size());
    shop.findings.push_back({.what = base::StrCat("memory of a stored ", what),
                             .figure = Format("%.0f bytes", each),
                             .baseline = Format("%.0f bytes of JSON", stored),
                             .ratio = each / stored});
    return base::OkStatus();
  };
  const auto name = [](std::size_t i) { return base::StrCat("s-", std::to_string(i)); };
  TRY(measure(
      kConfigMaps, kMaps, [&](std::size_t i) { return ConfigMapText(name(i)); }, "ConfigMap"));
  TRY(measure(
      kPods, kPodCount, [&](std::size_t i) { return PodText(name(i)); }, "Pod"));
  const double cpu = server->cpu_seconds();
  const auto start = clock.Steady();
  if (target.Call("DELETE", kConfigMaps) != 200) return base::ConfigError("deletecollection fails");
  const std::chrono::duration<double> took = clock.Steady() - start;
  shop.findings.push_back({.what = "deletecollection of 40,000 ConfigMaps: objects/s",
                           .figure = Format("%.0f", kMaps / took.count())});
  shop.findings.push_back(
      {.what = "    CPU per object",
       .figure = Format("%.1f us", (server->cpu_seconds() - cpu) * 1e6 / kMaps)});
  return base::OkStatus();
}

}  // namespace portcullis::load
