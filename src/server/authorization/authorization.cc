// SPDX-License-Identifier: Apache-2.0

#include "server/authorization/authorization.h"

#include <algorithm>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "authz/abac/abac.h"
#include "authz/rbac/rule_book.h"
#include "base/file.h"
#include "base/gotext.h"
#include "base/log.h"
#include "base/memory_reserve.h"
#include "base/mutex.h"
#include "base/published.h"
#include "base/strings.h"
#include "controllers/identity_lease.h"
#include "engine/engine.h"
#include "json/sorted.h"
#include "json/writer.h"
#include "json/yaml.h"
#include "release/release.h"
#include "server/authentication/provider.h"
#include "server/authorization/configuration.h"
#include "server/authorization/webhook_authorizer.h"
#include "server/reload_metrics.h"

namespace portcullis::server::authorization {
namespace {

constexpr std::chrono::seconds kLookEvery{1};
constexpr std::string_view kWebhook = "Webhook";

std::vector<Member> MembersOfFlags(const Options& options) {
  std::vector<Member> members;
  for (const std::string& mode : options.authorization_modes) {
    Member member{mode, base::ToLower(mode), nullptr};
    if (mode == kWebhook) {
      auto settings = std::make_shared<WebhookSettings>();
      settings->kubeconfig = options.authorization_webhook_config_file;
      settings->review_version = options.authorization_webhook_version;
      settings->authorized_ttl = options.authorization_webhook_cache_authorized_ttl;
      settings->unauthorized_ttl = options.authorization_webhook_cache_unauthorized_ttl;
      member.name = "default";
      member.webhook = std::move(settings);
    }
    members.push_back(std::move(member));
  }
  return members;
}

std::set<std::string> OwnTypes(const std::vector<Member>& members) {
  std::set<std::string> types;
  for (const Member& member : members) {
    if (member.type != kWebhook) types.insert(member.type);
  }
  return types;
}

// What the text says, however it is written.
std::string MeaningOf(const std::string& text) {
  json::Arena arena;
  const auto value = json::ParseYamlOrJson(arena, text);
  return value.ok() ? json::ToString(json::Sorted(arena, *value)) : "";
}

class Chain final : public Authorization, public authz::Authorizer {
 public:
  Chain(std::string file, const Parts& parts)
      : file_(std::move(file)), parts_(parts), webhook_metrics_(parts.metrics) {}
  ~Chain() override {
    {
      base::MutexLock lock(mutex_);
      stopping_ = true;
      wake_.NotifyAll();
    }
    if (thread_.joinable()) thread_.join();
  }

  base::Status Begin(const Options& options) {
    std::vector<Member> members;
    if (file_.empty()) {
      members = MembersOfFlags(options);
    } else {
      text_ = TRY(base::ReadFile(file_));
      members = TRY(ParseConfiguration(text_));
      meaning_ = MeaningOf(text_);
    }
    types_ = OwnTypes(members);
    const auto release =
        TRY(release::Release::Open(options.kubernetes_version, options.feature_gates));
    initializers_ =
        TRY(engine::HasInitializers({options.enable_admission_plugins,
                                     options.disable_admission_plugins, options.admission_control},
                                    release));
    if (const std::string& path = options.authorization_policy_file; !path.empty()) {
      abac_ = TRY(authz::abac::Parse(TRY(base::ReadFile(path)), path));
    }
    auto assembled = TRY(Assemble(members));
    rbac_ = assembled.rbac;
    if (file_.empty()) {
      fixed_ = std::move(assembled.authorizer);
      return base::OkStatus();
    }
    current_.Set(std::move(assembled.authorizer));
    reloads_.emplace(parts_.metrics, "authorization",
                     authentication::HashLabel(controllers::OwnServerIdentity()));
    reloads_->Note(authentication::HashLabel(text_));
    thread_ = std::thread([this] { Run(); });
    return base::OkStatus();
  }

  const authz::Authorizer& authorizer() const override { return *this; }
  const authz::rbac::RuleBook* rbac() const override { return rbac_.get(); }

