// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <optional>
#include <set>

#include "base/gotext.h"
#include "base/strings.h"
#include "server/discovery/documents.h"
#include "server/memory_budget.h"
#include "server/options.h"
#include "server/reply.h"
#include "store/etcd/etcd_store.h"
#include "store/store.h"

namespace portcullis::server {
namespace {

// What kube-apiserver's health endpoints check after it has started, in its order. They never fail
// here: the server listens only once its start is done.
constexpr std::string_view kHooks[] = {
    "poststarthook/start-apiserver-admission-initializer",
    "poststarthook/generic-apiserver-start-informers",
    "poststarthook/priority-and-fairness-config-consumer",
    "poststarthook/priority-and-fairness-filter",
    "poststarthook/storage-object-count-tracker-hook",
    "poststarthook/start-apiextensions-informers",
    "poststarthook/start-apiextensions-controllers",
    "poststarthook/crd-informer-synced",
    "poststarthook/start-system-namespaces-controller",
    "poststarthook/peer-endpoint-reconciler-controller",
    "poststarthook/start-cluster-authentication-info-controller",
    "poststarthook/start-kube-apiserver-identity-lease-controller",
    "poststarthook/start-kube-apiserver-identity-lease-garbage-collector",
    "poststarthook/storage-readiness",
    "poststarthook/start-legacy-token-tracking-controller",
    "poststarthook/start-service-ip-repair-controllers",
    "poststarthook/rbac/bootstrap-roles",
    "poststarthook/scheduling/bootstrap-system-priority-classes",
    "poststarthook/priority-and-fairness-config-producer",
    "poststarthook/bootstrap-controller",
    "poststarthook/start-kubernetes-service-cidr-controller",
    "poststarthook/start-kube-aggregator-informers",
    "poststarthook/apiservice-status-local-available-controller",
    "poststarthook/apiservice-status-remote-available-controller",
    "poststarthook/apiservice-registration-controller",
    "poststarthook/apiservice-wait-for-first-sync",
    "poststarthook/apiservice-discovery-controller",
    "poststarthook/kube-apiserver-autoregistration",
    "autoregister-completion",
    "poststarthook/apiservice-openapi-controller",
    "poststarthook/apiservice-openapiv3-controller",
};

// "712 of 4096 MiB in use".
std::string MemoryUse(const MemoryBudget& memory) {
  const auto mebibytes = [](std::size_t bytes) { return std::to_string(bytes >> 20); };
  return base::StrCat(mebibytes(memory.used()), " of ", mebibytes(memory.limit()), " MiB in use");
}

}  // namespace

// The names of the checks of "healthz", "livez" or "readyz", in order.
std::vector<std::string_view> Documents::ChecksOf(std::string_view kind, const Options& options) {
  const bool reloads = options.encryption_provider_config_automatic_reload;
  std::vector<std::string_view> checks = {"ping", "log"};
  const bool ready = kind == "readyz";
  if (!ready) checks.emplace_back("loopback-serving-certificate");
  checks.emplace_back("etcd");
  if (ready) checks.emplace_back("etcd-readiness");
  // There are no KMS plugins whose health could be bad.
  if (reloads && kind != "livez") checks.emplace_back("kms-providers");
  if (ready) checks.emplace_back("informer-sync");
  if (reloads) {
    checks.emplace_back("poststarthook/start-encryption-provider-config-automatic-reload");
  }
  checks.insert(checks.end(), std::begin(kHooks), std::end(kHooks));
  if (ready) checks.insert(checks.end(), {"memory", "shutdown"});
  return checks;
}

base::Status Documents::StoreHealth(std::string_view kind) const {
  const Options& options = *env_.options;
  if (env_.etcd == nullptr) return env_.store->Health();
  const std::chrono::nanoseconds timeout =
      kind == "readyz" ? options.etcd_readycheck_timeout : options.etcd_healthcheck_timeout;
  // 0s stands for the default, as for kube-apiserver.
  return env_.etcd->Probe(timeout.count() == 0 ? Options().etcd_healthcheck_timeout : timeout);
}

Reply Documents::ServeHealth(Call& call) {
  if (call.info.path.ends_with('/')) return PageNotFound();
  const auto parts = Parts(call.info.path);
  const std::string& kind = parts[0];
  std::vector<std::pair<std::string, std::string>> checks;  // name, error
  std::map<std::string, std::string> remarks;               // by name, for those who look closer
  std::optional<base::Status> store;  // asked once, and only if a check is about it
  for (std::string_view check : ChecksOf(kind, *env_.options)) {
    std::string error;
    if (check.starts_with("etcd")) {
      if (!store) store = StoreHealth(kind);
      error = store->message();
    } else if (check == "memory") {
      env_.memory->Refresh(call.exchange->received_at());
      const std::string memory = MemoryUse(*env_.memory);
      if (env_.memory->is_short()) error = memory;
      remarks.emplace("memory", memory);
    } else if (check == "shutdown" && stopping_) {
      error = "process is shutting down";
    }
    checks.emplace_back(check, error);
  }
  if (parts.size() > 1) {
    std::string name = base::Join(std::vector<std::string>(parts.begin() + 1, parts.end()), "/");
    for (const auto& [check, error] : checks) {
      if (check != name) continue;
      if (error.empty()) {
        Reply reply = TextReply(200, "ok");
        reply.headers.Remove("X-Content-Type-Options");
        return reply;
      }
      return TextReply(500, base::StrCat("internal server error: ", error, "\n"));
    }
    return PageNotFound();
  }
  const auto excluded = call.info.query.All("exclude");
  std::set<std::string> unknown(excluded.begin(), excluded.end());
  std::string lines;
  bool failed = false;
  for (const auto& [check, error] : checks) {
    if (std::find(excluded.begin(), excluded.end(), check) != excluded.end()) {
      unknown.erase(check);
      lines += base::StrCat("[+]", check, " excluded: ok\n");
      continue;
    }
    health_.Observe(check, kind, error.empty());
    if (error.empty()) {
      const auto remark = remarks.find(check);
      lines +=
          base::StrCat("[+]", check, " ok",
                       remark != remarks.end() ? base::StrCat(": ", remark->second) : "", "\n");
    } else {
      failed = true;
      // kube-apiserver names no reasons of its own checks; memory is no check of its.
      const bool told = remarks.find(check) != remarks.end();
      lines += base::StrCat("[-]", check, " failed: ", told ? error : "reason withheld", "\n");
    }
  }
  if (!unknown.empty()) {
    std::vector<std::string> quoted;
    for (const std::string& name : unknown) quoted.push_back(base::GoQuote(name));
    lines += base::StrCat("warn: some health checks cannot be excluded: no matches for ",
                          base::Join(quoted, ","), "\n");
  }
  if (failed) return TextReply(500, base::StrCat(lines, kind, " check failed\n"));
  if (!call.info.query.Has("verbose")) return TextReply(200, "ok");
  return TextReply(200, base::StrCat(lines, kind, " check passed\n"));
}

}  // namespace portcullis::server
