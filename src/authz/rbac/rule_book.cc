// SPDX-License-Identifier: Apache-2.0

// Roles and bindings are compiled into one immutable snapshot: for each subject the grants it has,
// and for each grant the rules and the words that describe it. The observer only notes that
// something has changed; the next question compiles anew. A burst of writes therefore costs one
// compilation, and a question that comes after a write has returned is answered with it. What was read
// of roles and bindings that are still the stored ones is taken over from the snapshot before: a
// cluster's start writes some hundred, and asks in between.

#include "authz/rbac/rule_book.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <utility>

#include "api/api_status.h"
#include "authn/service_account.h"
#include "authz/rbac/aggregation.h"
#include "base/gotext.h"
#include "base/mutex.h"
#include "base/published.h"
#include "base/strings.h"
#include "json/reader.h"
#include "store/initialized_reader.h"

namespace portcullis::authz::rbac {
namespace {

constexpr std::string_view kGroup = "rbac.authorization.k8s.io";
constexpr store::Collection kClusterRoles{kGroup, "clusterroles"};
constexpr store::Collection kRoles{kGroup, "roles"};
constexpr store::Collection kClusterRoleBindings{kGroup, "clusterrolebindings"};
constexpr store::Collection kRoleBindings{kGroup, "rolebindings"};

using RulesPtr = std::shared_ptr<const std::vector<PolicyRule>>;

// What one subject has got by one binding.
struct Grant {
  std::string ns;       // "" everywhere
  std::string by;       // `ClusterRoleBinding "b" of ClusterRole "r" to User "u"`
  std::string missing;  // why there are no rules: the role does not exist
  RulesPtr rules;       // null if missing
  std::size_t order = 0;
};

struct Role {
  std::int64_t revision = 0;  // of the object
  RulesPtr rules;
  bool gathers = false;  // has an aggregationRule
};

struct Subject {
  std::string kind, ns, name;
};

struct Binding {
  std::int64_t revision = 0;
  std::string role_kind, role;
  std::vector<Subject> subjects;
};

using Roles = std::map<std::string, Role, std::less<>>;  // by "name" or "namespace/name"
using Bindings = std::map<std::string, std::shared_ptr<const Binding>, std::less<>>;  // likewise

struct Snapshot {
  std::uint64_t generation = 0;
  Roles cluster_roles, roles;
  Bindings cluster_role_bindings, role_bindings;
  std::map<std::string, std::vector<Grant>, std::less<>> of_user;
  std::map<std::string, std::vector<Grant>, std::less<>> of_group;
};

base::Status RoleNotFound(std::string_view kind, std::string_view name) {
  const std::string_view resource = kind == "ClusterRole" ? "clusterrole" : "role";
  return api::NotFoundStatus({std::string(kGroup), std::string(resource)}, name);
}

// An object's document, for one look: a role's may be ten times what is made of it.
struct Reading {
  explicit Reading(const store::Object& object) {
    if (auto parsed = json::Parse(arena, object.bytes()); parsed.ok()) root = *parsed;
  }
  json::Arena arena;
  json::Value root;
};

RulesPtr ShareRules(std::vector<PolicyRule> rules) {
  rules.shrink_to_fit();
  return std::make_shared<const std::vector<PolicyRule>>(std::move(rules));
}

class Compiler {
 public:
  // `before`: the snapshot that `out` replaces; null: there is none.
  Compiler(const store::Reader& reader, Aggregation aggregation, const Snapshot* before,
           Snapshot& out)
      : reader_(reader), aggregation_(aggregation), before_(before), out_(out) {}

  void Run() {
    const Snapshot nothing;
    const Snapshot& before = before_ != nullptr ? *before_ : nothing;
    const auto cluster_roles = reader_.List(kClusterRoles);
    const Aggregator aggregator(cluster_roles);
    for (const auto& object : cluster_roles) {
      Role role = ReadRole(*object, before.cluster_roles);
      if (role.gathers && aggregation_ == Aggregation::kComputed) {
        role.rules = ShareRules(aggregator.Gather(object->document()["aggregationRule"]));
      }
      out_.cluster_roles[std::string(object->name())] = std::move(role);
    }
    for (const auto& role : reader_.List(kRoles)) {
      out_.roles[std::string(role->position())] = ReadRole(*role, before.roles);
    }
    for (const auto& binding : reader_.List(kClusterRoleBindings)) {
      Bind(*binding, before.cluster_role_bindings, out_.cluster_role_bindings);
    }
    for (const auto& binding : reader_.List(kRoleBindings)) {
      Bind(*binding, before.role_bindings, out_.role_bindings);
    }
  }

 private:
  static Role ReadRole(const store::Object& role, const Roles& before) {
    const auto known = before.find(role.position());
    if (known != before.end() && known->second.revision == role.revision()) return known->second;
    const Reading reading(role);
    return {role.revision(), ShareRules(RulesFromJson(reading.root["rules"])),
            !reading.root["aggregationRule"].is_null()};
  }

