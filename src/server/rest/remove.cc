// DELETE of one object and of a collection: preconditions, grace periods, finalizers
// (k8s.io/apiserver/pkg/registry/generic/registry, Store.Delete).

#include <algorithm>
#include <charconv>

#include "api/api_status.h"
#include "api/view/metadata.h"
#include "base/strings.h"
#include "server/codec.h"
#include "server/reply.h"
#include "server/rest/admit.h"
#include "server/rest/present.h"
#include "server/rest/selection.h"
#include "server/rest/system_fields.h"
#include "server/rest/verbs.h"
#include "server/rest/write.h"

namespace portcullis::server::rest {
namespace {

constexpr std::string_view kOrphan = "orphan";
constexpr std::string_view kForeground = "foregroundDeletion";
constexpr int kRetries = 100;

struct Deleted {
  bool gone = false;   // for good, not merely marked
  json::Value object;  // the last state, in the request's version
};

// What metadata.finalizers becomes under the propagation policy of the request.
json::Value WithPropagation(json::Arena& arena, json::Value object, const DeleteOptions& options,
                            const registry::Strategy& strategy) {
  bool orphan = false;
  bool foreground = false;
  const json::Value finalizers = object["metadata"]["finalizers"];
  const auto has = [&](std::string_view name) {
    const auto items = finalizers.elements();
    return std::any_of(items.begin(), items.end(),
                       [&](const json::Value& item) { return item.AsString() == name; });
  };
  if (options.orphan_dependents) {
    orphan = *options.orphan_dependents;
  } else if (!options.propagation_policy.empty()) {
    orphan = options.propagation_policy == "Orphan";
    foreground = options.propagation_policy == "Foreground";
  } else {
    orphan = has(kOrphan) || (!has(kForeground) && strategy.OrphansDependentsByDefault());
    foreground = has(kForeground);
  }
  if (orphan == has(kOrphan) && foreground == has(kForeground)) return object;
  json::ArrayBuilder kept(arena);
  for (const json::Value& item : finalizers.elements()) {
    if (item.AsString() != kOrphan && item.AsString() != kForeground) kept.Add(item);
  }
  if (orphan) kept.Add(kOrphan);
  if (foreground) kept.Add(kForeground);
  if (kept.size() == 0) return json::RemovePath(arena, object, {"metadata", "finalizers"});
  return json::SetPath(arena, object, {"metadata", "finalizers"}, kept.Build());
}

base::Status CheckPreconditions(const Call& call, std::string_view name,
                                const DeleteOptions& options, json::Value live) {
  const std::string_view uid = live["metadata"]["uid"].AsString();
  if (!options.uid.empty() && options.uid != uid) {
    return api::ConflictStatus(
        call.group_resource(), name,
        base::StrCat("the UID in the precondition (", options.uid,
                     ") does not match the UID in record (", uid,
                     "). The object might have been deleted and then recreated"));
  }
  const std::string_view version = live["metadata"]["resourceVersion"].AsString();
  if (!options.resource_version.empty() && options.resource_version != version) {
    return api::ConflictStatus(
        call.group_resource(), name,
        base::StrCat("the ResourceVersion in the precondition (", options.resource_version,
                     ") does not match the ResourceVersion in record (", version,
                     "). The object might have been modified"));
  }
  return base::OkStatus();
}

// Whose options admission sees: those of a single delete with what the strategy has filled in,
// those of a collection as the client sent them.
enum class Of : std::uint8_t { kOne, kCollection };

class Deletion {
 public:
  Deletion(Call& call, std::string_view name, const DeleteOptions& options, Of of = Of::kOne)
      : call_(call),
        name_(name),
        options_(options),
        of_(of),
        strategy_(StrategyOf(call)),
        admission_options_(options.value) {}

  // For removals that are part of another request, which has been reviewed itself (evictions).
  base::Result<Deleted> RunUnreviewed() {
    reviewed_ = false;
    return Run();
  }

  base::Result<Deleted> Run() {
    TRY(strategy_.CheckDelete(StrategyContext(call_, name_)));
    for (int attempt = 0;; ++attempt) {
      auto deleted = RunOnce();
      if (deleted.ok() || deleted.status().reason() != base::Reason::kConflict || !raced_ ||
          attempt == kRetries) {
        return deleted;
      }
      raced_ = false;
    }
  }

 private:
  // What a grace period makes of a delete.
  enum class Grace : std::uint8_t { kNone, kStarts, kPending };

