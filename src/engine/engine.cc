// SPDX-License-Identifier: Apache-2.0

#include "engine/engine.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "admission/catalog_objects.h"
#include "admission/chain.h"
#include "admission/match/cel_conditions.h"
#include "admission/store_feed.h"
#include "api/api_status.h"
#include "api/conversion/custom_converter.h"
#include "api/patch/fields_cache.h"
#include "api/schema/defaulting.h"
#include "authz/authorizer.h"
#include "base/clock.h"
#include "base/gotext.h"
#include "base/log.h"
#include "base/strings.h"
#include "engine/boot/boot_objects.h"
#include "engine/definitions/custom_resource_definitions.h"
#include "engine/service_ranges.h"
#include "engine/write/cluster_writer.h"
#include "kube_cel/compiler.h"
#include "metrics/cel_metrics.h"
#include "metrics/metrics.h"
#include "plugins/registry.h"
#include "registry/services/service_network.h"
#include "registry/strategy_table.h"
#include "release/served_resources.h"
#include "store/initialized_reader.h"
#include "store/memory/memory_store.h"
#include "webhook/conversion.h"
#include "webhook/service_resolver.h"

namespace portcullis::engine {
namespace {

constexpr std::string_view kServiceRange = "10.0.0.0/24";
constexpr std::string_view kNodePorts = "30000-32767";
constexpr std::chrono::seconds kTimeLimit{34};  // as kube-apiserver's for single writes

// The plugin brings the field metadata.initializers; in the releases that had it the gate does.
bool HaveInitializers(std::span<const admission::PluginInfo* const> chosen,
                      const release::Release& release) {
  return release.GateEnabled("Initializers") || release.Has("InitializersAreUngated") ||
         std::any_of(chosen.begin(), chosen.end(), [](const admission::PluginInfo* info) {
           return info->name == "Initializers";
         });
}

// Converts by a webhook that cannot be called, for want of a client.
class UnreachableConverter final : public api::CustomConverter {
 public:
  base::Result<std::vector<json::Value>> Convert(json::Arena&, std::span<const json::Value>,
                                                 const api::GroupVersion&) const override {
    return base::InternalError("conversion webhooks cannot be called by this process");
  }
  bool blocks() const override { return false; }
};

// The parts, in the order in which they are made; destroyed in the reverse order.
class EngineParts final : public Engine {
 public:
  explicit EngineParts(EngineOptions options) : options_(std::move(options)) {}
  ~EngineParts() override { Stop(); }

  base::Status Build() {
    release_.emplace(
        TRY(release::Release::Open(options_.kubernetes_version, options_.feature_gates)));
    BuildWorld();
    chosen_ = TRY(
        admission::SelectPlugins(options_.admission_plugins, plugins::Registered(), {}, *release_));
    world_.initializers = HaveInitializers(chosen_, *release_);
    if (world_.initializers) initialized_ = store::MakeInitializedReader(*world_.store);
    TRY(BuildCatalog());
    services_ = std::move(options_.services);
    if (services_ == nullptr) {
      services_ = TRY(registry::ServiceNetwork::Create(kServiceRange, kNodePorts));
    }
    world_.services = services_.get();
    BuildDefinitions();
    BuildExpressions();
    TRY(BuildChain());
    service_ranges_.emplace(*world_.store, *services_);
    AdoptServices(world_);
    definitions_->Follow();
    return base::OkStatus();
  }

  const World& world() const override { return world_; }
  const admission::Chain& chain() const override { return *chain_; }
  kube_cel::Compiler& compiler() override { return *compiler_; }
  const admission::ServiceResolver& resolver() const override { return *resolver_; }
  void Start() override { definitions_->Start(); }
  void Stop() override {
    if (definitions_) definitions_->Stop();
  }

 private:
  void CountFeatureGates() {
    if (options_.metrics == nullptr) return;
    for (const release::FeatureGate& gate : release_->gates()) {
      options_.metrics
          ->AddGauge(
              {"kubernetes_feature_enabled",
               "This metric records the data about the stage and enablement of a k8s feature.",
               metrics::Stability::kBeta},
              {"name", "stage"})
          .With({gate.name, gate.stage})
          .Set(gate.is_enabled ? 1 : 0);
    }
  }

  void BuildWorld() {
    world_.clock = options_.clock != nullptr ? options_.clock : &base::SystemClock();
    if (options_.store == nullptr) own_store_ = store::OpenMemory();
    world_.store = options_.store != nullptr ? options_.store : own_store_.get();
    if (options_.authorizer == nullptr) own_authorizer_ = authz::MakeAlwaysAllow();
    world_.authorizer =
        options_.authorizer != nullptr ? options_.authorizer : own_authorizer_.get();
    world_.authorizer_may_wait = options_.authorizer_may_wait;
    world_.rbac = options_.rbac;
    world_.tokens = options_.tokens;
    world_.signer = options_.signer;
    world_.token_settings = options_.token_settings;
    world_.namespace_hook = options_.namespace_hook;
    world_.checks_policy_types = options_.checks_policy_types;
    world_.strategies = &strategies_;
    world_.fields = &fields_;
    world_.allow_privileged = options_.allow_privileged;
    world_.release = &*release_;
    CountFeatureGates();
    world_.reserves_static_names = release_->GateEnabled("ManifestBasedAdmissionControlConfig");
  }

