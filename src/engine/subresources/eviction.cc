// SPDX-License-Identifier: Apache-2.0

// Evictions: a pod goes if the budgets that cover it allow it
// (Kubernetes docs: API-initiated Eviction; pkg/registry/core/pod/storage, EvictionREST).

#include "api/api_status.h"
#include "api/condition.h"
#include "api/field_error.h"
#include "api/selector/label_selector.h"
#include "base/strings.h"
#include "engine/codec/codec.h"
#include "engine/subresources/pod_condition.h"
#include "engine/subresources/subresource_body.h"
#include "engine/subresources/subresources.h"
#include "engine/write/admit.h"
#include "engine/write/cluster_writer.h"
#include "engine/write/deletion.h"
#include "engine/write/system_fields.h"
#include "engine/write/write.h"
#include "store/readable.h"
#include "store/store.h"

namespace portcullis::engine {
namespace {

constexpr std::size_t kMaxDisruptedPods = 2000;
constexpr int kEvictionRetries = 20;
constexpr std::string_view kCondition = "DisruptionAllowed";

// The request and the options in its body agree about whether anything is to happen.
base::Result<json::Value> PropagateDryRun(Operation& op, json::Value eviction,
                                          const WriteOptions& options) {
  const json::Value given = eviction["deleteOptions"];
  const json::Value requested = options.as_create["dryRun"];
  if (given.is_null()) return eviction;
  if (given["dryRun"].empty()) {
    if (requested.empty()) return eviction;
    return json::SetPath(op.arena, eviction, {"deleteOptions", "dryRun"}, requested);
  }
  if (requested.empty() || requested == given["dryRun"]) return eviction;
  const auto shown = [](json::Value list) {
    std::vector<std::string_view> words;
    for (const json::Value& word : list.elements()) words.push_back(word.AsString());
    return base::StrCat("[", base::Join(words, " "), "]");
  };
  return base::Status(base::Reason::kUnknown,
                      base::StrCat("Non-matching dry-run options in request and content: ",
                                   shown(requested), " and ", shown(given["dryRun"])));
}

DeleteOptions DeletionOf(Operation& op, json::Value eviction) {
  DeleteOptions deletion;
  const json::Value given = eviction["deleteOptions"];
  deletion.value = given.is_object() ? given : json::MakeObject(op.arena, {});
  deletion.dry_run = op.dry_run || !given["dryRun"].empty();
  if (given["gracePeriodSeconds"].is_int()) {
    deletion.grace_period_seconds = given["gracePeriodSeconds"].AsInt();
  }
  if (given["orphanDependents"].is_bool()) {
    deletion.orphan_dependents = given["orphanDependents"].AsBool();
  }
  deletion.propagation_policy = std::string(given["propagationPolicy"].AsString());
  deletion.uid = std::string(given["preconditions"]["uid"].AsString());
  deletion.resource_version = std::string(given["preconditions"]["resourceVersion"].AsString());
  return deletion;
}

// Nothing is disrupted by a pod that does not run yet or any more.
bool IsBeyondBudgets(json::Value pod) {
  const std::string_view phase = pod["status"]["phase"].AsString();
  return phase == "Pending" || phase == "Succeeded" || phase == "Failed" ||
         !pod["metadata"]["deletionTimestamp"].is_null();
}

base::Status Refused(std::string_view cause, int retry_after) {
  const base::Status status = api::TooManyRequestsStatus(
      "Cannot evict pod as it would violate the pod's disruption budget.", retry_after);
  base::StatusDetails details;
  details.retry_after_seconds = retry_after;
  details.causes.push_back({"DisruptionBudget", std::string(cause), ""});
  return status.WithDetails(std::move(details));
}

base::Status StillProcessed(std::string_view budget) {
  return Refused(
      base::StrCat("The disruption budget ", budget, " is still being processed by the server."),
      10);
}

// Why a budget allows none.
std::string Exhausted(std::string_view name, json::Value object) {
  const std::string budget = base::StrCat("The disruption budget ", name);
  const json::Value condition = api::ConditionOf(object, kCondition);
  const json::Value status = object["status"];
  const std::string_view reason = condition["reason"].AsString();
  const std::string_view message = condition["message"].AsString();
  const bool told = condition["status"].AsString() == "False" && !message.empty();
  if (told && reason == "SyncFailed") {
    return base::StrCat(
        budget, " does not allow evicting pods currently because it failed sync: ", message);
  }
  if (status["currentHealthy"].AsInt() <= status["desiredHealthy"].AsInt()) {
    return base::StrCat(budget, " needs ", std::to_string(status["desiredHealthy"].AsInt()),
                        " healthy pods and has ", std::to_string(status["currentHealthy"].AsInt()),
                        " currently");
  }
  if (told) {
    return base::StrCat(budget, " does not allow evicting pods currently (", reason,
                        "): ", message);
  }
  return base::StrCat(budget, " does not allow evicting pods currently");
}

base::Status CheckBudget(json::Value budget) {
  const std::string_view name = budget["metadata"]["name"].AsString();
  const json::Value status = budget["status"];
  if (status["observedGeneration"].AsInt() < budget["metadata"]["generation"].AsInt()) {
    return StillProcessed(name);
  }
  const api::GroupResource resource{"policy", "poddisruptionbudget"};
  if (status["disruptionsAllowed"].AsInt() < 0) {
    return api::ForbiddenStatus(resource, name, "pdb disruptions allowed is negative");
  }
  if (status["disruptedPods"].size() > kMaxDisruptedPods) {
    return api::ForbiddenStatus(resource, name,
                                "DisruptedPods map too big - too many evictions not confirmed by "
                                "PDB controller");
  }
  if (status["disruptionsAllowed"].AsInt() == 0) return Refused(Exhausted(name, budget), 0);
  return base::OkStatus();
}

// The budget after one more disruption.
json::Value Charged(Operation& op, json::Value budget) {
  json::Arena& arena = op.arena;
  const std::string now = base::FormatTime(op.world.clock->Now());
  const std::int64_t left = budget["status"]["disruptionsAllowed"].AsInt() - 1;
  budget = json::SetPath(arena, budget, {"status", "disruptionsAllowed"}, json::Value::Int(left));
  budget =
      json::SetPath(arena, budget, {"status", "disruptedPods", op.name}, json::String(arena, now));
  if (left > 0) return budget;
  const json::Value before = api::ConditionOf(budget, kCondition);
  json::ArrayBuilder conditions(arena);
  for (const json::Value& condition : budget["status"]["conditions"].elements()) {
    if (!(condition["type"].AsString() == kCondition)) conditions.Add(condition);
  }
  const bool changes = before["status"].AsString() != "False";
  json::ObjectBuilder condition(arena);
  condition.Set("type", kCondition).Set("status", "False");
  if (const json::Value seen = budget["status"]["observedGeneration"]; seen.AsInt() != 0) {
    condition.Set("observedGeneration", seen);
  }
  condition.Set("lastTransitionTime",
                changes ? std::string_view(now) : before["lastTransitionTime"].AsString());
  condition.Set("reason", "InsufficientPods").Set("message", "");
  conditions.Add(condition.Build());
  return json::SetPath(arena, budget, {"status", "conditions"}, conditions.Build());
}

base::Result<std::vector<store::ObjectPtr>> BudgetsOf(Operation& op, json::Value pod) {
  constexpr store::Collection kBudgets{"policy", "poddisruptionbudgets"};
  std::vector<store::ObjectPtr> all = TRY(store::ListReadable(*op.world.store, kBudgets, op.ns));
  std::vector<store::ObjectPtr> out;
  for (store::ObjectPtr& object : all) {
    const auto selector = api::LabelSelector::FromJson(object->document()["spec"]["selector"]);
    if (selector.ok() && selector->Matches(pod["metadata"]["labels"])) {
      out.push_back(std::move(object));
    }
  }
  return out;
}

// A pod that is not ready is of no use to the budget, as far as that says so.
bool MayGoUnhealthy(json::Value pod, json::Value budget) {
  if (api::HasTrueCondition(pod, "Ready")) {
    return false;
  }
  if (budget["spec"]["unhealthyPodEvictionPolicy"].AsString() == "AlwaysAllow") return true;
  const std::int64_t desired = budget["status"]["desiredHealthy"].AsInt();
  return desired > 0 && budget["status"]["currentHealthy"].AsInt() >= desired;
}

json::Value TooManyBudgets(json::Arena& arena) {
  return json::ObjectBuilder(arena)
      .Set("kind", "Status")
      .Set("apiVersion", "v1")
      .Set("metadata", json::MakeObject(arena, {}))
      .Set("status", "Failure")
      .Set("message",
           "This pod has more than one PodDisruptionBudget, which the eviction subresource does "
           "not support.")
      .Set("code", 500)
      .Build();
}

// The deletion that an eviction comes to, step by step: a disruption is taken from the budget, the pod
// is marked with why it goes, and deleted in the state in which it was judged, unless the client
// names another (of a pod that goes because it is not ready that does not count). Each step is tried again after a conflict.
class Eviction final : public Execution {
 public:
  Eviction(Operation& op, DeleteOptions options) : op_(op), options_(std::move(options)) {}

