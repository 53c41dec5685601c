// SPDX-License-Identifier: Apache-2.0

// What to do is decided anew each time from the Lease and its candidates: candidates that have not
// said for a while that they are there are pinged, those that answer within five seconds take part.
// Times are compared as they are written, which has one form.

#include "controllers/coordinated_election.h"

#include <tuple>
#include <utility>

#include "base/strings.h"
#include "golang/semver.h"
#include "golang/time.h"

namespace portcullis::controllers {
namespace {

using namespace std::chrono_literals;
using json::Value;

constexpr std::string_view kGroup = "coordination.k8s.io";
constexpr std::string_view kCandidates = "leasecandidates";
constexpr std::string_view kOldest = "OldestEmulationVersion";
constexpr std::chrono::seconds kElection = 5s;
constexpr std::chrono::seconds kAgain = 5s;
constexpr std::int64_t kLeaseSeconds = 5;
// A candidate that has not renewed itself for so long counts no more; after half of it all are asked.
constexpr std::chrono::minutes kValid = 30min;

using Candidates = std::vector<store::ObjectPtr>;

Value SpecOf(const store::ObjectPtr& candidate) { return candidate->document()["spec"]; }

std::string_view TextOf(const store::ObjectPtr& candidate, std::string_view field) {
  return SpecOf(candidate)[field].AsString();
}

// It has been pinged and has not answered.
bool IsAsked(Value spec) {
  return spec["renewTime"].AsString() < spec["pingTime"].AsString() && spec.Has("renewTime");
}

base::Result<golang::Semver> VersionOf(const store::ObjectPtr& candidate, std::string_view field) {
  return golang::ParseSemver(TextOf(candidate, field));
}

// By the strategy of those with the newest program; empty if they do not agree.
std::string_view StrategyOf(const Candidates& candidates) {
  std::string_view strategy;
  std::optional<golang::Semver> newest;
  for (const store::ObjectPtr& candidate : candidates) {
    const auto binary = VersionOf(candidate, "binaryVersion");
    const golang::Semver version = binary.ok() ? *binary : golang::Semver();
    const std::string_view own = TextOf(candidate, "strategy");
    if (newest && version == *newest && own != strategy) return {};
    if (newest && version <= *newest) continue;
    newest = version;
    strategy = own;
  }
  return strategy;
}

// The holder by OldestEmulationVersion; empty if no candidate says both its versions: those of another
// strategy need not.
std::string_view BestOf(const Candidates& candidates) {
  using Rank = std::tuple<golang::Semver, golang::Semver, std::string_view>;
  std::optional<std::pair<Rank, std::string_view>> best;
  for (const store::ObjectPtr& candidate : candidates) {
    const auto emulation = VersionOf(candidate, "emulationVersion");
    const auto binary = VersionOf(candidate, "binaryVersion");
    if (!emulation.ok() || !binary.ok()) continue;
    Rank rank(*emulation, *binary,
              candidate->document()["metadata"]["creationTimestamp"].AsString());
    if (!best || rank < best->first) best.emplace(std::move(rank), candidate->name());
  }
  return best ? best->second : std::string_view();
}

class CoordinatedElection final : public Controller {
 public:
  explicit CoordinatedElection(const ControllerContext& context) : context_(context) {}

  void OnEvent(const store::Event& event, const Enqueue& enqueue) override {
    const store::Object& object = *event.object;
    std::string name(object.name());
    if (object.resource() == kCandidates) {
      const json::Value spec = object.document()["spec"];
      if (IsAsked(spec)) return;  // an election goes on
      name = spec["leaseName"].AsString();
      if (!std::exchange(cleans_, true)) enqueue("");
    }
    enqueue(base::StrCat(object.ns(), "/", name));
  }

  std::optional<base::Duration> Reconcile(const std::string& key) override {
    if (key.empty()) return Clean();
    const auto [ns, name] = *base::Cut(key, "/");
    const Candidates candidates = CandidatesOf(ns, name);
    if (candidates.empty()) return std::nullopt;
    const store::ObjectPtr lease = context_.store.Get({kGroup, "leases", ns, name});
    if (!IsNeeded(lease, candidates)) return kAgain;
    const std::string since = Ago(kElection);
    bool waits = false;
    Candidates present;
    for (const store::ObjectPtr& candidate : candidates) {
      const std::string_view renewed = TextOf(candidate, "renewTime");
      const std::string_view pinged = TextOf(candidate, "pingTime");
      if (renewed > since) {
        present.push_back(candidate);
      } else if (pinged <= since && renewed >= pinged) {
        if (!Ping(candidate)) return kAgain;
        waits = true;
      }
      waits |= pinged > since && renewed < pinged;
    }
    if (waits) return kAgain;
    if (present.empty()) return std::nullopt;
    return Elect(ns, name, lease, present);
  }

 private:
  std::string Ago(base::Duration time) const {
    return base::FormatMicroTime(context_.clock.Now() -
                                 std::chrono::duration_cast<base::WallTime::duration>(time));
  }

  // Those that count.
  Candidates CandidatesOf(std::string_view ns, std::string_view lease) const {
    Candidates found;
    const std::string since = Ago(kValid);
    for (store::ObjectPtr& candidate : context_.store.List({kGroup, kCandidates}, ns)) {
      if (TextOf(candidate, "leaseName") != lease) continue;
      if (TextOf(candidate, "renewTime") >= since) found.push_back(std::move(candidate));
    }
    return found;
  }

