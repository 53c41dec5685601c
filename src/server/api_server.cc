// SPDX-License-Identifier: Apache-2.0

#include "server/api_server.h"

#include <malloc.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <limits>
#include <thread>

#include "admission/chain.h"
#include "api/api_status.h"
#include "authz/authorizer.h"
#include "authz/impersonation.h"
#include "base/log.h"
#include "base/memory_reserve.h"
#include "base/program_pages.h"
#include "base/strings.h"
#include "controllers/address_book.h"
#include "controllers/aggregated_discovery.h"
#include "controllers/api_service_availability.h"
#include "controllers/coordinated_election.h"
#include "controllers/custom_api_services.h"
#include "controllers/default_service_cidr.h"
#include "controllers/event_expiry.h"
#include "controllers/flow_control_objects.h"
#include "controllers/identity_lease.h"
#include "controllers/kubernetes_service.h"
#include "controllers/namespace_initialization.h"
#include "controllers/policy_status.h"
#include "controllers/runner.h"
#include "controllers/shared_network.h"
#include "engine/boot/boot_objects.h"
#include "engine/engine.h"
#include "golang/netip.h"
#include "golang/time.h"
#include "json/writer.h"
#include "kube_cel/compiler.h"
#include "metrics/access_metrics.h"
#include "metrics/allocator_metrics.h"
#include "metrics/apiserver_metrics.h"
#include "metrics/watch_metrics.h"
#include "net/client.h"
#include "net/io_threads.h"
#include "net/server.h"
#include "net/tls.h"
#include "net/tls_reload.h"
#include "registry/services/service_network.h"
#include "release/release.h"
#include "server/admission_traces.h"
#include "server/aggregation/aggregation.h"
#include "server/audit_backends.h"
#include "server/authentication/authentication.h"
#include "server/authorization/authorization.h"
#include "server/controller_loops.h"
#include "server/credentials.h"
#include "server/data_folder.h"
#include "server/discovery/documents.h"
#include "server/dispatcher.h"
#include "server/environment.h"
#include "server/filters/answer_headers.h"
#include "server/memory_budget.h"
#include "server/metric_limits.h"
#include "server/own_requests.h"
#include "server/process_gauges.h"
#include "server/seats.h"
#include "server/serving_tls.h"
#include "server/storage.h"
#include "server/watch_hub.h"
#include "store/etcd/errors.h"
#include "store/etcd/etcd_store.h"
#include "store/shrink.h"

namespace portcullis::server {
namespace {

constexpr std::size_t kMaxBody = 3 * 1024 * 1024;
constexpr std::chrono::seconds kReloadEvery{1};  // looking at a few small files costs nothing

// A request takes a multiple of its body while it is carried out; so much of the memory limit may
// be bodies.
constexpr std::size_t kBodyShare = 32;
// What a connection may take before anybody knows whose it is: TLS, and a head.
constexpr std::size_t kPerConnection = 64 << 10;

// Connections from one address on which no client has been authenticated.
constexpr std::size_t kMaxStrangers = 2000;

net::BodyLimits BodyLimitsFor(std::size_t memory) {
  net::BodyLimits limits;
  limits.total = std::clamp<std::size_t>(memory / kBodyShare, 2 * kMaxBody, limits.total);
  limits.per_owner = limits.total / 2;
  return limits;
}

base::Result<api::catalog::RuntimeConfig> ReadRuntimeConfig(const Options& options) {
  std::vector<std::string> pairs;
  for (const auto& [key, value] : options.runtime_config) {
    pairs.push_back(base::StrCat(key, "=", value));
  }
  return api::catalog::ParseRuntimeConfig(base::Join(pairs, ","));
}

// What extension API servers are told about authentication.
base::Result<engine::BootFacts> BootFactsOf(const Options& options,
                                            const Credentials& credentials) {
  engine::BootFacts facts{.server_port = options.secure_port};
  facts.authentication.emplace_back("client-ca-file", credentials.client_ca_pem);
  if (options.requestheader_client_ca_file.empty()) return facts;
  json::Arena arena;
  const auto list = [&](std::string_view name, const std::vector<std::string>& items) {
    json::ArrayBuilder array(arena);
    for (const std::string& item : items) array.Add(item);
    facts.authentication.emplace_back(name, json::ToString(array.Build()));
  };
  list("requestheader-allowed-names", options.requestheader_allowed_names);
  facts.authentication.emplace_back(
      "requestheader-client-ca-file",
      TRY(pki::LoadCertificates(options.requestheader_client_ca_file)));
  list("requestheader-extra-headers-prefix", options.requestheader_extra_headers_prefix);
  list("requestheader-group-headers", options.requestheader_group_headers);
  list("requestheader-uid-headers", options.requestheader_uid_headers);
  list("requestheader-username-headers", options.requestheader_username_headers);
  return facts;
}

// The parts, in the order in which they are made; destroyed in the reverse order.
class Server final : public ApiServer {
 public:
  Server(const Options& options, const base::Clock& clock)
      : options_(WithPairOfCertDir(options)), clock_(clock) {}
  ~Server() override { Stop(std::chrono::milliseconds(0)); }