  base::Result<Deleted> RunOnce() {
    current_ = call_.env.store->Get(KeyOf(call_, name_));
    if (current_ == nullptr) return api::NotFoundStatus(call_.group_resource(), name_);
    live_ = TRY(FromStore(call_.arena, current_, *call_.resource));
    const bool terminating = api::view::Metadata(live_).is_being_deleted();
    if (strategy_.TerminatesFirst() && of_ == Of::kOne) {
      TRY(CheckUid());
      FillOption({"preconditions", "uid"}, live_["metadata"]["uid"]);
      if (!terminating) {
        TRY(CheckPreconditions(call_, name_, options_, live_));
        TRY(Admit(live_));
        return Store(Mark(Grace::kStarts, 0));
      }
      if (IsNamespace() && strategy_.HeldByOther(live_)) return Deleted{false, live_};
    }
    TRY(CheckPreconditions(call_, name_, options_, live_));
    std::int64_t period = 0;
    const Grace grace = GraceOf(terminating, period);
    if (grace == Grace::kPending) return Deleted{false, live_};
    const bool graceful = grace == Grace::kStarts;
    if (graceful) FillOption({"gracePeriodSeconds"}, json::Value::Int(period));

    TRY(Admit(live_));
    const json::Value marked = Mark(grace, period);
    const bool held = !marked["metadata"]["finalizers"].empty() || strategy_.HeldByOther(marked);
    if (held || period > 0) return Store(marked);
    // Nothing keeps it: where something might have, the removal itself is reviewed once more.
    if (graceful && call_.dry_run) return Deleted{true, marked};
    const json::Value last = graceful ? marked : live_;
    if (graceful || !live_["metadata"]["finalizers"].empty()) TRY(Admit(last));
    return Remove(last);
  }

  Grace GraceOf(bool terminating, std::int64_t& period) const {
    const auto wanted =
        strategy_.GracePeriod(StrategyContext(call_, name_), live_,
                              registry::DeleteRequest{options_.grace_period_seconds});
    if (!wanted) return Grace::kNone;
    if (!terminating) {
      period = *wanted;
      return Grace::kStarts;
    }
    const std::int64_t before = live_["metadata"]["deletionGracePeriodSeconds"].AsInt();
    if (before == 0) return Grace::kNone;
    // Only a shorter time may be asked for; anything else changes nothing.
    if (!options_.grace_period_seconds || *options_.grace_period_seconds >= before) {
      return Grace::kPending;
    }
    period = *options_.grace_period_seconds;
    return Grace::kStarts;
  }

  base::Status CheckUid() const {
    const std::string_view uid = live_["metadata"]["uid"].AsString();
    if (options_.uid.empty() || options_.uid == uid) return base::OkStatus();
    return api::ConflictStatus(call_.group_resource(), name_,
                               base::StrCat("Precondition failed: UID in precondition: ",
                                            options_.uid, ", UID in object meta: ", uid));
  }

  void FillOption(std::initializer_list<std::string_view> path, json::Value value) {
    if (of_ == Of::kCollection) return;
    admission_options_ = json::SetPath(call_.arena, admission_options_, path, value);
  }

  // The object as it lives on until finalizers or its time end it.
  json::Value Mark(Grace grace, std::int64_t period) {
    json::Arena& arena = call_.arena;
    json::Value marked = WithPropagation(arena, live_, options_, strategy_);
    const api::view::Metadata metadata(marked);
    const bool held = !metadata.finalizers().empty() || strategy_.HeldByOther(marked);
    const bool starts = grace == Grace::kStarts;
    if (!starts && !held) return marked;
    const bool was_terminating = metadata.is_being_deleted();
    if (!was_terminating || starts) {
      const auto when = call_.env.clock->Now() + std::chrono::seconds(period);
      marked = json::SetPath(arena, marked, {"metadata", "deletionTimestamp"},
                             json::String(arena, base::FormatTime(when)));
      if (!strategy_.TerminatesFirst()) {
        marked = json::SetPath(arena, marked, {"metadata", "deletionGracePeriodSeconds"},
                               json::Value::Int(period));
      }
    }
    if (!was_terminating && metadata.generation() > 0 && !strategy_.TerminatesFirst()) {
      marked = json::SetPath(arena, marked, {"metadata", "generation"},
                             json::Value::Int(metadata.generation() + 1));
    }
    return strategy_.PrepareForTermination(StrategyContext(call_, name_), marked);
  }

