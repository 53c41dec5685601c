// Evictions: a pod goes if the budgets that cover it allow it
// (Kubernetes docs: API-initiated Eviction; pkg/registry/core/pod/storage, EvictionREST).

#include "api/api_status.h"
#include "api/selector/label_selector.h"
#include "base/strings.h"
#include "engine/codec/codec.h"
#include "engine/subresources/pod_condition.h"
#include "engine/subresources/subresource_body.h"
#include "engine/subresources/subresources.h"
#include "engine/write/admit.h"
#include "engine/write/cluster_writer.h"
#include "engine/write/deletion.h"
#include "engine/write/write.h"
#include "store/store.h"

namespace portcullis::engine {
namespace {

constexpr std::size_t kMaxDisruptedPods = 2000;
constexpr int kRetries = 20;
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
                                   shown(given["dryRun"]), " and ", shown(requested)));
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

json::Value FindCondition(json::Value conditions, std::string_view type) {
  for (const json::Value& condition : conditions.elements()) {
    if (condition["type"].AsString() == type) return condition;
  }
  return {};
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
std::string Exhausted(std::string_view name, json::Value status) {
  const std::string budget = base::StrCat("The disruption budget ", name);
  const json::Value condition = FindCondition(status["conditions"], kCondition);
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
  if (status["disruptionsAllowed"].AsInt() == 0) return Refused(Exhausted(name, status), 0);
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
  const json::Value before = FindCondition(budget["status"]["conditions"], kCondition);
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

// Takes one disruption from the budget, if it has one.
base::Status Charge(Operation& op, store::ObjectPtr budget, bool dry_run) {
  const auto* resource = op.catalog->Find("policy", "v1", "poddisruptionbudgets");
  for (int attempt = 0; budget != nullptr && resource != nullptr; ++attempt) {
    const json::Value value = TRY(FromStore(op.arena, budget, *resource));
    TRY(CheckBudget(value));
    if (dry_run) return base::OkStatus();
    const json::Value charged =
        OwnedByServer(op.world, *resource, op.arena, value, Charged(op, value), "status");
    auto written = WriteObject(op.world, *resource, op.arena, charged, budget);
    if (written.ok()) return base::OkStatus();
    const std::string name(budget->name());
    if (written.status().reason() != base::Reason::kConflict) return std::move(written).status();
    if (attempt == kRetries) {
      return api::TimeoutStatus(
          base::StrCat("couldn't update PodDisruptionBudget \"", name, "\" due to conflicts"), 10);
    }
    budget = op.world.store->Get({"policy", "poddisruptionbudgets", op.ns, name});
  }
  return base::OkStatus();
}

std::vector<store::ObjectPtr> BudgetsOf(Operation& op, json::Value pod) {
  std::vector<store::ObjectPtr> out;
  for (store::ObjectPtr& object : op.world.store->List({"policy", "poddisruptionbudgets"}, op.ns)) {
    const auto selector = api::LabelSelector::FromJson(object->document()["spec"]["selector"]);
    if (selector.ok() && selector->Matches(pod["metadata"]["labels"])) {
      out.push_back(std::move(object));
    }
  }
  return out;
}

// A pod that is not ready is of no use to the budget, as far as that says so.
bool MayGoUnhealthy(json::Value pod, json::Value budget) {
  if (FindCondition(pod["status"]["conditions"], "Ready")["status"].AsString() == "True") {
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

// The pod tells why it goes. Returns its revision then, or 0 if it is not the one that the options
// mean, which deletion will say.
base::Result<std::int64_t> MarkDisrupted(Operation& op, const DeleteOptions& options) {
  const auto other = [](std::string_view wanted, json::Value actual) {
    return !wanted.empty() && wanted != actual.AsString();
  };
  const PodCondition condition{"DisruptionTarget", "EvictionByEvictionAPI",
                               "Eviction API: evicting"};
  for (int attempt = 0;; ++attempt) {
    const store::ObjectPtr current = op.world.store->Get(KeyOf(op, op.name));
    if (current == nullptr) return 0;
    const json::Value pod = TRY(FromStore(op, current));
    const json::Value metadata = pod["metadata"];
    if (other(options.uid, metadata["uid"]) ||
        other(options.resource_version, metadata["resourceVersion"])) {
      return 0;
    }
    const json::Value marked = WithTrueCondition(op.arena, pod, condition, *op.world.clock);
    if (marked == pod) return current->revision();
    const auto written = WriteObject(op.world, *op.resource, op.arena, marked, current);
    if (written.ok()) return (*written)->revision();
    const bool again = written.status().reason() == base::Reason::kConflict;
    if (!again || attempt == kRetries) return written.status();
  }
}

// Deletes the pod in the state in which it was judged, unless the client names another.
base::Status Evict(Operation& op, const DeleteOptions& options) {
  for (int attempt = 0;; ++attempt) {
    const store::ObjectPtr current = op.world.store->Get(KeyOf(op, op.name));
    if (current == nullptr) return api::NotFoundStatus(op.group_resource(), op.name);
    const json::Value pod = TRY(FromStore(op, current));
    DeleteOptions bound = options;
    std::string unready_under;
    if (!IsBeyondBudgets(pod)) {
      const std::vector<store::ObjectPtr> budgets = BudgetsOf(op, pod);
      if (!budgets.empty()) {
        const json::Value budget = budgets.front()->document().root();
        if (MayGoUnhealthy(pod, budget)) {
          unready_under = std::string(budgets.front()->name());
        } else {
          TRY(Charge(op, budgets.front(), options.dry_run));
        }
      }
    }
    const bool pending = pod["status"]["phase"].AsString() == "Pending";
    const bool bind = options.resource_version.empty() && (pending || !unready_under.empty());
    if (bind) bound.resource_version = std::to_string(current->revision());
    if (!options.dry_run) {
      const std::int64_t revision = TRY(MarkDisrupted(op, bound));
      if (revision > 0 && !bound.resource_version.empty()) {
        bound.resource_version = std::to_string(revision);
      }
    }
    const base::Status status = DeleteUnreviewed(op, bound).status();
    if (status.ok() || !bind || status.reason() != base::Reason::kConflict) return status;
    if (!unready_under.empty()) return StillProcessed(unready_under);
    if (attempt == kRetries) return status;
  }
}

}  // namespace

base::Result<Outcome> CreateEviction(Operation& op, const Input& input) {
  const WriteOptions& options = input.options;
  json::Value eviction = TRY(DecodeSubresourceBody(op, input));
  eviction = TRY(RunMutating(op, {.operation = admission::kCreate,
                                  .name = op.name,
                                  .object = eviction,
                                  .options = options.as_create}));
  if (eviction["metadata"]["name"].AsString() != op.name) {
    return base::BadRequest("name in URL does not match name in Eviction object");
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
    if (!IsBeyondBudgets(pod) && BudgetsOf(op, pod).size() > 1) {
      // Kubernetes takes this for a success of HTTP.
      return PlainOutcome(201, TooManyBudgets(op.arena));
    }
  }
  TRY(Evict(op, deletion));
  return PlainOutcome(201, CreatedStatus(op.arena));
}

}  // namespace portcullis::engine