  base::Status Build() {
    env_.options = &options_;
    env_.clock = &clock_;
    env_.metrics = &metrics_;
    env_.request_metrics = &request_metrics_;
    env_.access_metrics = &access_metrics_;
    env_.watch_metrics = &watch_metrics_;
    answer_headers_ = TRY(filters::AnswerHeaders::Create(options_));
    if (answer_headers_.any()) env_.answer_headers = &answer_headers_;
    TRY(io_.status());
    if (!options_.data_dir.empty()) folder_ = TRY(DataFolder::Open(options_.data_dir));
    memory_.emplace(TRY(ReadMemoryLimit(options_.memory_limit)), base::UsedMemory, clock_);
    env_.memory = &*memory_;
    storage_ = TRY(Storage::Open(options_, clock_, metrics_, memory_->limit()));
    env_.etcd = storage_->etcd();
    auto services = TRY(registry::ServiceNetwork::Create(options_.service_cluster_ip_range,
                                                         options_.service_node_port_range));
    // OpenSSL takes as long over keys and certificates as reading kinds and schemas does.
    auto identity = std::async(
        [this, address = std::string(services->first_address())] { return MakeIdentity(address); });
    MakeHttpsClient();
    TRY(BuildAuthorization());
    TRY(BuildAudit());
    chosen_controllers_ = TRY(controllers::SelectControllers(options_.controllers));
    TRY(BuildEngine(std::move(services)));
    identity_ = TRY(identity.get());
    TRY(BuildAuthentication());
    seats_ = MakeSeats(options_, storage_->store(), clock_, metrics_);
    env_.seats = seats_.get();
    watches_ = std::make_unique<WatchHub>(storage_->store(), *env_.catalog, clock_, watch_metrics_);
    env_.watches = watches_.get();
    documents_.set_client(*https_);
    aggregation_.emplace(Aggregation::Parts{options_, storage_->store(), *https_, *probes_,
                                            metrics_, engine_->resolver(), clock_});
    aggregation_->Start();
    env_.aggregation = &*aggregation_;
    env_.documents = &documents_;
    env_.traces = &traces_;
    memory_->AddCache([this] { store::ShrinkHistory(storage_->store()); });
    memory_->AddCache([this] { documents_.Forget(); });
    memory_->AddCache([this] { watches_->ForgetViews(); });
    memory_->AddCache([this] { engine_->compiler().ForgetRules(); });
    memory_->AddCache(
        [this] { store::ForgetDocuments(storage_->store()); });  // after those that hold objects
    return base::OkStatus();
  }

  base::Status Start() override {
    engine_->Start();
    dispatcher_ = std::make_unique<Dispatcher>(env_);
    self_ = MakeOwnClient(env_, controllers::ServerItself(), Limits::kNone);
    if (authentication_.legacy_tokens) authentication_.legacy_tokens->Start(*self_);
    addresses_ = controllers::MakeAddressBook(env_, *self_);
    env_.services->set_book(addresses_.get());
    TRY(MakeWhatIsMissing());
    env_.services->set_metrics(&allocator_metrics_);
    MakeControllers();
    TRY(Listen());
    loops_->Start(listener_->port());
    StartEventExpiry();
    TRY(WriteAdminKubeconfig());
    base::LimitMemory(memory_->limit(), &*memory_);  // from here on requests and watches ask for it
    return base::OkStatus();
  }