  // --runtime-config without the resources whose feature gates are off. `api/all=false` alone stays alone:
  // it is refused.
  api::catalog::RuntimeConfig ServedBy(const release::Release& release) const {
    api::catalog::RuntimeConfig config = options_.runtime_config;
    const bool serves_nothing = config == api::catalog::RuntimeConfig{{"api/all", false}};
    if (serves_nothing || release.legacy_minor() < release::kOldestMinor) return config;
    for (const auto& [resource, served] : release::ServedResources()) {
      if (served.gate.empty() || release.GateEnabled(served.gate)) continue;
      config[std::string(resource)] = false;
    }
    return config;
  }

  base::Status BuildCatalog() {
    api::catalog::LegacyOptions legacy;
    legacy.minor = release_->legacy_minor();
    legacy.initializers = world_.initializers;
    for (const admission::PluginInfo* info : chosen_) {
      if (info->legacy) legacy.plugins.push_back(info->name);
    }
    catalog_.Set(TRY(api::catalog::Catalog::BuiltIn(ServedBy(*release_), legacy)));
    world_.catalog = &catalog_;
    defaulter_ = TRY(api::schema::Defaulter::BuiltIn(*release_, world_.clock));
    world_.defaulter = defaulter_.get();
    objects_ = std::make_unique<admission::CatalogObjects>([this] { return catalog_.Get(); },
                                                           defaulter_.get());
    world_.objects = objects_.get();
    return base::OkStatus();
  }

  void BuildDefinitions() {
    webhook::ServiceResolverOptions resolver;
    resolver.table = options_.webhook_service_map;
    resolver.dials_cluster_ips = options_.dials_cluster_ips;
    resolver.route_to_endpoints = options_.route_to_endpoints;
    resolver.own_address = options_.own_address;
    resolver_ = webhook::MakeServiceResolver(reader(), resolver);
    if (options_.https != nullptr) {
      conversions_ = std::make_unique<webhook::ConversionWebhooks>(
          *options_.https, resolver_.get(), *world_.clock, options_.metrics,
          options_.max_webhook_response_bytes);
    }
    definitions_ = std::make_unique<CustomResourceDefinitions>(
        world_, catalog_, [this](json::Value definition) { return ConverterOf(definition); });
  }

  std::shared_ptr<const api::CustomConverter> ConverterOf(json::Value definition) const {
    if (conversions_ != nullptr) return conversions_->For(definition);
    const bool by_webhook = definition["spec"]["conversion"]["strategy"].AsString() == "Webhook";
    return by_webhook ? std::make_shared<const UnreachableConverter>() : nullptr;
  }

  void BuildExpressions() {
    compiler_.emplace(release_->minor());
    conditions_ = admission::match::MakeCelConditions(*compiler_, world_.authorizer);
    if (options_.metrics != nullptr) cel_metrics_.emplace(*options_.metrics, *world_.clock);
    expressions_ = admission::match::MakeCelExpressionChecker(
        *compiler_, cel_metrics_ ? &*cel_metrics_ : nullptr);
    world_.expressions = expressions_.get();
  }

  // kube-apiserver passes over these entries without a word; a typing error would disable what the
  // operator believes to be enforced.
  static void WarnOfIdleConfiguration(const admission::PluginConfigs& configs,
                                      std::span<const admission::PluginInfo* const> registered) {
    std::vector<std::string_view> names;
    for (const admission::PluginInfo* info : registered) names.push_back(info->name);
    for (const std::string& name : configs.passed_over()) {
      const bool is_known = std::find(names.begin(), names.end(), name) != names.end();
      if (is_known) {
        base::LogWarning(
            "--admission-control-config-file configures a plugin that is not enabled",
            {{"plugin", name}, {"hint", base::StrCat("--enable-admission-plugins=", name)}});
        continue;
      }
      const std::string_view near = base::Nearest(name, names);
      base::LogWarning("--admission-control-config-file configures a plugin that does not exist",
                       {{"plugin", name},
                        {"hint", near.empty() ? "see portcullis plugins"
                                              : base::StrCat("did you mean ", near, "?")}});
    }
  }

