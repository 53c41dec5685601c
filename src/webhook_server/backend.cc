// SPDX-License-Identifier: Apache-2.0

#include "webhook_server/backend.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "api/catalog/catalog.h"
#include "authz/modes.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/strings.h"
#include "engine/write/cluster_writer.h"
#include "engine/write/write.h"
#include "kubeconfig/config.h"
#include "release/release.h"
#include "store/memory/memory_store.h"

namespace portcullis::webhook_server {
namespace {

constexpr std::string_view kValidating = "ValidatingAdmissionPolicy";
constexpr std::string_view kMutating = "MutatingAdmissionPolicy";
constexpr std::string_view kDefinitions = "customresourcedefinitions.apiextensions.k8s.io";
constexpr std::string_view kReviewsPath = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
// What kube-apiserver's own components keep answers about access for (DelegatingAuthorizationOptions).
constexpr std::chrono::seconds kAccessTtl{10};
// Namespaces that requests name and nothing describes.
constexpr std::size_t kMostNamespaces = 20000;

bool Contains(const std::vector<std::string>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

bool HasKind(const offline::Inputs& files, std::string_view kind) {
  return std::any_of(files.manifests.begin(), files.manifests.end(),
                     [&](const offline::Manifest& manifest) { return manifest.kind == kind; });
}

api::GroupResource ReadGroupResource(std::string_view text) {
  const auto cut = base::Cut(text, ".");
  if (!cut) return {"", std::string(text)};
  return {std::string(cut->second), std::string(cut->first)};
}

base::Result<std::optional<kubeconfig::ClientConfig>> ClusterOf(const Options& options) {
  std::optional<kubeconfig::ClientConfig> cluster;
  if (!options.kubeconfig.empty()) {
    const kubeconfig::Config config = TRY(kubeconfig::Load(options.kubeconfig));
    cluster = TRY(kubeconfig::Resolve(config, options.context));
  } else if (kubeconfig::IsInCluster(options.place)) {
    cluster = TRY(kubeconfig::InCluster(options.place));
  }
  return cluster;
}

}  // namespace

base::Result<offline::Inputs> ReadFiles(const Options& options) {
  offline::InputOptions inputs;
  inputs.paths = options.policies;
  offline::Inputs files = offline::ReadInputs(inputs);
  if (!files.problems.empty()) {
    const offline::Problem& problem = files.problems.front();
    return base::ConfigError(base::StrCat(problem.place.ToString(), ": ", problem.message));
  }
  return files;
}

bool HasCluster(const Options& options) {
  return !options.kubeconfig.empty() || kubeconfig::IsInCluster(options.place);
}

base::Result<PluginChoice> ChooseFor(const Options& options, const offline::Inputs& files,
                                     bool has_cluster) {
  const auto release =
      TRY(release::Release::Open(options.kubernetes_version, options.feature_gates));
  if (const auto problems = release.Problems(); !problems.empty()) {
    return base::ConfigError(problems.front());
  }
  PluginWishes wishes;
  wishes.enable = options.enable_admission_plugins;
  wishes.disable = options.disable_admission_plugins;
  wishes.validating_policies = HasKind(files, kValidating);
  wishes.mutating_policies = HasKind(files, kMutating);
  wishes.has_authorizer = has_cluster || HasKind(files, "ClusterRole") || HasKind(files, "Role");
  return ChoosePlugins(wishes, release);
}

base::Result<std::unique_ptr<Backend>> Backend::Create(const Options& options,
                                                       const base::Clock& clock,
                                                       net::HttpsClient& https,
                                                       metrics::Registry& metrics) {
  std::unique_ptr<Backend> backend(new Backend(clock));
  TRY(backend->Build(options, https, metrics));
  return backend;
}

Backend::~Backend() = default;

base::Status Backend::Build(const Options& options, net::HttpsClient& https,
                            metrics::Registry& metrics) {
  const auto cluster = TRY(ClusterOf(options));
  const offline::Inputs files = TRY(ReadFiles(options));
  choice_ = TRY(ChooseFor(options, files, cluster.has_value()));
  for (const std::string& note : choice_.notes) base::LogWarning(note);
  store_ = store::OpenMemory();
  TRY(MakeAuthorizer(cluster ? &*cluster : nullptr, https, metrics));
  TRY(MakeEngine(options, &https, &metrics));
  TRY(GiveFiles(options, files));
  if (!cluster) {
    WarnOfNothingToRead();
    return base::OkStatus();
  }
  mirror_ = TRY(Mirror::Create(world(), *cluster, https, kept_));
  Follow(options);
  return base::OkStatus();
}

base::Status Backend::Check(const Options& options, const base::Clock& clock,
                            const offline::Inputs& files, PluginChoice choice) {
  Backend backend(clock);
  backend.choice_ = std::move(choice);
  backend.store_ = store::OpenMemory();
  TRY(backend.MakeEngine(options, nullptr, nullptr));
  return backend.GiveFiles(options, files);
}

base::Status Backend::MakeEngine(const Options& options, net::HttpsClient* https,
                                 metrics::Registry* metrics) {
  engine::EngineOptions made;
  made.clock = &clock_;
  made.store = store_.get();
  made.authorizer = authorizer_.get();
  made.authorizer_may_wait = asks_cluster_;
  made.rbac = roles_.get();
  made.https = https;
  made.metrics = metrics;
  made.read_only = true;
  made.kubernetes_version = options.kubernetes_version;
  made.feature_gates = options.feature_gates;
  made.admission_plugins = choice_.flags;
  made.admission_control_config_file = options.admission_control_config_file;
  made.default_not_ready_toleration_seconds = options.default_not_ready_toleration_seconds;
  made.default_unreachable_toleration_seconds = options.default_unreachable_toleration_seconds;
  engine_ = TRY(engine::Engine::Create(std::move(made)));
  return base::OkStatus();
}

// Whom plugins and policies ask who may do what: the cluster, else the roles of the files.
base::Status Backend::MakeAuthorizer(const kubeconfig::ClientConfig* cluster,
                                     net::HttpsClient& https, metrics::Registry& metrics) {
  if (cluster == nullptr) {
    authz::ModeOptions modes;
    modes.modes = {"RBAC"};
    auto assembled = TRY(authz::Assemble(modes, *store_));
    authorizer_ = std::move(assembled.authorizer);
    roles_ = std::move(assembled.rbac);
    return base::OkStatus();
  }
  asks_cluster_ = true;
  kubeconfig::ClientConfig reviews = *cluster;
  reviews.url += kReviewsPath;
  kubeconfig::ClientOptions patience;
  patience.timeout = std::chrono::seconds(5);
  patience.tries = 2;
  auto settings = std::make_shared<server::authorization::WebhookSettings>();
  settings->timeout = patience.timeout;
  settings->authorized_ttl = kAccessTtl;
  settings->unauthorized_ttl = kAccessTtl;
  review_metrics_ = std::make_unique<server::authorization::WebhookMetrics>(metrics);
  authorizer_ = server::authorization::MakeWebhookAuthorizer(
      "cluster", std::move(settings), TRY(kubeconfig::Client::Create(reviews, patience, &https)),
      clock_, *review_metrics_);
  return base::OkStatus();
}

std::set<std::string> Backend::WantedKinds(const offline::Inputs& files) const {
  std::set<std::string> wanted = {std::string(kDefinitions), "namespaces"};
  if (roles_ != nullptr) {
    for (const char* kind : {"roles", "rolebindings", "clusterroles", "clusterrolebindings"}) {
      wanted.insert(base::StrCat(kind, ".rbac.authorization.k8s.io"));
    }
  }
  for (const admission::PluginInfo* plugin : choice_.chosen) {
    for (const std::string_view resource : base::Split(plugin->reads, ' ')) {
      wanted.emplace(resource);
    }
  }
  for (const offline::Manifest& manifest : files.manifests) {
    const json::Value kind = manifest.object["spec"]["paramKind"];
    if (kind.is_object()) {
      wanted.insert(base::StrCat(kind["apiVersion"].AsString(), "/", kind["kind"].AsString()));
    }
  }
  return wanted;
}

base::Status Backend::GiveFiles(const Options& options, const offline::Inputs& files) {
  const std::set<std::string> wanted = WantedKinds(files);
  std::size_t passed_over = 0;
  for (const offline::Manifest* manifest : offline::InOrderOfCreation(files)) {
    const auto catalog = world().catalog->Get();
    const auto version = api::ParseGroupVersion(manifest->api_version);
    const auto* kind = version.ok()
                           ? catalog->FindKind({version->group, version->version, manifest->kind})
                           : nullptr;
    const std::string name = kind == nullptr ? "" : kind->resource.group_resource().ToString();
    if (!wanted.contains(name) &&
        !wanted.contains(base::StrCat(manifest->api_version, "/", manifest->kind))) {
      ++passed_over;
      continue;
    }
    if (const base::Status given = Give(*manifest); !given.ok()) {
      return base::ConfigError(base::StrCat(manifest->Find({}).ToString(), ": ", given.message()));
    }
  }
  if (!options.policies.empty()) {
    base::LogInfo("files read", {{"objects", std::to_string(files.manifests.size() - passed_over)},
                                 {"passed over", std::to_string(passed_over)}});
  }
  return base::OkStatus();
}

base::Status Backend::Give(const offline::Manifest& manifest) {
  const auto catalog = world().catalog->Get();
  const auto version = TRY(api::ParseGroupVersion(manifest.api_version));
  const api::catalog::ResourceInfo* info =
      catalog->FindKind({version.group, version.version, manifest.kind});
  if (info == nullptr) {
    return base::ConfigError(base::StrCat("no matches for kind \"", manifest.kind,
                                          "\" in version \"", manifest.api_version, "\""));
  }
  json::Arena arena;
  json::Value object = manifest.object;
  if (info->namespaced && manifest.ns.empty()) {
    object =
        json::SetPath(arena, object, {"metadata", "namespace"}, json::Value::StringView("default"));
  }
  object = json::RemovePath(arena, object, {"metadata", "resourceVersion"});
  const store::Key key = engine::KeyOf(*info, object["metadata"]["namespace"].AsString(),
                                       object["metadata"]["name"].AsString());
  if (!kept_.insert(KeyText(key)).second) return base::ConfigError("the same object stands twice");
  return engine::EnsureObject(world(), object);
}

void Backend::Follow(const Options& options) {
  bool defines = false;
  for (const admission::PluginInfo* plugin : choice_.chosen) {
    const bool has_policies = plugin->name == kValidating || plugin->name == kMutating;
    const bool of_files = has_policies && !Contains(options.enable_admission_plugins, plugin->name);
    defines = defines || has_policies || plugin->name == "OwnerReferencesPermissionEnforcement";
    for (const std::string_view text : base::Split(plugin->reads, ' ')) {
      if (text.empty()) continue;
      const api::GroupResource resource = ReadGroupResource(text);
      if (of_files && resource.group == "admissionregistration.k8s.io") continue;
      if (resource.group.empty() && resource.resource == "pods") {
        mirror_->FetchOnDemand(resource);
      } else {
        mirror_->Follow(resource);
      }
    }
  }
  if (!defines) return;
  mirror_->Follow(ReadGroupResource(kDefinitions));
  mirror_->FollowParameters();
}

void Backend::WarnOfNothingToRead() const {
  for (const admission::PluginInfo* plugin : choice_.chosen) {
    for (const std::string_view text : base::Split(plugin->reads, ' ')) {
      if (text.empty() || text == "namespaces") continue;
      const api::GroupResource resource = ReadGroupResource(text);
      if (world().store->Count({resource.group, resource.resource}) > 0) continue;
      base::LogWarning("a plugin looks at objects of which there are none",
                       {{"plugin", std::string(plugin->name)},
                        {"resource", std::string(text)},
                        {"hint", "--kubeconfig names a cluster that has them, --policies files"}});
    }
  }
}

std::vector<std::string> Backend::Missing() const {
  return mirror_ == nullptr ? std::vector<std::string>() : mirror_->Missing();
}

bool Backend::KnowsNamespace(const std::string& name) const {
  return name.empty() || world().store->Get({"", "namespaces", "", name}) != nullptr;
}

bool Backend::MayWait(const admission::Attributes& request) const {
  if (asks_cluster_) {
    const bool asks = choice_.Has(kValidating) || choice_.Has(kMutating) ||
                      choice_.Has("PodSecurityPolicy") ||
                      choice_.Has("OwnerReferencesPermissionEnforcement") ||
                      request.resource.group == "certificates.k8s.io";
    return asks || mirror_->Lacks(request);
  }
  return !KnowsNamespace(request.namespace_name);
}

void Backend::Prepare(const admission::Attributes& request) {
  if (mirror_ != nullptr) return mirror_->Fetch(request);
  const bool is_namespace =
      request.resource.group.empty() && request.resource.resource == "namespaces";
  if (is_namespace || KnowsNamespace(request.namespace_name)) return;
  // No cluster says what it is like: it is taken for one without labels of its own.
  json::Arena arena;
  const base::Status made = engine::EnsureObject(
      world(), json::ObjectBuilder(arena)
                   .Set("apiVersion", "v1")
                   .Set("kind", "Namespace")
                   .Set("metadata", json::ObjectBuilder(arena)
                                        .Set("name", std::string_view(request.namespace_name))
                                        .Build())
                   .Build());
  if (!made.ok()) {
    base::LogWarning("a namespace was not made", {{"err", made.message()}});
    return;
  }
  const base::MutexLock lock(mutex_);
  made_.push_back(request.namespace_name);
  if (made_.size() <= kMostNamespaces) return;
  (void)world().store->Delete({"", "namespaces", "", made_.front()}, {});
  made_.pop_front();
}

}  // namespace portcullis::webhook_server