  std::optional<PendingWrite> Advance() override {
    while (!end_) {
      auto next = Plan();
      if (!next.ok()) {
        end_ = std::move(next).status();
      } else if (*next) {
        return *std::move(next);
      }
    }
    return std::nullopt;
  }

  void Committed(base::Result<store::ObjectPtr> stored) override {
    if (step_ == Step::kDelete) return deletion_->Committed(std::move(stored));
    if (!stored.ok()) {
      end_ = Failed(std::move(stored).status());
    } else if (step_ == Step::kCharge) {
      Enter(Step::kMark);
    } else {
      Marked((*stored)->revision());
    }
  }

  base::Result<Outcome> TakeOutcome() override {
    TRY(*end_);
    return PlainOutcome(201, CreatedStatus(op_.arena));
  }

 private:
  enum class Step : std::uint8_t { kJudge, kCharge, kMark, kDelete };
  using Next = base::Result<std::optional<PendingWrite>>;

  // To the next commit; without one the next step follows, or the end has come.
  Next Plan() {
    switch (step_) {
      case Step::kJudge:
        TRY(Judge());
        return std::optional<PendingWrite>();
      case Step::kCharge:
        return Charge();
      case Step::kMark:
        return Mark();
      case Step::kDelete:
        break;
    }
    if (auto write = deletion_->Advance()) return std::optional<PendingWrite>(std::move(write));
    EndDeletion(deletion_->TakeOutcome().status());
    return std::optional<PendingWrite>();
  }