  base::Status BuildChain() {
    writer_ = MakeClusterWriter(world_);
    feed_ = admission::MakeStoreFeed(*world_.store, world_.initializers);
    const auto configs = TRY(
        admission::PluginConfigs::Load(options_.admission_control_config_file, chosen_, *release_));
    WarnOfIdleConfiguration(configs, plugins::Registered());
    admission::PluginContext context;
    context.reader = &reader();
    context.clock = world_.clock;
    context.authorizer = world_.authorizer;
    context.metrics = options_.metrics;
    context.server_identity = options_.server_identity;
    if (!options_.read_only) context.writer = writer_.get();
    context.feed = feed_.get();
    context.objects = objects_.get();
    context.https = options_.https;
    context.services = resolver_.get();
    context.proxy_client_cert_file = options_.proxy_client_cert_file;
    context.proxy_client_key_file = options_.proxy_client_key_file;
    context.usage_history = options_.usage_history;
    context.conditions = conditions_.get();
    context.compiler = &*compiler_;
    context.release = &*release_;
    context.initializers = world_.initializers;
    context.default_not_ready_toleration_seconds = options_.default_not_ready_toleration_seconds;
    context.default_unreachable_toleration_seconds =
        options_.default_unreachable_toleration_seconds;
    chain_ = TRY(admission::Chain::Create(chosen_, configs, context));
    if (options_.metrics != nullptr) {
      observer_ = admission::MakeMetricsObserver(*options_.metrics, chosen_);
      chain_->AddObserver(observer_.get());
    }
    world_.chain = chain_.get();
    return base::OkStatus();
  }

  // The objects that plugins may see.
  const store::Reader& reader() const {
    return initialized_ != nullptr ? *initialized_ : *world_.store;
  }

  EngineOptions options_;
  std::optional<release::Release> release_;
  World world_;
  std::unique_ptr<store::Store> own_store_;
  std::unique_ptr<store::Reader> initialized_;  // null: there are no initializers
  std::unique_ptr<authz::Authorizer> own_authorizer_;
  std::unique_ptr<admission::ServiceResolver> resolver_;
  std::unique_ptr<webhook::ConversionWebhooks> conversions_;  // used by the catalog
  base::Published<api::catalog::Catalog> catalog_;
  std::shared_ptr<const api::schema::Defaulter> defaulter_;
  std::unique_ptr<admission::ObjectInterfaces> objects_;
  std::unique_ptr<CustomResourceDefinitions> definitions_;
  const registry::StrategyTable strategies_;
  api::patch::FieldsCache fields_;
  std::unique_ptr<registry::ServiceNetwork> services_;
  std::optional<ServiceRanges> service_ranges_;
  std::optional<kube_cel::Compiler> compiler_;
  std::optional<const metrics::CelMetrics> cel_metrics_;
  std::unique_ptr<admission::match::ConditionEvaluator> conditions_;
  std::unique_ptr<registry::ExpressionChecker> expressions_;
  std::vector<const admission::PluginInfo*> chosen_;
  std::unique_ptr<admission::ClusterWriter> writer_;
  std::unique_ptr<admission::ObjectFeed> feed_;
  std::unique_ptr<admission::ChainObserver> observer_;
  std::unique_ptr<admission::Chain> chain_;
};

}  // namespace

base::Result<bool> HasInitializers(const admission::PluginFlags& flags,
                                   const release::Release& release) {
  return HaveInitializers(TRY(admission::SelectPlugins(flags, plugins::Registered(), {}, release)),
                          release);
}

base::Result<std::unique_ptr<Engine>> Engine::Create(EngineOptions options) {
  auto engine = std::make_unique<EngineParts>(std::move(options));
  TRY(engine->Build());
  return std::unique_ptr<Engine>(std::move(engine));
}

base::Status Resolve(Operation& op, const ResourcePath& path) {
  op.catalog = op.world.catalog->Get();
  op.resource = op.catalog->Find(path.group, path.version, path.resource);
  if (op.resource == nullptr) return api::UnknownResourceStatus();
  if (!path.subresource.empty()) {
    op.subresource = op.resource->FindSubresource(path.subresource);
    if (op.subresource == nullptr) return api::UnknownResourceStatus();
  }
  op.ns = path.ns;
  op.name = path.name;
  op.started = op.world.clock->Steady();
  op.deadline = op.started + kTimeLimit;
  return base::OkStatus();
}

base::Status ResolveObject(Operation& op, json::Value object) {
  const auto version = TRY(api::ParseGroupVersion(object["apiVersion"].AsString()));
  const auto catalog = op.world.catalog->Get();
  const std::string_view kind = object["kind"].AsString();
  const api::catalog::ResourceInfo* resource =
      catalog->FindKind({version.group, version.version, std::string(kind)});
  if (resource == nullptr) {
    return base::Status(base::Reason::kNotFound,
                        base::StrCat("no matches for kind ", base::GoQuote(kind), " in version ",
                                     base::GoQuote(version.ToString())));
  }
  const json::Value metadata = object["metadata"];
  return Resolve(
      op, {resource->resource.group, resource->resource.version, resource->resource.resource, "",
           resource->namespaced ? metadata["namespace"].AsString() : std::string_view(),
           metadata["name"].AsString()});
}

}  // namespace portcullis::engine
