// SPDX-License-Identifier: Apache-2.0

#include "engine/write/deletion.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "api/api_status.h"
#include "api/view/metadata.h"
#include "base/strings.h"
#include "engine/codec/codec.h"
#include "engine/codec/hidden_fields.h"
#include "engine/write/admit.h"
#include "engine/write/preconditions.h"
#include "engine/write/steps.h"
#include "engine/write/system_fields.h"
#include "engine/write/unsafe_deletion.h"
#include "engine/write/write.h"
#include "golang/time.h"
#include "store/readable.h"

namespace portcullis::engine {
namespace {

constexpr std::string_view kOrphan = "orphan";
constexpr std::string_view kForeground = "foregroundDeletion";
constexpr int kRetries = 100;
// Of a collection: so many deletions wait for their commit, and so many threads commit them. The
// store writes what comes at the same time as one batch.
constexpr std::size_t kBatch = 512;

// What metadata.finalizers becomes under the propagation policy of the request. `waits`: dependents
// that are not orphaned by orphanDependents are deleted first.
json::Value WithPropagation(json::Arena& arena, json::Value object, const DeleteOptions& options,
                            registry::Dependents by_default, bool waits) {
  bool orphan = false;
  bool foreground = false;
  const json::Value finalizers = object["metadata"]["finalizers"];
  const auto has = [&](std::string_view name) {
    const auto items = finalizers.elements();
    return std::any_of(items.begin(), items.end(),
                       [&](const json::Value& item) { return item.AsString() == name; });
  };
  if (by_default == registry::Dependents::kUnsupported) {
    // Neither; finalizers of that name go.
  } else if (options.orphan_dependents) {
    orphan = *options.orphan_dependents;
    foreground = waits && !orphan;
  } else if (!options.propagation_policy.empty()) {
    orphan = options.propagation_policy == "Orphan";
    foreground = options.propagation_policy == "Foreground";
  } else {
    const bool orphans = by_default == registry::Dependents::kOrphaned;
    orphan = has(kOrphan) || (!has(kForeground) && orphans);
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

// Whose options admission sees: those of a single delete with what the strategy has filled in,
// those of a collection as the client sent them.
enum class Of : std::uint8_t { kOne, kCollection };

// The strategy's context: of the object that goes, which is not the operation's in a collection.
registry::Context DeletionContext(Operation& op, const DeletionTarget& target,
                                  const DeleteOptions& options) {
  registry::Context context = StrategyContext(op, target.name);
  context.name_space = target.ns;
  context.dry_run = options.dry_run;
  return context;
}

// Up to v1.14 admission judges the request, not each object that goes: once, before anything is read.
bool IsAdmittedAtOnce(const Operation& op) {
  return op.world.release->Has("DeletionsAreAdmittedAtOnce");
}

base::Status AdmitAtOnce(Operation& op, const DeleteOptions& options) {
  return RunBoth(op, {.operation = admission::kDelete,
                      .name = op.name,
                      .options = options.value,
                      .dry_run = options.dry_run});
}

// The deletion of one object, from its state in the store to the commit; once more if another
// writer was faster.
class Deletion {
 public:
  Deletion(Operation& op, const DeletionTarget& target, const DeleteOptions& options, Of of,
           bool reviewed = true)
      : op_(op),
        ns_(target.ns),
        name_(target.name),
        options_(options),
        of_(of),
        reviewed_(reviewed),
        strategy_(StrategyOf(op)),
        admission_options_(options.value),
        grace_seconds_(options.grace_period_seconds) {
    if (grace_seconds_ && *grace_seconds_ < 0) {
      grace_seconds_ = 1;
      FillOption({"gracePeriodSeconds"}, json::Value::Int(1));
    }
  }

  // Runs to the commit, or to the end: then nothing, and the result is known.
  std::optional<PendingWrite> Advance() {
    if (result_) return std::nullopt;
    auto next = Plan();
    if (!next.ok()) {
      result_.emplace(std::move(next).status());
    } else if (*next) {
      return *std::move(next);
    } else {
      result_.emplace(deleted_);
    }
    return std::nullopt;
  }

  void Committed(base::Result<store::ObjectPtr> stored) {
    if (!stored.ok()) {
      base::Status failure = std::move(stored).status();
      if (failure.reason() == base::Reason::kConflict && tries_++ < kRetries) return;
      const bool is_gone = failure.reason() == base::Reason::kNotFound;
      result_.emplace(is_gone ? api::NotFoundStatus(op_.group_resource(), name_)
                              : std::move(failure));
      return;
    }
    result_.emplace(Done(*stored));
  }

  // Once, after the end.
  base::Result<Deleted> TakeResult() { return *std::move(result_); }

  base::Result<Deleted> Run() {
    while (auto write = Advance()) Committed(Commit(op_, *std::move(write)));
    return TakeResult();
  }

  // The stored object that is to be deleted.
  json::Value live() const { return live_; }

 private:
  // The effect of a grace period on the delete.
  struct Grace {
    enum Kind : std::uint8_t { kNone, kStarts, kPending } kind = kNone;
    std::int64_t seconds = 0;
    std::string ends;  // the deletionTimestamp
  };

  using Next = base::Result<std::optional<PendingWrite>>;

  Next Plan() {
    if (tries_ == 0 && options_.ignores_read_errors) TRY(CheckUnsafeDeletion(op_));
    const bool admits_now = tries_ == 0 && reviewed_ && of_ == Of::kOne && IsAdmittedAtOnce(op_);
    if (admits_now) TRY(AdmitAtOnce(op_, options_));
    // That an object may not be deleted holds for its name in the URL, not for its collection.
    if (tries_ == 0 && of_ == Of::kOne) TRY(strategy_.CheckDelete(Context()));
    const store::Key key = KeyOf(*op_.resource, ns_, name_);
    const base::Status why = op_.world.store->WhyUnreadable(key);
    if (!why.ok() && options_.ignores_read_errors) {
      deleted_ = {true, json::Value()};
      return std::optional<PendingWrite>(
          Planned(PendingWrite::Kind::kDelete, store::kUnreadableRevision));
    }
    TRY(why);
    current_ = op_.world.store->Get(key);
    if (current_ == nullptr) return api::NotFoundStatus(op_.group_resource(), name_);
    live_ = TRY(FromStore(op_, current_));
    const bool terminating = api::view::Metadata(live_).is_being_deleted();
    if (strategy_.TerminatesFirst() && of_ == Of::kOne) {
      TRY(CheckOwnPreconditions());
      FillOption({"preconditions", "uid"}, live_["metadata"]["uid"]);
      if (!terminating) {
        TRY(Admit(live_));
        return Store(Mark({Grace::kStarts, 0, In(0)}));
      }
      if (IsNamespace() && strategy_.HeldByOther(live_)) return Without({false, live_});
    }
    TRY(CheckPreconditions());
    const Grace grace = GraceOf(terminating);
    if (grace.kind == Grace::kPending) return Without({false, live_});
    const bool graceful = grace.kind == Grace::kStarts;
    if (graceful) FillOption({"gracePeriodSeconds"}, json::Value::Int(grace.seconds));

    TRY(Admit(live_));
    const json::Value marked = Mark(grace);
    const bool held = !marked["metadata"]["finalizers"].empty() || strategy_.HeldByOther(marked);
    if (held || grace.seconds > 0) return Store(marked);
    // Nothing keeps it: where something might have, the removal itself is reviewed once more.
    if (graceful && options_.dry_run) return Without({true, marked});
    const json::Value last = graceful ? marked : live_;
    const bool might_be_held = !live_["metadata"]["finalizers"].empty() || marked != live_;
    if (!graceful && might_be_held) {
      // Kubernetes has tried to keep it and has no newer state of it, but goes on as if it had.
      if (options_.dry_run) return Without({true, Nothing(), true});
      if (Requires("resourceVersion", options_.resource_version)) {
        TRY(CheckVersion(op_, KeyOf(*op_.resource, ns_, name_), "", live_));
      }
    }
    if (graceful || !live_["metadata"]["finalizers"].empty()) TRY(Admit(last));
    return Remove(last);
  }

  // An object of the kind without a field.
  json::Value Nothing() const {
    const api::GroupVersionKind& kind = op_.resource->kind;
    const json::Value empty = EmptyObject(op_.arena, *op_.resource);
    const json::Value named =
        json::SetPath(op_.arena, empty, {"kind"}, json::String(op_.arena, kind.kind));
    return json::SetPath(op_.arena, named, {"apiVersion"},
                         json::String(op_.arena, ApiVersion(kind)));
  }

  registry::Context Context() const { return DeletionContext(op_, {ns_, name_}, options_); }

  std::string In(std::int64_t seconds) const {
    return base::FormatTime(op_.world.clock->Now() + std::chrono::seconds(seconds));
  }

  Grace GraceOf(bool terminating) const {
    const auto wanted =
        strategy_.GracePeriod(Context(), live_, registry::DeleteRequest{grace_seconds_});
    if (!wanted) return {};
    if (!terminating) return {Grace::kStarts, *wanted, In(*wanted)};
    std::int64_t before = live_["metadata"]["deletionGracePeriodSeconds"].AsInt();
    if (before == 0) return {};
    if (before < 0) before = 1;
    // Only a shorter time may be asked for; anything else changes nothing.
    if (!grace_seconds_ || *grace_seconds_ >= before) return {Grace::kPending, 0, {}};
    return Shortened(before, *grace_seconds_);
  }

  // The time counts from the first delete. If it is over by now, the kubelet still gets
  // a second to see it.
  Grace Shortened(std::int64_t before, std::int64_t seconds) const {
    const auto end = golang::ParseTime(live_["metadata"]["deletionTimestamp"].AsString());
    const std::int64_t now =
        std::chrono::duration_cast<std::chrono::seconds>(op_.world.clock->Now().time_since_epoch())
            .count();
    const std::int64_t wanted = (end.ok() ? end->seconds : now) - before + seconds;
    if (wanted < now) return {Grace::kStarts, seconds == 0 ? 0 : 1, In(0)};
    return {Grace::kStarts, seconds, golang::FormatTime({wanted, 0})};
  }

  // A precondition may be an empty text, which no object meets.
  bool Requires(std::string_view field, const std::string& text) const {
    return !text.empty() || options_.value["preconditions"][field].is_string();
  }

  base::Status CheckPreconditions() const {
    // Kubernetes puts the kind where the resource belongs: that of its internal type.
    const api::GroupKind kind = op_.resource->storage_kind.group_kind();
    const api::GroupResource resource{kind.group, kind.kind};
    const api::view::Metadata metadata(live_);
    if (Requires("uid", options_.uid) && options_.uid != metadata.uid()) {
      return api::ConflictStatus(
          resource, name_,
          base::StrCat("the UID in the precondition (", options_.uid,
                       ") does not match the UID in record (", metadata.uid(),
                       "). The object might have been deleted and then recreated"));
    }
    if (Requires("resourceVersion", options_.resource_version) &&
        options_.resource_version != metadata.resource_version()) {
      return api::ConflictStatus(
          resource, name_,
          base::StrCat("the ResourceVersion in the precondition (", options_.resource_version,
                       ") does not match the ResourceVersion in record (",
                       metadata.resource_version(), "). The object might have been modified"));
    }
    return base::OkStatus();
  }

  // Those of kinds that terminate first, which have texts of their own.
  base::Status CheckOwnPreconditions() const {
    const api::view::Metadata metadata(live_);
    const auto differ = [&](std::string_view what, std::string_view wanted,
                            std::string_view actual) {
      return api::ConflictStatus(op_.group_resource(), name_,
                                 base::StrCat("Precondition failed: ", what, " in precondition: ",
                                              wanted, ", ", what, " in object meta: ", actual));
    };
    if (Requires("uid", options_.uid) && options_.uid != metadata.uid()) {
      return differ("UID", options_.uid, metadata.uid());
    }
    if (Requires("resourceVersion", options_.resource_version) &&
        options_.resource_version != metadata.resource_version()) {
      return differ("ResourceVersion", options_.resource_version, metadata.resource_version());
    }
    return base::OkStatus();
  }

  void FillOption(std::initializer_list<std::string_view> path, json::Value value) {
    if (of_ == Of::kCollection) return;
    admission_options_ = InGoOrder(json::SetPath(op_.arena, admission_options_, path, value));
  }

  json::Value InGoOrder(json::Value options) const {
    json::ObjectBuilder ordered(op_.arena);
    for (std::string_view name : {"kind", "apiVersion", "gracePeriodSeconds", "preconditions",
                                  "orphanDependents", "propagationPolicy"}) {
      if (const json::Value* value = options.Find(name)) ordered.Set(name, *value);
    }
    for (const json::Member& member : options.members()) ordered.Set(member.name(), member.value);
    return ordered.Build();
  }

  // The object as it lives on until finalizers or its time end it.
  json::Value Mark(const Grace& grace) {
    json::Arena& arena = op_.arena;
    // The first deletion of a kind that terminates first marks it; a Namespace gets finalizers, too.
    const bool marks_only = strategy_.TerminatesFirst() && of_ == Of::kOne &&
                            !api::view::Metadata(live_).is_being_deleted();
    json::Value marked = live_;
    if (!marks_only || IsNamespace()) {
      marked = WithPropagation(arena, live_, options_, DependentsByDefault(), marks_only);
    }
    const api::view::Metadata metadata(marked);
    const bool held = !metadata.finalizers().empty() || strategy_.HeldByOther(marked);
    const bool starts = grace.kind == Grace::kStarts;
    if (!starts && !held) return marked;
    const bool was_terminating = metadata.is_being_deleted();
    if (!was_terminating || starts) {
      marked = json::SetPath(arena, marked, {"metadata", "deletionTimestamp"},
                             json::String(arena, starts ? grace.ends : In(0)));
    }
    const bool has_period = live_["metadata"].Has("deletionGracePeriodSeconds");
    if (!marks_only && (!was_terminating || starts || !has_period)) {
      marked = json::SetPath(arena, marked, {"metadata", "deletionGracePeriodSeconds"},
                             json::Value::Int(grace.seconds));
    }
    if (strategy_.TerminatesFirst() && was_terminating) return marked;
    if (!was_terminating && metadata.generation() > 0 && !strategy_.TerminatesFirst()) {
      marked = json::SetPath(arena, marked, {"metadata", "generation"},
                             json::Value::Int(metadata.generation() + 1));
    }
    return strategy_.PrepareForTermination(Context(), marked);
  }

  // Workloads do in the versions that Kubernetes has dropped (docs/legacy.md).
  registry::Dependents DependentsByDefault() const {
    const std::string_view group = op_.resource->storage_kind.group;
    const bool orphans = op_.resource->legacy && (group == "apps" || group == "batch");
    return orphans ? registry::Dependents::kOrphaned : strategy_.DependentsByDefault();
  }

  bool IsNamespace() const {
    return op_.resource->resource.resource == "namespaces" && op_.resource->resource.group.empty();
  }

  base::Status Admit(json::Value existing) {
    if (!reviewed_ || IsAdmittedAtOnce(op_)) return base::OkStatus();
    return RunBoth(op_, {.operation = admission::kDelete,
                         .name = op_.name,
                         .old_object = existing,
                         .options = admission_options_,
                         .ns = ns_,
                         .dry_run = options_.dry_run});
  }

  // The end without a commit.
  Next Without(const Deleted& deleted) {
    deleted_ = deleted;
    return std::optional<PendingWrite>();
  }

  PendingWrite Planned(PendingWrite::Kind kind, std::int64_t expected) const {
    PendingWrite write;
    write.kind = kind;
    write.ns = op_.resource->namespaced ? ns_ : std::string_view();
    write.name = name_;
    write.expected = expected;
    return write;
  }

  // It stays for now, as `marked`.
  Next Store(json::Value marked) {
    if (options_.dry_run || marked == live_) return Without({false, marked});
    PendingWrite write = Planned(PendingWrite::Kind::kUpdate, current_->revision());
    write.encoded = TRY(EncodeForStore(op_, marked));
    deleted_ = {false, marked};
    return std::optional<PendingWrite>(std::move(write));
  }

  Next Remove(json::Value last) {
    if (options_.dry_run) return Without({true, last});
    deleted_ = {true, last};
    return std::optional<PendingWrite>(Planned(PendingWrite::Kind::kDelete, current_->revision()));
  }

  base::Result<Deleted> Done(const store::ObjectPtr& stored) {
    if (!deleted_.gone) return Deleted{false, TRY(FromStore(op_, stored))};
    if (deleted_.object.is_null()) return deleted_;  // unread
    strategy_.Release(Context(), live_, {});
    DeleteCompanion(op_, ns_, name_);
    return Deleted{true,
                   json::SetPath(op_.arena, deleted_.object, {"metadata", "resourceVersion"},
                                 json::String(op_.arena, std::to_string(stored->revision())))};
  }

  Operation& op_;
  const std::string_view ns_;
  const std::string_view name_;
  const DeleteOptions& options_;
  const Of of_;
  const bool reviewed_;  // by admission
  const registry::Strategy& strategy_;
  json::Value admission_options_;
  std::optional<std::int64_t> grace_seconds_;
  store::ObjectPtr current_;
  json::Value live_;
  Deleted deleted_;  // once it is committed
  int tries_ = 0;
  std::optional<base::Result<Deleted>> result_;
};

// The same with all that it refers to, and the outcome as a client has it.
class OwnedDeletion final : public Execution {
 public:
  OwnedDeletion(Operation& op, DeleteOptions options, bool reviewed)
      : op_(op),
        options_(std::move(options)),
        deletion_(op, {op.ns, op.name}, options_, Of::kOne, reviewed) {}
  std::optional<PendingWrite> Advance() override { return deletion_.Advance(); }
  void Committed(base::Result<store::ObjectPtr> stored) override {
    deletion_.Committed(std::move(stored));
  }
  base::Result<Outcome> TakeOutcome() override {
    const Deleted deleted = TRY(deletion_.TakeResult());
    if (deleted.object.is_null()) {
      const api::GroupResource kind = {"", op_.resource->kind.kind};
      return PlainOutcome(
          200, json::With(op_.arena, api::SuccessStatus(op_.arena, kind, op_.name, ""), "code",
                          json::Value::Int(200)));
    }
    if (deleted.gone && !deleted.is_shown && !StrategyOf(op_).ReturnsDeletedObject()) {
      return PlainOutcome(200, api::SuccessStatus(op_.arena, op_.group_resource(), op_.name,
                                                  deleted.object["metadata"]["uid"].AsString()));
    }
    const bool accepted =
        !deleted.gone && options_.orphan_dependents && !*options_.orphan_dependents;
    Outcome outcome;
    outcome.code = accepted ? 202 : 200;
    outcome.object = AsWritten(op_, AsShown(op_.arena, *op_.resource, deleted.object));
    return outcome;
  }

 private:
  Operation& op_;
  const DeleteOptions options_;
  Deletion deletion_;
};

// One deletion of a collection that has come to its commit.
struct Removal {
  DeletionTarget target;
  PendingWrite::Kind kind;
  json::Value live;  // what goes
};

// Deletes the objects of a collection, batch by batch.
class CollectionDeletion {
 public:
  CollectionDeletion(Operation& op, const DeleteOptions& options) : op_(op), options_(options) {}

  base::Status Run(const std::vector<store::ObjectPtr>& objects) {
    for (const store::ObjectPtr& object : objects) {
      if (op_.world.clock->Steady() >= op_.deadline) {
        return base::InternalError("context deadline exceeded");
      }
      Deletion deletion(op_, {object->ns(), object->name()}, options_, Of::kCollection);
      if (auto write = deletion.Advance()) {
        pending_.push_back({{object->ns(), object->name()}, write->kind, deletion.live()});
        writes_.push_back(*std::move(write));
      } else if (base::Status status = deletion.TakeResult().status(); IsFailure(status)) {
        TRY(Flush());
        return status;
      }
      if (pending_.size() == kBatch) TRY(Flush());
    }
    return Flush();
  }

 private:
  static bool IsFailure(const base::Status& status) {
    return !status.ok() && status.reason() != base::Reason::kNotFound;
  }

  base::Status Flush() {
    const auto stored = CommitAll(op_, std::exchange(writes_, {}));
    base::Status failure;
    for (std::size_t i = 0; i < stored.size(); ++i) {
      base::Status status = Finish(pending_[i], stored[i].status());
      if (IsFailure(status) && failure.ok()) failure = std::move(status);
    }
    pending_.clear();
    return failure;
  }

  // Another writer may have been faster: then all is done once more, and at once.
  base::Status Finish(const Removal& removal, const base::Status& committed) {
    if (!committed.ok() && committed.reason() == base::Reason::kConflict) {
      return Deletion(op_, removal.target, options_, Of::kCollection).Run().status();
    }
    TRY(committed);
    if (removal.kind == PendingWrite::Kind::kDelete) {
      StrategyOf(op_).Release(DeletionContext(op_, removal.target, options_), removal.live, {});
      DeleteCompanion(op_, removal.target.ns, removal.target.name);
    }
    return base::OkStatus();
  }

  Operation& op_;
  const DeleteOptions& options_;
  std::vector<Removal> pending_;
  std::vector<PendingWrite> writes_;  // of these
};

}  // namespace

void WarnOfJobs(Operation& op, const DeleteOptions& options) {
  const api::GroupResource jobs = {"batch", "jobs"};
  if (op.group_resource() != jobs || !options.propagation_policy.empty() ||
      options.orphan_dependents) {
    return;
  }
  op.recorder.Warn(
      "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background "
      "to remove them or set propagationPolicy=Orphan to suppress this warning");
}

std::unique_ptr<Execution> BeginDeletion(Operation& op, DeleteOptions options) {
  WarnOfJobs(op, options);
  return std::make_unique<OwnedDeletion>(op, std::move(options), true);
}

std::unique_ptr<Execution> BeginUnreviewedDeletion(Operation& op, DeleteOptions options) {
  return std::make_unique<OwnedDeletion>(op, std::move(options), false);
}

base::Status DeleteEach(Operation& op, const std::vector<store::ObjectPtr>& objects,
                        const DeleteOptions& options) {
  if (IsAdmittedAtOnce(op)) TRY(AdmitAtOnce(op, options));
  return CollectionDeletion(op, options).Run(objects);
}

}  // namespace portcullis::engine