  // Only a file that was asked for must be written: a server whose disk is full has to start, so that
  // something can be deleted.
  base::Status WriteAdminKubeconfig() {
    kubeconfig_ = options_.write_kubeconfig;
    const bool asked_for = !kubeconfig_.empty();
    if (!asked_for) {
      if (options_.data_dir.empty()) return base::OkStatus();
      kubeconfig_ = (std::filesystem::path(options_.data_dir) / "admin.kubeconfig").string();
    }
    base::Status written = WriteKubeconfig(kubeconfig_, identity_.credentials, url_);
    if (written.ok() || asked_for) return written;
    base::LogWarning("the administrator's kubeconfig is not up to date",
                     {{"file", kubeconfig_}, {"error", written.message()}});
    return base::OkStatus();
  }

  // What is there at the first start of a cluster. Another server may be about the same.
  base::Status MakeWhatIsMissing() {
    if (env_.etcd == nullptr) return MakeBootObjects({});
    const base::SteadyTime end = clock_.Steady() + 2 * controllers::kUnstoredGrace;
    std::string told;
    while (true) {
      base::Status made = MakeBootObjects(controllers::kUnstoredGrace);
      if (made.ok() || clock_.Steady() > end) return made;
      // The server has to run for something to be deleted.
      if (network_ != nullptr && store::IsFull(made)) {
        base::LogWarning("etcd is full; what every cluster has is not complete",
                         {{"error", made.message()}});
        return base::OkStatus();
      }
      if (told != made.message()) {
        base::LogInfo("what every cluster has is not complete yet", {{"error", made.message()}});
      }
      told = made.message();
      std::this_thread::sleep_for(std::chrono::milliseconds(250));
    }
  }

  base::Status MakeBootObjects(base::Duration grace) {
    TRY(controllers::ReleaseAddresses(env_, grace));
    if (env_.etcd != nullptr && network_ == nullptr) {
      auto network = std::make_unique<controllers::SharedNetwork>(
          storage_->store(), env_.etcd->node_ports(), options_.service_node_port_range,
          *env_.services, clock_);
      TRY(network->Start());
      network_ = std::move(network);
      network_->StartRepairs();
    }
    json::Arena arena;
    engine::BootFacts facts = TRY(BootFactsOf(options_, identity_.credentials));
    if (options_.store == "memory")
      facts.writers = static_cast<std::size_t>(net::IoThreads::DefaultCount());
    facts.also = controllers::FlowControlBootJobs(*env_.store, *self_, clock_, arena,
                                                  options_.enable_priority_and_fairness);
    TRY(engine::MakeBootObjects(env_, facts));
    return controllers::RepairAddresses(env_);
  }

  void AnnounceStop() override {
    documents_.SetStopping();
    if (loops_) loops_->AnnounceStop();
  }

  void ForgetStart() override {
    store::ForgetDocuments(storage_->store());
    malloc_trim(0);
    base::UnmapProgramPages();
  }

  void Stop(std::chrono::milliseconds grace) override {
    if (std::exchange(stopped_, true)) return;
    ending_ = true;
    AnnounceStop();
    if (probes_) probes_->Stop();  // for which loops wait
    if (loops_) loops_->Stop();
    event_expiry_.reset();
    if (watches_) watches_->Stop();
    reloader_.reset();
    if (listener_) listener_->Shutdown(grace);
    if (https_) https_->Stop();  // what still waits for another server has lost its client
    if (aggregation_) aggregation_->Stop();
    if (seats_) seats_->Close();
    dispatcher_.reset();
    if (authentication_.legacy_tokens) authentication_.legacy_tokens->Stop();
    listener_.reset();  // of which requests may have told until here
    base::LimitMemory(std::numeric_limits<std::size_t>::max());
    if (memory_) memory_->Stop();  // before the caches go
    watches_.reset();
    if (engine_) engine_->Stop();
    if (audit_.sink) audit_.sink->Flush();
    audit_.sink.reset();  // may still send what it holds: before the I/O threads go
  }

