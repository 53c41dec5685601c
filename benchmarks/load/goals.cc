// SPDX-License-Identifier: Apache-2.0

#include "goals.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
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

}  // namespace

const std::vector<Goal>& Goals() {
  static const std::vector<Goal> kGoals = {
      {"webhook-overhead", "an allowing webhook, over a bare round trip to its server",
       &WebhookOverhead},
      {"webhooks-idle", "10,000 webhooks of which none matches, over none", &IdleWebhooks},
      {"backends", "400 webhook servers called in turn: handshakes", &ManyBackends},
      {"webhooks-dead", "dead webhooks with Ignore, and requests that do not match them",
       &DeadWebhooks},
      {"watches", "10,000 watches: memory of each, an event to all", &WatchMemory},
      {"list-pods", "list 5,000 pods: whole, in pages, as a table", &ListPods},
      {"protobuf", "create, get and list in protobuf beside JSON", &ProtobufBesideJson},
      {"cbor", "create, get and list in CBOR beside JSON", &CborBesideJson},
      {"policies-50", "50 matching policies, over none", &MatchingPolicies},
      {"policies-idle", "10,000 policies of which none matches, over none", &IdlePolicies},
      {"bindings-1024", "1,024 bindings of one policy", &ManyBindings},
      {"policy-memory", "memory of policies, validations and bindings", &PolicyMemory},
      {"crd-memory", "memory of a definition with 20, 200 and 1,000 fields", &DefinitionMemory},
      {"stored-objects", "memory of stored objects, deletecollection", &StoredObjects},
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
    std::printf("%s: %s\n", std::string(goal.name).c_str(), std::string(goal.summary).c_str());
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

std::string Format(const char* format, double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
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