  void Enter(Step step) {
    step_ = step;
    tries_ = 0;
  }

  base::Status Judge() {
    const store::ObjectPtr current =
        TRY(store::GetReadable(*op_.world.store, KeyOf(op_, op_.name)));
    if (current == nullptr) return api::NotFoundStatus(op_.group_resource(), op_.name);
    const json::Value pod = TRY(FromStore(op_, current));
    bound_ = options_;
    unready_under_.clear();
    budget_ = nullptr;
    const auto budgets =
        IsBeyondBudgets(pod) ? std::vector<store::ObjectPtr>() : TRY(BudgetsOf(op_, pod));
    if (!budgets.empty()) {
      if (MayGoUnhealthy(pod, budgets.front()->document().root())) {
        unready_under_ = std::string(budgets.front()->name());
      } else {
        budget_ = budgets.front();
      }
    }
    const bool pending = pod["status"]["phase"].AsString() == "Pending";
    // A version that is named stays, even an empty one, which no pod has; but not of an unready pod.
    const bool named = options_.value["preconditions"]["resourceVersion"].is_string();
    const bool unready = !unready_under_.empty();
    binds_ = !named && (pending || unready);
    if (binds_ || unready) bound_.resource_version = std::to_string(current->revision());
    Enter(Step::kCharge);
    return base::OkStatus();
  }

  // Takes one disruption from the budget, if there is one and it has one.
  Next Charge() {
    const auto* resource = op_.catalog->Find("policy", "v1", "poddisruptionbudgets");
    if (budget_ == nullptr || resource == nullptr) {
      Enter(Step::kMark);
      return std::optional<PendingWrite>();
    }
    const json::Value value = TRY(FromStore(op_.arena, budget_, *resource));
    TRY(CheckBudget(value));
    if (options_.dry_run) {
      Enter(Step::kMark);
      return std::optional<PendingWrite>();
    }
    const json::Value charged =
        OwnedByServer(op_.world, *resource, op_.arena, value, Charged(op_, value), "status");
    return WriteOf(*resource, charged, *budget_);
  }

  // The pod tells why it goes; not if it is another one than the options mean, which deletion will
  // say.
  Next Mark() {
    const auto is_other = [](std::string_view wanted, json::Value actual) {
      return !wanted.empty() && wanted != actual.AsString();
    };
    const store::ObjectPtr current =
        options_.dry_run ? nullptr : op_.world.store->Get(KeyOf(op_, op_.name));
    if (current == nullptr) {
      Marked(0);
      return std::optional<PendingWrite>();
    }
    const json::Value pod = TRY(FromStore(op_, current));
    const json::Value metadata = pod["metadata"];
    const bool other = is_other(bound_.uid, metadata["uid"]) ||
                       is_other(bound_.resource_version, metadata["resourceVersion"]);
    const json::Value marked = WithTrueCondition(
        op_.arena, pod, {"DisruptionTarget", "EvictionByEvictionAPI", "Eviction API: evicting"},
        *op_.world.clock);
    if (!other && marked != pod) return WriteOf(*op_.resource, marked, *current);
    Marked(other ? 0 : current->revision());
    return std::optional<PendingWrite>();
  }