  int port() const override { return listener_ ? listener_->port() : 0; }
  const std::string& url() const override { return url_; }
  const std::string& kubeconfig_path() const override { return kubeconfig_; }

 private:
  // What the server shows to clients and signs with.
  struct Identity {
    Credentials credentials;
    ServingTls tls;
    std::shared_ptr<const net::ServerTls> serving;
  };
  // Touches no member but options and clock: runs beside the rest of Build().
  base::Result<Identity> MakeIdentity(std::string_view service_address) const {
    Identity made;
    made.credentials = TRY(PrepareCredentials(options_, service_address, clock_));
    made.tls = TRY(MakeServingTls(options_, made.credentials));
    made.serving = TRY(net::ServerTls::Create(made.tls.settings));
    return made;
  }

  base::Status BuildAuthentication() {
    authentication_ = TRY(MakeAuthentication(options_, identity_.credentials, *https_,
                                             storage_->store(), clock_, metrics_));
    env_.authenticator = authentication_.authenticator.get();
    env_.tokens = authentication_.reviewer.get();
    env_.signer = authentication_.signer.get();
    return base::OkStatus();
  }

  // No server that is called may fill the memory of this one.
  net::ClientOptions AnswerLimits() const {
    net::ClientOptions client;
    client.max_response_bytes = static_cast<std::size_t>(options_.max_webhook_response_bytes);
    return client;
  }

  void MakeHttpsClient() {
    net::ClientOptions client = AnswerLimits();
    if (!options_.https_proxy.empty()) {
      client.proxies = std::make_shared<const net::ProxyRules>(
          net::ProxySettings{options_.https_proxy, options_.no_proxy});
    }
    https_ = net::HttpsClient::Create(io_, client);
    probes_ = net::HttpsClient::Create(io_, client);
  }

  base::Status BuildAuthorization() {
    const auto has = [this](std::string_view item) {
      return std::find(options_.controllers.begin(), options_.controllers.end(), item) !=
             options_.controllers.end();
    };
    const bool aggregates = !has("-*") && !has("-clusterrole-aggregation-controller");
    const release::Release release =
        TRY(release::Release::Open(options_.kubernetes_version, options_.feature_gates));
    if (release.GateEnabled("ConstrainedImpersonation")) {
      env_.impersonation_modes = &impersonation_modes_;
    }
    authorization_ = TRY(authorization::MakeAuthorization(
        options_, {storage_->store(),
                   *https_,
                   clock_,
                   metrics_,
                   request_metrics_.authorization_decisions,
                   aggregates,
                   {.pod_certificate_requests = release.GateEnabled("PodCertificateRequest"),
                    .credential_provider_tokens =
                        release.GateEnabled("KubeletServiceAccountTokenForCredentialProviders"),
                    .cluster_trust_bundles = release.GateEnabled("ClusterTrustBundle")}}));
    return base::OkStatus();
  }

  base::Status BuildAudit() {
    audit_ =
        TRY(OpenAuditBackends(options_, clock_, io_, AnswerLimits(), access_metrics_.audit_errors));
    if (audit_.sink == nullptr) return base::OkStatus();
    env_.audit_policy = &*audit_.policy;
    env_.audit_sink = audit_.sink.get();
    return base::OkStatus();
  }