  static std::shared_ptr<const Binding> ReadBinding(const store::Object& object,
                                                    const Bindings& before) {
    const auto known = before.find(object.position());
    if (known != before.end() && known->second->revision == object.revision()) {
      return known->second;
    }
    const Reading reading(object);
    auto binding = std::make_shared<Binding>();
    binding->revision = object.revision();
    const json::Value ref = reading.root["roleRef"];
    binding->role_kind = ref["kind"].AsString();
    binding->role = ref["name"].AsString();
    for (json::Value subject : reading.root["subjects"].elements()) {
      binding->subjects.push_back({std::string(subject["kind"].AsString()),
                                   std::string(subject["namespace"].AsString()),
                                   std::string(subject["name"].AsString())});
    }
    return binding;
  }

  void Bind(const store::Object& object, const Bindings& before, Bindings& bindings) {
    const auto binding = ReadBinding(object, before);
    bindings[std::string(object.position())] = binding;
    const std::string_view kind = binding->role_kind;
    const std::string_view role = binding->role;
    Grant grant;
    grant.ns = object.ns();
    grant.order = order_++;
    grant.rules = Find(kind, object.ns(), role);
    if (grant.rules == nullptr) grant.missing = RoleNotFound(kind, role).message();
    const std::string what =
        object.ns().empty()
            ? base::StrCat("ClusterRoleBinding ", base::GoQuote(object.name()))
            : base::StrCat("RoleBinding ",
                           base::GoQuote(base::StrCat(object.name(), "/", object.ns())));
    const std::string of = base::StrCat(what, " of ", kind, " ", base::GoQuote(role), " to ");
    for (const Subject& subject : binding->subjects) {
      grant.by = of;
      Give(subject, object.ns(), grant);
    }
  }

  RulesPtr Find(std::string_view kind, std::string_view ns, std::string_view name) const {
    if (kind == "ClusterRole") {
      auto it = out_.cluster_roles.find(name);
      return it == out_.cluster_roles.end() ? nullptr : it->second.rules;
    }
    auto it = out_.roles.find(base::StrCat(ns, "/", name));
    return it == out_.roles.end() ? nullptr : it->second.rules;
  }

  void Give(const Subject& subject, std::string_view binding_ns, Grant grant) {
    const std::string_view kind = subject.kind;
    const std::string_view name = subject.name;
    if (kind == "ServiceAccount") {
      std::string_view ns = subject.ns;
      if (ns.empty()) ns = binding_ns;
      if (ns.empty()) return;
      grant.by += base::StrCat(kind, " ", base::GoQuote(base::StrCat(name, "/", ns)));
      out_.of_user[authn::ServiceAccountUser(ns, name)].push_back(std::move(grant));
      return;
    }
    grant.by += base::StrCat(kind, " ", base::GoQuote(name));
    auto& grants = kind == "Group" ? out_.of_group : out_.of_user;
    grants[std::string(name)].push_back(std::move(grant));
  }

  const store::Reader& reader_;
  const Aggregation aggregation_;
  const Snapshot* const before_;
  Snapshot& out_;
  std::size_t order_ = 0;
};

class OpenRuleBook final : public RuleBook, private store::Observer {
 public:
  OpenRuleBook(store::Store& store, Aggregation aggregation, bool initializers)
      : store_(store),
        initialized_(initializers ? store::MakeInitializedReader(store) : nullptr),
        aggregation_(aggregation) {
    subscription_ = store.Subscribe({kClusterRoles, kRoles, kClusterRoleBindings, kRoleBindings},
                                    *this, nullptr);
  }
  ~OpenRuleBook() override { subscription_.reset(); }

  Decision Authorize(const Attributes& a) const override {
    const std::shared_ptr<const Snapshot> snapshot = Current();
    std::vector<std::string> errors;
    for (const Grant* grant : GrantsOf(*snapshot, *a.user, a.ns)) {
      if (grant->rules == nullptr) {
        if (std::find(errors.begin(), errors.end(), grant->missing) == errors.end()) {
          errors.push_back(grant->missing);
        }
        continue;
      }
      for (const PolicyRule& rule : *grant->rules) {
        if (Allows(rule, a)) {
          return {Verdict::kAllowed, base::StrCat("RBAC: allowed by ", grant->by), ""};
        }
      }
    }
    return {Verdict::kNoOpinion, Reason(errors), ""};
  }

  Rules RulesFor(const api::UserInfo& user, std::string_view ns) const override {
    std::vector<std::string> errors;
    Rules out;
    for (PolicyRule& rule : RulesOf(user, ns, errors)) {
      if (!rule.resources.empty()) {
        out.resource_rules.push_back(
            {rule.verbs, rule.api_groups, rule.resources, rule.resource_names});
      }
      if (!rule.non_resource_urls.empty()) {
        out.non_resource_rules.push_back({rule.verbs, rule.non_resource_urls});
      }
    }
    out.incomplete = !errors.empty();
    out.error = Aggregate(errors);
    return out;
  }