  bool IsExpired(Value lease) const {
    const auto renewed = golang::ParseTime(lease["renewTime"].AsString());
    if (!renewed.ok() || !lease.Has("leaseDurationSeconds")) return true;
    // Not as std::chrono: times may be of the year 9999.
    const auto now = std::chrono::duration_cast<std::chrono::nanoseconds>(
                         context_.clock.Now().time_since_epoch())
                         .count();
    constexpr std::int64_t kSecond = 1'000'000'000;
    return std::pair(renewed->seconds + lease["leaseDurationSeconds"].AsInt(),
                     std::int64_t{renewed->nanos}) < std::pair(now / kSecond, now % kSecond);
  }

  bool IsNeeded(const store::ObjectPtr& lease, const Candidates& candidates) const {
    if (lease == nullptr) return true;
    const Value spec = lease->document()["spec"];
    const std::string_view holder = spec["holderIdentity"].AsString();
    if (holder.empty() || IsExpired(spec)) return true;
    const std::string since = Ago(kValid / 2);
    for (const store::ObjectPtr& candidate : candidates) {
      if (TextOf(candidate, "renewTime") < since) return true;
    }
    if (StrategyOf(candidates) != kOldest) return false;
    const std::string_view best = BestOf(candidates);
    return !best.empty() && best != holder;
  }

  // In the version of the resource that is served.
  bool Send(Request request, std::string_view resource, json::Arena& arena) {
    const auto catalog = context_.catalog.Get();
    const auto* served = catalog->FindPreferred(kGroup, resource);
    if (served == nullptr) return false;
    request.resource = served->resource;
    if (!request.body.is_null()) {
      request.body =
          json::SetPath(arena, request.body, {"apiVersion"},
                        json::String(arena, base::StrCat(kGroup, "/", request.resource.version)));
    }
    return context_.client.Do(request).ok();
  }

  bool Ping(const store::ObjectPtr& candidate) {
    json::Arena arena;
    const Value body = json::SetPath(arena, candidate->document().root(), {"spec", "pingTime"},
                                     json::String(arena, Ago({})));
    return Send({.verb = engine::Verb::kUpdate,
                 .ns = candidate->ns(),
                 .name = candidate->name(),
                 .body = body},
                kCandidates, arena);
  }

  std::optional<base::Duration> Elect(std::string_view ns, std::string_view name,
                                      const store::ObjectPtr& lease, const Candidates& present) {
    json::Arena arena;
    const std::string_view strategy = StrategyOf(present);
    if (strategy.empty()) return std::nullopt;
    const std::string_view best = strategy == kOldest ? BestOf(present) : std::string_view();
    if (strategy == kOldest && best.empty()) return std::nullopt;
    Request request{.verb = engine::Verb::kCreate, .ns = ns};
    Value body = lease != nullptr ? lease->document().root()
                                  : json::ObjectBuilder(arena).Set("kind", "Lease").Build();
    const Value before = body["spec"];
    const std::string_view holder = before["holderIdentity"].AsString();
    const auto set = [&](std::string_view field, Value value) {
      body = json::SetPath(arena, body, {"spec", field}, value);
    };
    set("strategy", json::String(arena, strategy));
    if (lease != nullptr) {
      request.verb = engine::Verb::kUpdate;
      request.name = name;
    } else {
      body = json::SetPath(arena, body, {"metadata", "name"}, json::String(arena, name));
    }
    const bool takes = holder.empty() || (IsExpired(before) && holder != best);
    if (lease == nullptr || (!best.empty() && takes)) {
      set("preferredHolder", Value());
      set("acquireTime", Value());
      set("renewTime", json::String(arena, Ago({})));
      set("leaseDurationSeconds", Value::Int(kLeaseSeconds));
      if (!best.empty()) set("holderIdentity", json::String(arena, best));
    } else if (!best.empty() && holder != best) {
      set("preferredHolder", json::String(arena, best));
    }
    if (lease != nullptr && body["spec"] == before) return kAgain;
    request.body = body;
    Send(request, "leases", arena);
    return kAgain;
  }

  // Candidates that count no more.
  std::optional<base::Duration> Clean() {
    json::Arena arena;
    const std::string since = Ago(kValid);
    for (const store::ObjectPtr& candidate : context_.store.List({kGroup, kCandidates})) {
      if (TextOf(candidate, "renewTime") >= since) continue;
      Send({.verb = engine::Verb::kDelete, .ns = candidate->ns(), .name = candidate->name()},
           kCandidates, arena);
    }
    return kValid;
  }

  const ControllerContext& context_;
  bool cleans_ = false;  // of the committing thread
};

constexpr store::Collection kHears[] = {{kGroup, kCandidates}, {kGroup, "leases"}};

}  // namespace

const ControllerInfo kCoordinatedElection = {
    .name = "leader-election-controller",
    .account = "",
    .summary = "chooses the holders of Leases that have candidates",
    .create = [](const ControllerContext& context) -> std::unique_ptr<Controller> {
      return std::make_unique<CoordinatedElection>(context);
    },
    .hears = kHears,
};

}  // namespace portcullis::controllers