  // `revision` of the marked pod; 0: it is not marked.
  void Marked(std::int64_t revision) {
    if (revision > 0 && !bound_.resource_version.empty()) {
      bound_.resource_version = std::to_string(revision);
    }
    // Looked at when the pod has been found and marked, as late as kube-apiserver does.
    base::Status valid =
        options_.dry_run || revision > 0 ? CheckDeleteOptions(options_) : base::OkStatus();
    if (!valid.ok()) {
      end_ = std::move(valid);
      return;
    }
    deletion_ = BeginUnreviewedDeletion(op_, bound_);
    Enter(Step::kDelete);
  }

  void EndDeletion(base::Status status) {
    const bool raced = !status.ok() && binds_ && status.reason() == base::Reason::kConflict;
    if (raced && !unready_under_.empty()) {
      end_ = StillProcessed(unready_under_);
    } else if (raced && rounds_++ < kEvictionRetries) {
      Enter(Step::kJudge);
    } else {
      end_ = std::move(status);
    }
  }

  // The error of a failed commit of a budget or a mark; nothing if the commit is tried again.
  std::optional<base::Status> Failed(base::Status status) {
    if (status.reason() != base::Reason::kConflict) return status;
    const bool is_last = tries_++ == kEvictionRetries;
    if (step_ == Step::kMark) return is_last ? std::optional(std::move(status)) : std::nullopt;
    const std::string name(budget_->name());
    if (is_last) {
      return api::TimeoutStatus(
          base::StrCat("couldn't update PodDisruptionBudget \"", name, "\" due to conflicts"), 10);
    }
    budget_ = op_.world.store->Get({"policy", "poddisruptionbudgets", op_.ns, name});
    return std::nullopt;
  }

  Next WriteOf(const api::catalog::ResourceInfo& resource, json::Value object,
               const store::Object& current) const {
    PendingWrite write;
    write.kind = PendingWrite::Kind::kUpdate;
    write.resource = &resource;
    write.ns = current.ns();
    write.name = current.name();
    object = AsStored(*op_.catalog, op_.arena, resource.kind, object);
    write.encoded = TRY(EncodeForStore(op_.arena, object, resource));
    write.expected = current.revision();
    return std::optional<PendingWrite>(std::move(write));
  }

  Operation& op_;
  const DeleteOptions options_;
  Step step_ = Step::kJudge;
  int tries_ = 0;   // of the step
  int rounds_ = 0;  // of all of them
  DeleteOptions bound_;
  bool binds_ = false;         // the deletion is bound to the state that was judged
  std::string unready_under_;  // the budget that lets pods go that are not ready
  store::ObjectPtr budget_;    // null: none is charged
  std::unique_ptr<Execution> deletion_;
  std::optional<base::Status> end_;
};

// The deletion that is asked for; nothing if the pod has more than one budget.
base::Result<std::optional<DeleteOptions>> AdmitEviction(Operation& op, const Input& input) {
  const WriteOptions& options = input.options;
  json::Value eviction =
      DeduplicateOwners(op, TRY(DecodeSubresourceBody(op, input)), When::kBeforeAdmission);
  eviction = TRY(RunMutating(op, {.operation = admission::kCreate,
                                  .name = op.name,
                                  .object = eviction,
                                  .options = options.as_create}));
  if (eviction["metadata"]["name"].AsString() != op.name) {
    return base::BadRequest("name in URL does not match name in Eviction object");
  }
  if (eviction["deleteOptions"][kIgnoresReadErrors].AsBool()) {
    const api::FieldErrors errors = {
        api::Invalid(api::FieldPath("deleteOptions").Child(kIgnoresReadErrors), true,
                     "can not be set for pod eviction, try after removing the option")};
    return api::InvalidStatus({"policy", "Eviction"}, op.name, errors);
  }
  eviction = TRY(PropagateDryRun(op, eviction, options));
  TRY(RunValidating(op, {.operation = admission::kCreate,
                         .name = op.name,
                         .object = eviction,
                         .options = options.as_create}));
  const DeleteOptions deletion = DeletionOf(op, eviction);
  const store::ObjectPtr current = op.world.store->Get(KeyOf(op, op.name));
  if (current != nullptr) {
    const json::Value pod = TRY(FromStore(op, current));
    if (!IsBeyondBudgets(pod) && TRY(BudgetsOf(op, pod)).size() > 1) {
      return std::optional<DeleteOptions>();
    }
  }
  return std::optional<DeleteOptions>(deletion);
}

}  // namespace

std::unique_ptr<Execution> CreateEviction(Operation& op, const Input& input) {
  auto deletion = AdmitEviction(op, input);
  if (!deletion.ok()) return MakeFinished(std::move(deletion).status());
  if (!*deletion) return MakeFinished(PlainOutcome(500, TooManyBudgets(op.arena)));
  return std::make_unique<Eviction>(op, **std::move(deletion));
}

}  // namespace portcullis::engine