  base::Result<std::vector<PolicyRule>> RoleRules(std::string_view kind, std::string_view ns,
                                                  std::string_view name) const override {
    const std::shared_ptr<const Snapshot> snapshot = Current();
    const bool cluster = kind == "ClusterRole";
    const auto& roles = cluster ? snapshot->cluster_roles : snapshot->roles;
    auto it = roles.find(cluster ? std::string(name) : base::StrCat(ns, "/", name));
    if (it == roles.end()) return RoleNotFound(kind, name);
    return *it->second.rules;
  }

  std::vector<PolicyRule> RulesOf(const api::UserInfo& user, std::string_view ns,
                                  std::vector<std::string>& errors) const override {
    const std::shared_ptr<const Snapshot> snapshot = Current();
    std::vector<PolicyRule> rules;
    for (const Grant* grant : GrantsOf(*snapshot, user, ns)) {
      if (grant->rules == nullptr) {
        errors.push_back(grant->missing);
      } else {
        rules.insert(rules.end(), grant->rules->begin(), grant->rules->end());
      }
    }
    return rules;
  }

 private:
  // The grants that count in `ns`, in the order of their bindings, cluster-wide ones first.
  static std::vector<const Grant*> GrantsOf(const Snapshot& snapshot, const api::UserInfo& user,
                                            std::string_view ns) {
    std::vector<const Grant*> grants;
    auto add = [&](const auto& by_subject, std::string_view name) {
      auto it = by_subject.find(name);
      if (it == by_subject.end()) return;
      for (const Grant& grant : it->second) {
        if (grant.ns.empty() || grant.ns == ns) grants.push_back(&grant);
      }
    };
    add(snapshot.of_user, user.name);
    for (const std::string& group : user.groups) add(snapshot.of_group, group);
    std::sort(grants.begin(), grants.end(),
              [](const Grant* a, const Grant* b) { return a->order < b->order; });
    return grants;
  }

  // Several errors as Go's aggregate prints them.
  static std::string Aggregate(const std::vector<std::string>& errors) {
    if (errors.size() <= 1) return errors.empty() ? "" : errors.front();
    return base::StrCat("[", base::Join(errors, ", "), "]");
  }
  static std::string Reason(const std::vector<std::string>& errors) {
    return errors.empty() ? "" : base::StrCat("RBAC: ", Aggregate(errors));
  }

  void OnCommit(std::span<const store::EventPtr>) override {
    wanted_.fetch_add(1, std::memory_order_acq_rel);
  }

  std::shared_ptr<const Snapshot> Current() const {
    auto is_current = [this](const std::shared_ptr<const Snapshot>& snapshot) {
      return snapshot != nullptr && snapshot->generation == wanted_.load(std::memory_order_acquire);
    };
    std::shared_ptr<const Snapshot> snapshot = snapshot_.Get();
    if (is_current(snapshot)) return snapshot;
    base::MutexLock lock(compile_mutex_);
    snapshot = snapshot_.Get();
    if (is_current(snapshot)) return snapshot;
    auto next = std::make_shared<Snapshot>();
    // Read before the roles are: what is committed meanwhile makes it stale again.
    next->generation = wanted_.load(std::memory_order_acquire);
    Compiler(reader(), aggregation_, snapshot.get(), *next).Run();
    snapshot_.Set(next);
    return next;
  }

  const store::Reader& reader() const {
    return initialized_ != nullptr ? *initialized_ : static_cast<const store::Reader&>(store_);
  }

  store::Store& store_;
  const std::unique_ptr<store::Reader> initialized_;  // null: there are no initializers
  const Aggregation aggregation_;
  std::atomic<std::uint64_t> wanted_{1};
  mutable base::Mutex compile_mutex_;
  mutable base::Published<Snapshot> snapshot_;
  std::unique_ptr<store::Subscription> subscription_;
};

class Rbac final : public Authorizer {
 public:
  explicit Rbac(std::shared_ptr<const RuleBook> book) : book_(std::move(book)) {}
  Decision Authorize(const Attributes& attributes) const override {
    return book_->Authorize(attributes);
  }
  Rules RulesFor(const api::UserInfo& user, std::string_view ns) const override {
    return book_->RulesFor(user, ns);
  }

 private:
  const std::shared_ptr<const RuleBook> book_;
};

}  // namespace

std::shared_ptr<RuleBook> RuleBook::Open(store::Store& store, Aggregation aggregation,
                                         bool initializers) {
  return std::make_shared<OpenRuleBook>(store, aggregation, initializers);
}

std::unique_ptr<Authorizer> MakeRbac(std::shared_ptr<const RuleBook> book) {
  return std::make_unique<Rbac>(std::move(book));
}

}  // namespace portcullis::authz::rbac