  base::Status BuildEngine(std::unique_ptr<registry::ServiceNetwork> services) {
    engine::EngineOptions engine;
    engine.clock = &clock_;
    engine.store = &storage_->store();
    engine.authorizer = &authorization_->authorizer();
    engine.rbac = authorization_->rbac();
    // Both may ask a webhook.
    const auto& modes = options_.authorization_modes;
    engine.authorizer_may_wait = !options_.authorization_config.empty() ||
                                 std::find(modes.begin(), modes.end(), "Webhook") != modes.end();
    engine.https = https_.get();
    engine.max_webhook_response_bytes = AnswerLimits().max_response_bytes;
    engine.metrics = &metrics_;
    engine.namespace_hook = &initialization_;
    engine.services = std::move(services);
    engine.own_address = [this] { return own_address_; };
    for (const controllers::ControllerInfo* info : chosen_controllers_) {
      if (info == &controllers::kPolicyStatus) engine.checks_policy_types = true;
    }
    engine.kubernetes_version = options_.kubernetes_version;
    engine.feature_gates = options_.feature_gates;
    engine.allow_privileged = options_.allow_privileged;
    engine.runtime_config = TRY(ReadRuntimeConfig(options_));
    engine.admission_plugins = {options_.enable_admission_plugins,
                                options_.disable_admission_plugins, options_.admission_control};
    engine.admission_control_config_file = options_.admission_control_config_file;
    engine.server_identity = controllers::OwnServerIdentity();
    engine.proxy_client_cert_file = options_.proxy_client_cert_file;
    engine.proxy_client_key_file = options_.proxy_client_key_file;
    engine.usage_history = options_.usage_history;
    engine.default_not_ready_toleration_seconds = options_.default_not_ready_toleration_seconds;
    engine.default_unreachable_toleration_seconds = options_.default_unreachable_toleration_seconds;
    engine.webhook_service_map = options_.webhook_service_map;
    engine.dials_cluster_ips = options_.service_cluster_ip_range_given;
    engine.route_to_endpoints = options_.enable_aggregator_routing;
    engine.token_settings = {options_.service_account_issuer, ApiAudiencesOf(options_),
                             options_.service_account_max_token_expiration,
                             options_.service_account_extend_token_expiration};
    engine_ = TRY(engine::Engine::Create(std::move(engine)));
    static_cast<engine::World&>(env_) = engine_->world();
    env_.ending = &ending_;
    env_.cbor = env_.release->GateEnabled("CBORServingAndStorage");
    env_.begins_may_wait = env_.authorizer_may_wait || audit_.may_wait;
    for (admission::Phase phase : {admission::kMutate, admission::kValidate}) {
      base::LogInfo(engine_->chain().LoadedLine(phase));
    }
    return base::OkStatus();
  }

  void MakeControllers() {
    controller_context_.reset(new controllers::ControllerContext{
        storage_->store(), *self_, *env_.catalog, clock_, engine_->compiler(),
        identity_.credentials.authority_pem, *env_.release, env_.services, env_.initializers,
        env_.services->first_address(), options_.secure_port, env_.aggregation});
    loops_ = std::make_unique<ControllerLoops>(env_, *controller_context_, initialization_);
    loops_->AddChosen(chosen_controllers_);
    // Always on: --controllers does not select these.
    for (const controllers::ControllerInfo* info :
         {&controllers::kIdentityLease, &controllers::kCustomApiServices,
          &controllers::kApiServiceAvailability, &controllers::kAggregatedAvailability,
          &controllers::kAggregatedDiscovery, &controllers::kAddressRepair,
          &controllers::kKubernetesService, &controllers::kDefaultServiceCidr,
          &controllers::kFlowControlObjects}) {
      loops_->AddOwn(*info);
    }
    if (env_.release->GateEnabled("CoordinatedLeaderElection")) {
      loops_->AddOwn(controllers::kCoordinatedElection);
    }
    if (options_.enable_priority_and_fairness) loops_->AddOwn(controllers::kFlowSchemaStatus);
  }

  void StartEventExpiry() {
    if (options_.store == "etcd") return;  // which lets them expire itself
    // kube-apiserver counts whole seconds, of which 0 stands for ever.
    const auto ttl = std::chrono::floor<std::chrono::seconds>(options_.event_ttl);
    if (ttl.count() <= 0) return;
    event_expiry_ = std::make_unique<controllers::EventExpiry>(storage_->store(), clock_, ttl);
    event_expiry_->Start();
  }

