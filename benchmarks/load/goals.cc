#include "goals.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <mutex>

#include "base/strings.h"

namespace portcullis::load {
namespace {

// Thousands of connections need as many files.
void RaiseFileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

void Print(const Finding& finding) {
  std::printf("  %-58s %16s", finding.what.c_str(), finding.figure.c_str());
  if (finding.ratio > 0) {
    std::printf("  %9.3fx", finding.ratio);
    if (finding.spread > 0) std::printf(" +-%.3f", finding.spread);
    std::printf(" of %-18s", finding.baseline.c_str());
  } else {
    std::printf("  %-32s", finding.baseline.c_str());
  }
  std::printf(" %s%s\n", finding.target.empty() ? "" : ("target " + finding.target).c_str(),
              finding.target.empty() ? ""
              : finding.met          ? ": met"
                                     : ": MISSED");
  std::fflush(stdout);
}

void AddTo(Figures& sum, const Figures& slice) {
  const auto requests = static_cast<double>(slice.requests);
  sum.requests += slice.requests;
  sum.errors += slice.errors;
  if (sum.first_error.empty()) sum.first_error = slice.first_error;
  sum.cpu_milliseconds += slice.cpu_milliseconds * requests;
  sum.requests_per_second += requests / slice.requests_per_second;  // seconds, for now
  sum.p50_milliseconds = std::max(sum.p50_milliseconds, slice.p50_milliseconds);
  sum.p99_milliseconds = std::max(sum.p99_milliseconds, slice.p99_milliseconds);
  sum.memory_megabytes = slice.memory_megabytes;
}

void Finish(Figures& sum) {
  const auto requests = static_cast<double>(std::max<std::size_t>(sum.requests, 1));
  sum.cpu_milliseconds /= requests;
  sum.requests_per_second = requests / sum.requests_per_second;
}

}  // namespace

const std::vector<Goal>& Goals() {
  static const std::vector<Goal> kGoals = {
      {"webhook-overhead", 3, "an allowing webhook, over a bare round trip to its server",
       &WebhookOverhead},
      {"webhooks-idle", 3, "10,000 webhooks of which none matches, over none", &IdleWebhooks},
      {"backends", 3, "400 webhook servers called in turn: handshakes", &ManyBackends},
      {"webhooks-dead", 3, "dead webhooks with Ignore, and requests that do not match them",
       &DeadWebhooks},
      {"watches", 3, "10,000 watches: memory of each, an event to all", &WatchMemory},
      {"list-pods", 3, "list 5,000 pods: whole, in pages, as a table", &ListPods},
      {"policies-50", 4, "50 matching policies, over none", &MatchingPolicies},
      {"policies-idle", 4, "10,000 policies of which none matches, over none", &IdlePolicies},
      {"bindings-1024", 4, "1,024 bindings of one policy", &ManyBindings},
      {"policy-memory", 4, "memory of policies, validations and bindings", &PolicyMemory},
      {"crd-memory", 3, "memory of a definition with 20, 200 and 1,000 fields", &DefinitionMemory},
      {"stored-objects", 5, "memory of stored objects, deletecollection", &StoredObjects},
  };
  return kGoals;
}

base::Result<std::unique_ptr<Workshop>> Workshop::Open(const Options& options) {
  auto shop = std::unique_ptr<Workshop>(new Workshop(options));
  shop->load_threads_ = std::make_unique<net::IoThreads>(options.threads);
  shop->webhook_threads_ = std::make_unique<net::IoThreads>(1);
  shop->webhooks_ = TRY(WebhookServer::Start(*shop->webhook_threads_, options.webhook_listen));
  return shop;
}

base::Status RunGoals(const Options& options) {
  RaiseFileLimit();
  for (const std::string& name : options.goals) {
    const bool known = std::any_of(Goals().begin(), Goals().end(),
                                   [&](const Goal& goal) { return goal.name == name; });
    if (!known) return base::ConfigError(base::StrCat("no goal is called ", name));
  }
  const auto shop = TRY(Workshop::Open(options));
  for (const Goal& goal : Goals()) {
    const auto& wanted = options.goals;
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), goal.name) == wanted.end()) {
      continue;
    }
    std::printf("%s (issue %d): %s\n", std::string(goal.name).c_str(), goal.issue,
                std::string(goal.summary).c_str());
    const base::Status status = goal.run(*shop);
    for (const Finding& finding : shop->findings) Print(finding);
    shop->findings.clear();
    if (!status.ok()) std::printf("  FAILED: %s\n", status.message().c_str());
  }
  return base::OkStatus();
}