  authz::Decision Authorize(const authz::Attributes& attributes) const override {
    if (fixed_ != nullptr) return fixed_->Authorize(attributes);
    return current_.Get()->Authorize(attributes);
  }
  authz::Rules RulesFor(const api::UserInfo& user, std::string_view ns) const override {
    if (fixed_ != nullptr) return fixed_->RulesFor(user, ns);
    return current_.Get()->RulesFor(user, ns);
  }

 private:
  base::Result<authz::Assembled> Assemble(const std::vector<Member>& members) const {
    authz::ModeOptions options;
    options.modes.clear();
    options.aggregate_cluster_roles = parts_.aggregate_cluster_roles;
    options.initializers = initializers_;
    options.rbac = rbac_;
    options.node = parts_.node;
    options.decisions = &parts_.decisions;
    options.abac = abac_;
    for (const Member& member : members) {
      options.modes.push_back(member.type);
      options.names.push_back(member.name);
      if (member.webhook == nullptr) continue;
      options.webhooks.push_back(TRY(MakeWebhookAuthorizer(
          member.name, member.webhook, parts_.https, parts_.clock, webhook_metrics_)));
    }
    return authz::Assemble(options, parts_.store);
  }

  void Run() {
    const base::NeedsMemory needs;
    base::MutexLock lock(mutex_);
    while (!stopping_) {
      if (wake_.WaitUntil(mutex_, base::SystemClock().Steady() + kLookEvery)) continue;
      const base::Status status = Look();
      if (!status.ok()) {
        reloads_->Count("failure", parts_.clock);
        base::LogError("reloading authorization config",
                       {{"file", file_}, {"error", status.message()}});
      }
    }
  }

  // What stands in the file is tried once.
  base::Status Look() {
    std::string text = TRY(base::ReadFile(file_));
    if (text == text_) return base::OkStatus();
    base::LogInfo("found new authorization config data");
    text_ = std::move(text);
    const std::vector<Member> members = TRY(ParseConfiguration(text_));
    std::vector<std::string> missing;
    const std::set<std::string> types = OwnTypes(members);
    std::set_difference(types_.begin(), types_.end(), types.begin(), types.end(),
                        std::back_inserter(missing));
    if (!missing.empty()) {
      return base::ConfigError(base::StrCat("missing required types: ", base::GoList(missing)));
    }
    std::string meaning = MeaningOf(text_);
    if (!meaning.empty() && meaning == meaning_)
      return base::OkStatus();  // no reload, in metrics neither
    meaning_ = std::move(meaning);
    for (const std::string& type : types) {
      const bool late = type == "Node" || type == "RBAC" || type == "ABAC";
      if (!late || types_.contains(type)) continue;
      return base::ConfigError(
          base::StrCat("authorizer type ", type,
                       " is not allowed if it was not enabled at initial server startup"));
    }
    current_.Set(TRY(Assemble(members)).authorizer);
    base::LogInfo("reloaded authz config");
    reloads_->Count("success", parts_.clock);
    reloads_->Note(authentication::HashLabel(text_));
    return base::OkStatus();
  }

  const std::string file_;
  const Parts parts_;
  const WebhookMetrics webhook_metrics_;
  std::string text_;             // of the file; after the start the thread's
  std::string meaning_;          // what has been loaded last, likewise
  std::set<std::string> types_;  // those of the start
  bool initializers_ = false;    // objects may have some left
  std::shared_ptr<authz::rbac::RuleBook> rbac_;
  std::shared_ptr<const authz::Authorizer> abac_;
  std::shared_ptr<const authz::Authorizer> fixed_;  // without a file
  base::Published<authz::Authorizer> current_;
  std::optional<ReloadMetrics> reloads_;  // with a file

  base::Mutex mutex_;
  base::CondVar wake_;
  bool stopping_ PC_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace

base::Result<std::unique_ptr<Authorization>> MakeAuthorization(const Options& options,
                                                               const Parts& parts) {
  auto chain = std::make_unique<Chain>(options.authorization_config, parts);
  const base::Status begun = chain->Begin(options);
  if (begun.ok()) return std::unique_ptr<Authorization>(std::move(chain));
  return options.authorization_config.empty() ? begun : begun.Annotate("--authorization-config");
}

}  // namespace portcullis::server::authorization
