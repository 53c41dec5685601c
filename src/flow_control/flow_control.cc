// SPDX-License-Identifier: Apache-2.0

#include "flow_control/flow_control.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/log.h"
#include "base/strings.h"
#include "flow_control/bootstrap.h"

namespace portcullis::flow_control {
namespace {

constexpr store::Collection kLevels{kApiGroup, "prioritylevelconfigurations"};
constexpr store::Collection kSchemas{kApiGroup, "flowschemas"};

// How often levels are given other limits by what they have asked for.
constexpr std::chrono::seconds kAdjustEvery{10};

RequestKind KindOf(std::string_view verb) {
  const bool reads = verb == "get" || verb == "list" || verb == "watch";
  return reads ? RequestKind::kReadOnly : RequestKind::kMutating;
}

bool Writes(std::string_view verb) {
  return verb == "create" || verb == "update" || verb == "patch" || verb == "delete";
}

std::string_view DistinguisherOf(const FlowSchema& schema, const RequestFacts& facts) {
  switch (schema.distinguisher) {
    case Distinguisher::kUser:
      return facts.user->name;
    case Distinguisher::kNamespace:
      return facts.ns;
    default:
      return {};
  }
}

// A mandatory object that the store does not have.
json::Value Mandatory(json::Arena& arena, std::string_view kind, std::string_view name) {
  for (const BootstrapObject& one : BootstrapObjects(arena)) {
    if (one.object["kind"].AsString() == kind &&
        one.object["metadata"]["name"].AsString() == name) {
      return one.object;
    }
  }
  return {};
}

bool Precedes(const SchemaSpec& a, const SchemaSpec& b) {
  return a.precedence != b.precedence ? a.precedence < b.precedence : a.name < b.name;
}

QueuingConfig QueuingOf(const LevelSpec& spec) {
  if (spec.exempt) return {-1, 0, 0};
  return {spec.queues, spec.queue_length_limit, spec.hand_size};
}

}  // namespace

FlowControl::FlowControl(int seats, store::Store& store, const base::Clock& clock,
                         metrics::Registry& registry, std::function<void()> wake)
    : seats_(seats),
      store_(store),
      clock_(clock),
      instruments_(registry),
      in_flight_(registry, instruments_, clock),
      estimator_(store, clock),
      wake_(std::move(wake)),
      next_adjustment_(clock.Steady() + kAdjustEvery) {
  subscription_ = store.Subscribe({kLevels, kSchemas}, *this, nullptr);
  Refresh();
}

FlowControl::~FlowControl() { subscription_.reset(); }

void FlowControl::OnCommit(std::span<const store::EventPtr>) {
  ++generation_;
  // Requests that wait may now run.
  if (wake_) wake_();
}

std::shared_ptr<const Snapshot> FlowControl::Current() {
  auto snapshot = snapshot_.Get();
  if (snapshot->generation != generation_.load()) {
    Refresh();
    snapshot = snapshot_.Get();
  }
  return snapshot;
}

Verdict FlowControl::Begin(Ticket& ticket, const RequestFacts& facts, const ListFacts* list,
                           base::SteadyTime wait_until) {
  ticket.is_watch_ = facts.verb == "watch";
  ticket.kind_ = KindOf(facts.verb);
  ticket.wait_until_ = wait_until;
  for (;;) {
    // The ticket may be resumed and gone before Start() has returned; the level must not.
    const std::shared_ptr<const Snapshot> snapshot = Current();
    const std::size_t found = snapshot->classifier->Find(facts);
    const FlowSchema& schema =
        snapshot->schemas[found < snapshot->schemas.size() ? found : snapshot->fallback];
    ticket.snapshot_ = snapshot;
    ticket.schema_ = &schema;
    Arrival arrival;
    arrival.counts = schema.counts;
    arrival.distinguisher = DistinguisherOf(schema, facts);
    Estimate(schema, facts, list, arrival);
    const Verdict verdict = schema.level->queues.Start(ticket, arrival);
    if (verdict == Verdict::kRetired) {
      ++generation_;  // it may not have been noticed yet
      continue;
    }
    return verdict;
  }
}

void FlowControl::Finish(Ticket& ticket) { ticket.schema_->level->queues.Finish(ticket); }

void FlowControl::Estimate(const FlowSchema& schema, const RequestFacts& facts,
                           const ListFacts* list, Arrival& arrival) const {
  if (list != nullptr) {
    arrival.work = estimator_.ForList(facts, *list, schema.max_seats);
  } else if (Writes(facts.verb) &&
             !(facts.resource == "serviceaccounts" && facts.subresource == "token")) {
    arrival.watches = watches_.InterestedIn(facts);
    arrival.work = WorkEstimator::ForWrite(arrival.watches, schema.max_seats);
  }
}

std::int64_t FlowControl::NoteRejected(const Ticket& ticket) {
  DroppedRequests& dropped = ticket.schema_->level->dropped;
  dropped.Record(
      std::chrono::duration_cast<std::chrono::seconds>(clock_.Now().time_since_epoch()).count());
  return dropped.retry_after();
}

void FlowControl::Close() {
  {
    const base::MutexLock lock(mutex_);
    closed_ = true;
  }
  for (const auto& [name, level] : AllLevels()) level->queues.Close();
}

void FlowControl::Refresh() {
  const base::MutexLock lock(mutex_);
  const std::uint64_t generation = generation_.load();
  const auto current = snapshot_.Get();
  if (current == nullptr || current->generation != generation) Digest(generation);
}

void FlowControl::Digest(std::uint64_t generation) {
  Levels levels;
  for (const store::ObjectPtr& object : store_.List(kLevels)) {
    TakeLevel(object->document().root(), levels);
  }
  std::vector<SchemaSpec> specs = ReadSchemas(levels);
  KeepOldLevels(levels);
  json::Arena arena;
  for (std::string_view name : {kExemptName, kCatchAllName}) {
    if (levels.find(name) == levels.end()) {
      TakeLevel(Mandatory(arena, "PriorityLevelConfiguration", name), levels);
    }
  }
  levels_ = std::move(levels);
  SetLimits();
  snapshot_.Set(MakeSnapshot(std::move(specs), generation));
}

void FlowControl::TakeLevel(json::Value object, Levels& levels) {
  auto spec = ReadLevel(object);
  if (!spec.ok()) {
    base::LogWarning("a PriorityLevelConfiguration is ignored",
                     {{"name", std::string(object["metadata"]["name"].AsString())},
                      {"error", spec.status().message()}});
    return;
  }
  const std::string name = spec->name;
  std::shared_ptr<Level>& level = levels[name];
  if (const auto found = levels_.find(name); found != levels_.end()) level = found->second;
  if (level == nullptr) {
    level = std::make_shared<Level>(name, QueueSet::Tools{clock_, instruments_, in_flight_, wake_});
    if (closed_) level->queues.Close();
  }
  level->spec = *std::move(spec);
  level->quiescing = false;
}

// Levels whose objects are gone go on until their requests have ended.
void FlowControl::KeepOldLevels(Levels& levels) {
  for (const auto& [name, level] : levels_) {
    if (levels.find(name) != levels.end()) continue;
    const bool mandatory = name == kExemptName || name == kCatchAllName;
    if (!mandatory && level->queues.RetireIfIdle()) continue;
    level->quiescing = !mandatory;
    levels.emplace(name, level);
  }
}

std::vector<SchemaSpec> FlowControl::ReadSchemas(const Levels& levels) const {
  std::vector<SchemaSpec> specs;
  const auto has = [&](std::string_view name) {
    return std::any_of(specs.begin(), specs.end(),
                       [&](const SchemaSpec& spec) { return spec.name == name; });
  };
  for (const store::ObjectPtr& object : store_.List(kSchemas)) {
    SchemaSpec spec = ReadSchema(object->document().root());
    if (levels.find(spec.level) != levels.end()) specs.push_back(std::move(spec));
  }
  std::sort(specs.begin(), specs.end(), Precedes);
  json::Arena arena;
  if (!has(kExemptName)) {
    specs.insert(specs.begin(), ReadSchema(Mandatory(arena, "FlowSchema", kExemptName)));
  }
  if (!has(kCatchAllName)) {
    specs.push_back(ReadSchema(Mandatory(arena, "FlowSchema", kCatchAllName)));
  }
  return specs;
}

std::shared_ptr<const Snapshot> FlowControl::MakeSnapshot(std::vector<SchemaSpec> specs,
                                                          std::uint64_t generation) const {
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->generation = generation;
  snapshot->specs = std::move(specs);
  for (const SchemaSpec& spec : snapshot->specs) {
    const std::shared_ptr<Level>& level = levels_.find(spec.level)->second;
    if (spec.name == kCatchAllName) snapshot->fallback = snapshot->schemas.size();
    FlowSchema& schema = snapshot->schemas.emplace_back();
    schema.name = spec.name;
    schema.uid = spec.uid;
    schema.level_name = level->spec.name;
    schema.level_uid = level->spec.uid;
    schema.distinguisher = spec.distinguisher;
    schema.max_seats = MaxSeatsOf(level->spec, level->limits);
    schema.level = level;
    schema.counts = level->queues.CountsOf(spec.name);
  }
  snapshot->classifier.emplace(snapshot->specs);
  return snapshot;
}

void FlowControl::SetLimits() {
  double share_sum = 0;
  for (const auto& [name, level] : levels_) share_sum += level->spec.shares;
  double places = 0;
  double seats = 0;
  for (const auto& [name, level] : levels_) {
    SetConfiguredLimits(level->spec, seats_, share_sum, level->limits);
    seats += level->limits.nominal;
    places += static_cast<double>(level->spec.queues) * level->spec.queue_length_limit;
    instruments_.nominal_limit.With({name}).Set(level->limits.nominal);
    instruments_.lower_limit.With({name}).Set(level->limits.lower);
    instruments_.upper_limit.With({name}).Set(level->limits.upper);
  }
  for (RequestKind kind : {RequestKind::kReadOnly, RequestKind::kMutating}) {
    in_flight_.SetLimit(Phase::kWaiting, kind, places);
    in_flight_.SetLimit(Phase::kExecuting, kind, seats);
  }
  AdjustSeats();
}

void FlowControl::AdjustSeats() {
  std::vector<LevelLimits*> limits;
  for (const auto& [name, level] : levels_) {
    level->limits.demand.Update(level->queues.TakeDemand());
    limits.push_back(&level->limits);
  }
  instruments_.fair_fraction.With({}).Set(Borrow(limits));
  for (const auto& [name, level] : levels_) {
    const int current = level->limits.current;
    const int positive = static_cast<int>(std::max(1L, std::lround(seats_ / 10.0)));
    TellLimits(name, *level);
    level->queues.Configure(QueuingOf(level->spec), {current, current > 0 ? current : positive});
  }
}

void FlowControl::TellLimits(const std::string& name, const Level& level) {
  const SeatDemand& demand = level.limits.demand;
  instruments_.demand_high.With({name}).Set(demand.high_watermark);
  instruments_.demand_average.With({name}).Set(demand.average);
  instruments_.demand_deviation.With({name}).Set(demand.deviation);
  instruments_.demand_smoothed.With({name}).Set(demand.smoothed);
  instruments_.demand_target.With({name}).Set(level.limits.target);
  instruments_.current_limit.With({name}).Set(level.limits.current);
}

std::vector<std::pair<std::string, std::shared_ptr<Level>>> FlowControl::AllLevels() {
  const base::MutexLock lock(mutex_);
  return {levels_.begin(), levels_.end()};
}

std::optional<base::SteadyTime> FlowControl::NextEvent() {
  std::optional<base::SteadyTime> next;
  const auto consider = [&](std::optional<base::SteadyTime> event) {
    if (event && (!next || *event < *next)) next = event;
  };
  for (const auto& [name, level] : AllLevels()) consider(level->queues.NextEvent());
  const base::MutexLock lock(mutex_);
  consider(next_adjustment_);
  return next;
}

void FlowControl::Advance() {
  Refresh();
  bool ended = false;
  for (const auto& [name, level] : AllLevels()) {
    level->queues.Advance();
    const base::MutexLock lock(mutex_);
    ended = ended || (level->quiescing && level->queues.idle());
  }
  const base::MutexLock lock(mutex_);
  if (ended) {
    Digest(++generation_);
  }
  const base::SteadyTime now = clock_.Steady();
  if (now < next_adjustment_) return;
  next_adjustment_ = now + kAdjustEvery;
  AdjustSeats();
}

std::vector<LevelDump> FlowControl::DumpLevels(bool with_details) {
  std::vector<LevelDump> dumps;
  for (const auto& [name, level] : AllLevels()) {
    dumps.push_back({name, false, level->queues.Dump(with_details)});
    const base::MutexLock lock(mutex_);
    dumps.back().quiescing = level->quiescing;
  }
  return dumps;
}

std::string FlowControl::DumpPriorityLevels() { return FormatPriorityLevels(DumpLevels(false)); }

std::string FlowControl::DumpQueues() { return FormatQueues(DumpLevels(false)); }

std::string FlowControl::DumpRequests(bool with_details) {
  return FormatRequests(DumpLevels(with_details), with_details, clock_);
}

void FlowControl::Publish() {
  for (const auto& [name, level] : AllLevels()) level->queues.Publish();
  in_flight_.Publish();
}

}  // namespace portcullis::flow_control