  bool IsNamespace() const {
    return call_.resource->resource.resource == "namespaces" &&
           call_.resource->resource.group.empty();
  }

  base::Status Admit(json::Value existing) {
    if (!reviewed_) return base::OkStatus();
    return RunBoth(call_, {.operation = admission::kDelete,
                           .name = call_.info.name,
                           .old_object = existing,
                           .options = admission_options_});
  }

  base::Result<Deleted> Store(json::Value marked) {
    if (call_.dry_run || marked == live_) return Deleted{false, marked};
    store::Encoded encoded = TRY(EncodeForStore(call_.arena, marked, *call_.resource));
    store::Preconditions preconditions;
    preconditions.revision = current_->revision();
    auto stored = call_.env.store->Update(KeyOf(call_, name_), std::move(encoded), preconditions);
    if (!stored.ok()) return Raced(std::move(stored).status());
    return Deleted{false, TRY(FromStore(call_.arena, *stored, *call_.resource))};
  }

  base::Result<Deleted> Remove(json::Value last) {
    if (call_.dry_run) return Deleted{true, last};
    store::Preconditions preconditions;
    preconditions.revision = current_->revision();
    auto gone = call_.env.store->Delete(KeyOf(call_, name_), preconditions);
    if (!gone.ok()) return Raced(std::move(gone).status());
    strategy_.Release(StrategyContext(call_, name_), live_, {});
    return Deleted{true,
                   json::SetPath(call_.arena, last, {"metadata", "resourceVersion"},
                                 json::String(call_.arena, std::to_string((*gone)->revision())))};
  }

  base::Status Raced(base::Status status) {
    raced_ = status.reason() == base::Reason::kConflict;
    if (status.reason() == base::Reason::kNotFound) {
      return api::NotFoundStatus(call_.group_resource(), name_);
    }
    return status;
  }

  Call& call_;
  const std::string_view name_;
  const DeleteOptions& options_;
  const Of of_;
  const registry::Strategy& strategy_;
  json::Value admission_options_;
  store::ObjectPtr current_;
  json::Value live_;
  bool raced_ = false;
  bool reviewed_ = true;
};

}  // namespace

VerbResult Delete(Call& call) {
  const DeleteOptions options = TRY(ReadDeleteOptions(call));
  call.dry_run = options.dry_run;
  if (call.audit) call.audit->SetRequestObject(options.value);
  const Deleted deleted = TRY(Deletion(call, call.info.name, options).Run());
  const registry::Strategy& strategy = StrategyOf(call);
  if (deleted.gone && !strategy.ReturnsDeletedObject()) {
    return ValueReply(call, 200,
                      api::SuccessStatus(call.arena, call.group_resource(), call.info.name,
                                         deleted.object["metadata"]["uid"].AsString()));
  }
  const bool accepted =
      !deleted.gone && (options.propagation_policy == "Foreground" ||
                        (options.orphan_dependents && !*options.orphan_dependents));
  return PresentValue(call, accepted ? 202 : 200, Ordered(call.arena, deleted.object));
}

VerbResult DeleteCollection(Call& call) {
  const DeleteOptions options = TRY(ReadDeleteOptions(call));
  call.dry_run = options.dry_run;
  const ListOptions list_options = TRY(ReadListOptions(call, false));
  const Selection selection = TRY(ReadSelection(call, list_options));
  store::ListRequest request;
  request.collection = {call.resource->storage_kind.group, call.resource->resource.resource};
  request.ns = selection.ns;
  store::Page page = TRY(call.env.store->ListPage(request));
  page.objects = TRY(InVersion(*call.resource, std::move(page.objects)));
  TRY(Filter(call, selection, page.objects));
  const std::string ns = call.info.name_space;
  base::Status failure;
  for (const store::ObjectPtr& object : page.objects) {
    call.info.name_space = std::string(object->ns());
    const auto deleted = Deletion(call, object->name(), options, Of::kCollection).Run();
    if (!deleted.ok() && deleted.status().reason() != base::Reason::kNotFound) {
      failure = deleted.status();
      break;
    }
  }
  call.info.name_space = ns;
  if (!failure.ok()) return failure;
  ListMeta meta;
  meta.resource_version = std::to_string(page.revision);
  return ListReply(call, page.objects, meta);
}

base::Status RemovePod(Call& call, const DeleteOptions& options) {
  auto deleted = Deletion(call, call.info.name, options).RunUnreviewed();
  return deleted.ok() ? base::OkStatus() : deleted.status();
}

}  // namespace portcullis::server::rest