void AddIdle(Workshop& shop, const Duel& duel, std::string_view what) {
  shop.findings.push_back({.what = base::StrCat("CPU per create, ", what),
                           .figure = Format("%.1f us", duel.second.cpu_milliseconds * 1000),
                           .baseline = Format("%.1f us", duel.first.cpu_milliseconds * 1000),
                           .ratio = duel.cpu.value,
                           .spread = duel.cpu.spread,
                           .target = "<= 1.02x",
                           .met = duel.cpu.value <= 1.02});
  shop.findings.push_back({.what = base::StrCat("requests/s, ", what),
                           .figure = Format("%.0f", duel.second.requests_per_second),
                           .baseline = Format("%.0f", duel.first.requests_per_second),
                           .ratio = duel.rate.value,
                           .spread = duel.rate.spread,
                           .target = ">= 0.98x",
                           .met = duel.rate.value >= 0.98});
}

Duel Alternate(const Side& first, const Side& second, int connections, int rounds,
               double slice_seconds) {
  // Names of objects go on from slice to slice.
  std::array<std::size_t, 2> base{};
  const std::array<const Side*, 2> sides = {&first, &second};
  const auto slice = [&](std::size_t side, double seconds) {
    const Side& runs = *sides[side];
    const Figures figures = RunLoad(
        *runs.target, {.connections = connections, .warmup_seconds = 0.05, .seconds = seconds},
        [&](std::size_t number) { return runs.make(base[side] + number); });
    base[side] += figures.highest_number;
    return figures;
  };
  slice(0, slice_seconds);
  slice(1, slice_seconds);
  Duel duel;
  std::vector<double> cpu;
  std::vector<double> rate;
  for (int i = 0; i < rounds; ++i) {
    const std::size_t leader = i % 2 == 0 ? 0 : 1;
    std::array<Figures, 2> figures;
    figures[leader] = slice(leader, slice_seconds);
    figures[1 - leader] = slice(1 - leader, slice_seconds);
    cpu.push_back(figures[1].cpu_milliseconds / figures[0].cpu_milliseconds);
    rate.push_back(figures[1].requests_per_second / figures[0].requests_per_second);
    AddTo(duel.first, figures[0]);
    AddTo(duel.second, figures[1]);
  }
  Finish(duel.first);
  Finish(duel.second);
  duel.cpu = EstimateMedian(std::move(cpu));
  duel.rate = EstimateMedian(std::move(rate));
  return duel;
}

Duel AlternateOften(const Side& first, const Side& second, int connections) {
  constexpr int kRounds = 80;
  constexpr double kSliceSeconds = 0.15;
  return Alternate(first, second, connections, kRounds, kSliceSeconds);
}

std::string Format(const char* format, double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Estimate EstimateMedian(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const auto count = static_cast<double>(values.size());
  // Whatever the distribution, the number of values below its median is that of heads in as many
  // throws of a coin.
  const double off = 0.98 * std::sqrt(count);
  const auto at = [&](double rank) {
    return values[static_cast<std::size_t>(std::clamp(std::round(rank), 0.0, count - 1))];
  };
  const double middle = (count - 1) / 2;
  return {values[values.size() / 2], (at(middle + off) - at(middle - off)) / 2};
}

MakeRequest CreateConfigMaps(const Target& target, std::string_view ns, bool dry) {
  return [&target, path = base::StrCat("/api/v1/namespaces/", ns, "/configmaps",
                                       dry ? "?dryRun=All" : "")](std::size_t number) {
    return target.Request("POST", path,
                          std::make_shared<const std::string>(
                              ConfigMapText(base::StrCat("o-", std::to_string(number)))));
  };
}

base::Status CreateMany(const Target& target, std::string_view collection, std::size_t count,
                        const std::function<std::string(std::size_t)>& body) {
  std::mutex mutex;
  std::string error;
  RunEach(
      target, 16, count,
      [&](std::size_t number) {
        return target.Request("POST", collection,
                              std::make_shared<const std::string>(body(number)));
      },
      [&](const net::CallResult& result) {
        if (result.ok() && result.response.status < 300) return;
        const std::lock_guard<std::mutex> lock(mutex);
        error = result.ok() ? result.response.body.substr(0, 300) : result.failure->message;
      });
  return error.empty() ? base::OkStatus()
                       : base::ConfigError(base::StrCat("POST ", collection, ": ", error));
}

base::Status CreateHooks(const Target& target, const WebhookServer& webhooks, std::string_view name,
                         const std::vector<HookText>& hooks) {
  std::vector<std::string> texts;
  for (const HookText& hook : hooks) {
    texts.push_back(base::StrCat(
        R"({"name":"h)", std::to_string(texts.size()), R"(.example.com","clientConfig":{"url":")",
        hook.url, R"(","caBundle":")", base::Base64Encode(webhooks.ca_pem()),
        R"("},"rules":[{"operations":["CREATE"],"apiGroups":["*"],"apiVersions":["v1"],)",
        R"("resources":[")", hook.resource,
        R"("]}],"admissionReviewVersions":["v1"],"sideEffects":"None")", hook.more, "}"));
  }
  return target.Create(
      "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
      base::StrCat(R"({"apiVersion":"admissionregistration.k8s.io/v1",)",
                   R"("kind":"ValidatingWebhookConfiguration","metadata":{"name":")", name,
                   R"("},"webhooks":[)", base::Join(texts, ","), "]}"));
}

}  // namespace portcullis::load
