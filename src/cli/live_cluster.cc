// SPDX-License-Identifier: Apache-2.0

#include "cli/live_cluster.h"

#include <cstdlib>
#include <set>
#include <utility>
#include <vector>

#include "api/catalog/catalog.h"
#include "base/strings.h"
#include "cli/fetcher.h"
#include "golang/url.h"
#include "json/writer.h"

namespace portcullis::cli {
namespace {

constexpr std::string_view kJson = "application/json";

// Collections that judge requests, or that plugins look at.
constexpr std::string_view kCollections[] = {
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
    "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies",
    "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings",
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "/apis/rbac.authorization.k8s.io/v1/roles",
    "/apis/rbac.authorization.k8s.io/v1/rolebindings",
    "/apis/scheduling.k8s.io/v1/priorityclasses",
    "/apis/node.k8s.io/v1/runtimeclasses",
    "/apis/storage.k8s.io/v1/storageclasses",
    "/apis/networking.k8s.io/v1/ingressclasses",
    "/api/v1/namespaces",
    "/api/v1/limitranges",
    "/api/v1/resourcequotas",
    "/api/v1/serviceaccounts",
};

std::string Home() {
  const char* const home = std::getenv("HOME");
  return home == nullptr ? "" : home;
}

std::string ConfigPath(const LiveCluster& live) {
  if (!live.kubeconfig.empty()) return live.kubeconfig;
  const char* const variable = std::getenv("KUBECONFIG");
  if (variable != nullptr && *variable != '\0') return variable;
  return base::StrCat(Home(), "/.kube/config");
}

std::string Segment(std::string_view name) { return golang::PathEscape(name); }

class LiveReader {
 public:
  LiveReader(Fetcher& fetcher, const LiveCluster& live, offline::Inputs& inputs)
      : fetcher_(fetcher), live_(live), inputs_(inputs) {
    for (const offline::Manifest& manifest : inputs.manifests) known_.insert(KeyOf(manifest));
  }

  base::Status Run(const api::catalog::Catalog& catalog) {
    for (const std::string_view collection : kCollections) TRY(AddAll(std::string(collection)));
    const std::size_t count = inputs_.given.size();
    for (std::size_t i = 0; i < count; ++i) {
      const json::Value kind = inputs_.given[i].object["spec"]["paramKind"];
      if (!kind.is_object()) continue;
      const std::string path =
          Collection(catalog, kind["apiVersion"].AsString(), kind["kind"].AsString(), "");
      if (!path.empty() && fetched_.insert(path).second) TRY(AddAll(path));
    }
    for (const offline::Manifest& manifest : inputs_.manifests) TRY(AddStored(catalog, manifest));
    return base::OkStatus();
  }

 private:
  std::string KeyOf(const offline::Manifest& manifest) const {
    return base::StrCat(manifest.group(), "/", manifest.kind, "/",
                        manifest.ns.empty() ? live_.ns : manifest.ns, "/", manifest.name);
  }

  // The path of the objects of a kind, all of them or those of a namespace; "" if it is not known.
  std::string Collection(const api::catalog::Catalog& catalog, std::string_view api_version,
                         std::string_view kind, std::string_view ns) const {
    const auto version = api::ParseGroupVersion(api_version);
    if (!version.ok()) return "";
    const std::string root = version->group.empty() ? base::StrCat("/api/", version->version)
                                                    : base::StrCat("/apis/", api_version);
    const std::string place = ns.empty() ? "" : base::StrCat("/namespaces/", Segment(ns));
    if (const auto* known =
            catalog.FindKind({version->group, version->version, std::string(kind)})) {
      return base::StrCat(root, known->namespaced ? place : "", "/", known->resource.resource);
    }
    for (const offline::Manifest& manifest : inputs_.given) {
      const json::Value spec = manifest.object["spec"];
      if (manifest.kind != "CustomResourceDefinition" ||
          spec["group"].AsString() != version->group || spec["names"]["kind"].AsString() != kind) {
        continue;
      }
      const bool namespaced = spec["scope"].AsString() == "Namespaced";
      return base::StrCat(root, namespaced ? place : "", "/", spec["names"]["plural"].AsString());
    }
    return "";
  }

  base::Status AddAll(const std::string& path) {
    std::string token;
    do {
      const std::string page = base::StrCat(
          path, "?limit=500", token.empty() ? "" : "&continue=", golang::QueryEscape(token));
      const auto list = fetcher_.Get(page, kJson);
      if (!list.ok()) return Tolerate(list.status());
      const std::string kind((*list)["kind"].AsString());
      for (const json::Value& item : (*list)["items"].elements()) {
        Add(path, item, (*list)["apiVersion"].AsString(), kind.substr(0, kind.size() - 4));
      }
      token = (*list)["metadata"]["continue"].AsString();
    } while (!token.empty());
    return base::OkStatus();
  }

  // A kind that is not served is none; one that may not be read is told.
  base::Status Tolerate(const base::Status& status) {
    if (status.http_code() == 404) return base::OkStatus();
    if (status.http_code() != 403) return status;
    inputs_.problems.push_back({{ConfigPath(live_), 0, 0}, status.message()});
    return base::OkStatus();
  }

  // Items of lists name neither kind nor version.
  void Add(const std::string& path, json::Value item, std::string_view api_version,
           std::string_view kind) {
    auto arena = std::make_shared<json::Arena>();
    json::ObjectBuilder object(*arena, item);
    object.Set("apiVersion", api_version).Set("kind", kind).Remove("status");
    json::Value metadata = item["metadata"];
    for (std::string_view name : {"managedFields", "deletionTimestamp", "ownerReferences"}) {
      metadata = json::Without(*arena, metadata, name);
    }
    object.Set("metadata", metadata);
    offline::Inputs read;
    offline::ReadText(base::StrCat("cluster:", path, "/", metadata["name"].AsString()),
                      json::ToString(object.Build()), false, read);
    for (offline::Manifest& manifest : read.manifests) {
      if (!known_.contains(KeyOf(manifest))) inputs_.given.push_back(std::move(manifest));
    }
  }

  base::Status AddStored(const api::catalog::Catalog& catalog, const offline::Manifest& manifest) {
    if (manifest.name.empty() || manifest.kind == "Secret") return base::OkStatus();
    const std::string path = Collection(catalog, manifest.api_version, manifest.kind,
                                        manifest.ns.empty() ? live_.ns : manifest.ns);
    if (path.empty()) return base::OkStatus();
    const auto stored = fetcher_.Get(base::StrCat(path, "/", Segment(manifest.name)), kJson);
    if (!stored.ok()) return Tolerate(stored.status());
    known_.erase(KeyOf(manifest));
    Add(path, *stored, manifest.api_version, manifest.kind);
    return base::OkStatus();
  }

  Fetcher& fetcher_;
  const LiveCluster& live_;
  offline::Inputs& inputs_;
  std::set<std::string> known_;    // what a manifest is: the files say what it is
  std::set<std::string> fetched_;  // collections of parameters
};

}  // namespace

base::Result<kubeconfig::ClientConfig> ConfigOf(const LiveCluster& live) {
  return kubeconfig::Resolve(TRY(kubeconfig::Load(ConfigPath(live))), live.context);
}

base::Status ReadLiveCluster(const LiveCluster& live, offline::Inputs& inputs) {
  const auto config = TRY(ConfigOf(live));
  json::Arena arena;
  const auto fetcher = TRY(Fetcher::Create(config, arena));
  const auto catalog = TRY(api::catalog::Catalog::BuiltIn({}));
  return LiveReader(*fetcher, live, inputs).Run(*catalog);
}

}  // namespace portcullis::cli