  base::Status Listen() {
    net::ServerOptions server;
    server.address =
        golang::JoinHostPort(options_.bind_address, std::to_string(options_.secure_port));
    server.tls = identity_.serving;
    server.clock = &clock_;
    server.bodies_on_demand = true;
    server.bodies = BodyLimitsFor(memory_->limit());
    server.max_strangers_per_address = kMaxStrangers;
    server.max_connections = std::min(server.max_connections, memory_->limit() / kPerConnection);
    if (options_.request_timeout.count() > 0) {
      server.write_timeout = std::chrono::ceil<std::chrono::milliseconds>(options_.request_timeout);
    }
    server.max_body_bytes = [](const net::Request&) { return kMaxBody; };
    server.max_streams_per_connection =
        static_cast<std::uint32_t>(std::max(1, options_.http2_max_streams_per_connection));
    listener_ = TRY(net::HttpsServer::Listen(
        io_, std::move(server),
        [this](const std::shared_ptr<net::Exchange>& exchange) { dispatcher_->Handle(exchange); }));
    if (options_.also_bind_ipv6_loopback) {
      // For names that lead to ::1 first. A machine without IPv6, or another program at that port,
      // does no harm: clients go on to 127.0.0.1.
      (void)listener_->AlsoListen(golang::JoinHostPort("::1", std::to_string(listener_->port())));
    }
    metrics_.Limit(MetricLimits(options_));
    AddProcessGauges(metrics_, *env_.release, *memory_, listener_);
    reloader_ = std::make_unique<net::TlsReloader>(io_, *listener_, identity_.tls.settings,
                                                   identity_.tls.files, kReloadEvery);
    const bool any = options_.bind_address == "0.0.0.0" || options_.bind_address == "::";
    const std::string host = any ? "127.0.0.1" : options_.bind_address;
    const std::string port = std::to_string(listener_->port());
    own_address_ = golang::JoinHostPort(host, port);
    url_ = base::StrCat("https://", own_address_);
    const std::string& name = options_.external_hostname;
    env_.server_address = name.empty() ? own_address_ : golang::JoinHostPort(name, port);
    return base::OkStatus();
  }

  const Options options_;
  const base::Clock& clock_;
  metrics::Registry metrics_;
  const metrics::RequestMetrics request_metrics_{metrics_};
  const metrics::AccessMetrics access_metrics_{metrics_};
  const metrics::WatchMetrics watch_metrics_{metrics_};
  const metrics::AllocatorMetrics allocator_metrics_{metrics_, clock_};
  filters::AnswerHeaders answer_headers_;
  Environment env_;
  Documents documents_{env_};
  AdmissionTraces traces_{static_cast<std::size_t>(std::max(options_.admission_trace_history, 0))};
  std::unique_ptr<DataFolder> folder_;
  std::unique_ptr<Storage> storage_;
  std::unique_ptr<Seats> seats_;  // outlives the connections, whose requests hold seats
  Identity identity_;
  authz::LastModes impersonation_modes_;
  std::optional<MemoryBudget> memory_;
  net::IoThreads io_{net::IoThreads::DefaultCount()};
  AuditBackends audit_;
  std::unique_ptr<net::HttpsClient> https_;
  std::unique_ptr<net::HttpsClient> probes_;  // asks aggregated API servers
  Authentication authentication_;
  std::unique_ptr<authorization::Authorization> authorization_;
  controllers::NamespaceInitialization initialization_;
  std::unique_ptr<engine::Engine> engine_;
  std::optional<Aggregation> aggregation_;
  std::unique_ptr<WatchHub> watches_;
  std::unique_ptr<controllers::Client> self_;
  std::unique_ptr<registry::AddressBook> addresses_;
  std::unique_ptr<controllers::SharedNetwork> network_;  // null: no other server shares the store
  std::unique_ptr<Dispatcher> dispatcher_;
  std::unique_ptr<net::HttpsServer> listener_;
  std::unique_ptr<net::TlsReloader> reloader_;
  std::vector<const controllers::ControllerInfo*> chosen_controllers_;
  std::unique_ptr<controllers::ControllerContext> controller_context_;
  std::unique_ptr<ControllerLoops> loops_;
  std::unique_ptr<controllers::EventExpiry> event_expiry_;
  std::string own_address_;
  std::string url_;
  std::string kubeconfig_;
  bool stopped_ = false;
  std::atomic<bool> ending_{false};
};

}  // namespace

base::Result<std::unique_ptr<ApiServer>> ApiServer::Create(const Options& options,
                                                           const base::Clock& clock) {
  base::PutMemoryAside();
  auto server = std::make_unique<Server>(options, clock);
  TRY(server->Build());
  return std::unique_ptr<ApiServer>(std::move(server));
}

}  // namespace portcullis::server
