// SPDX-License-Identifier: Apache-2.0

#include "controllers/leader_election.h"

#include <pthread.h>

#include <string_view>
#include <utility>

#include "base/log.h"
#include "base/memory_reserve.h"
#include "engine/operation.h"

namespace portcullis::controllers {
namespace {

constexpr std::string_view kGroup = "coordination.k8s.io";
constexpr std::string_view kNamespace = "kube-system";

}  // namespace

LeaderElection::LeaderElection(ElectionSettings settings, Client& client,
                               const store::Reader& store, const base::Clock& clock,
                               std::function<void()> start, std::function<void()> stop)
    : settings_(std::move(settings)),
      client_(client),
      store_(store),
      clock_(clock),
      start_(std::move(start)),
      stop_(std::move(stop)) {}

LeaderElection::~LeaderElection() { Stop(); }

void LeaderElection::Start() {
  thread_ = std::thread([this] { Run(); });
}

void LeaderElection::Stop() {
  {
    base::MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.NotifyAll();
  if (thread_.joinable()) thread_.join();
}

void LeaderElection::Run() {
  pthread_setname_np(pthread_self(), "election");
  const base::NeedsMemory needs;
  std::thread work([this] { Work(); });
  while (true) {
    Try();
    base::MutexLock lock(mutex_);
    if (!stopping_) {
      wake_.WaitUntil(mutex_, clock_.Steady() + settings_.retry);
    }
    if (stopping_) break;
  }
  work.join();
  Release();
}

void LeaderElection::Work() {
  pthread_setname_np(pthread_self(), "election-work");
  const base::NeedsMemory needs;
  bool works = false;
  while (true) {
    {
      base::MutexLock lock(mutex_);
      const bool may = !stopping_ && clock_.Steady() < work_until_;
      if (may == works) {
        if (stopping_) return;
        if (works) {
          wake_.WaitUntil(mutex_, work_until_);
        } else {
          wake_.Wait(mutex_);
        }
        continue;
      }
      works = may;
      if (works) {
        base::LogInfo("this server runs the controllers", {{"lease", settings_.lease}});
      } else if (!stopping_) {
        base::LogWarning("this server no longer runs the controllers",
                         {{"lease", settings_.lease}});
      }
    }
    works ? start_() : stop_();
  }
}

bool LeaderElection::Try() {
  json::Arena arena;
  const base::SteadyTime began = clock_.Steady();
  const store::ObjectPtr current = store_.Get({kGroup, "leases", kNamespace, settings_.lease});
  json::Value spec = json::MakeObject(arena, {});
  bool is_mine = false;
  std::int64_t transitions = 0;
  if (current != nullptr) {
    if (current->revision() != observed_revision_) {
      observed_revision_ = current->revision();
      observed_at_ = began;
    }
    spec = current->document().root()["spec"];
    const std::string_view holder = spec["holderIdentity"].AsString();
    is_mine = holder == settings_.identity;
    const std::chrono::seconds duration(spec["leaseDurationSeconds"].AsInt());
    if (!is_mine && !holder.empty() && began < observed_at_ + duration) return false;
    transitions = spec["leaseTransitions"].AsInt() + (is_mine ? 0 : 1);
  }
  const json::Value now = json::String(arena, base::FormatMicroTime(clock_.Now()));
  json::ObjectBuilder next(arena);
  next.Set("holderIdentity", settings_.identity)
      .Set("leaseDurationSeconds", json::Value::Int(settings_.duration.count()))
      .Set("acquireTime", is_mine ? spec["acquireTime"] : now)
      .Set("renewTime", now)
      .Set("leaseTransitions", json::Value::Int(transitions));
  if (!Write(current.get(), arena, next.Build()).ok()) return false;
  base::MutexLock lock(mutex_);
  work_until_ = began + settings_.renew_deadline;
  wake_.NotifyAll();
  return true;
}

void LeaderElection::Release() {
  json::Arena arena;
  const store::ObjectPtr current = store_.Get({kGroup, "leases", kNamespace, settings_.lease});
  if (current == nullptr) return;
  json::Value spec = current->document().root()["spec"];
  if (spec["holderIdentity"].AsString() != settings_.identity) return;
  spec = json::SetPath(arena, spec, {"holderIdentity"}, json::String(arena, ""));
  spec = json::SetPath(arena, spec, {"leaseDurationSeconds"}, json::Value::Int(1));
  static_cast<void>(Write(current.get(), arena, spec));
}

// An update names the revision it has seen: of several servers one succeeds.
base::Status LeaderElection::Write(const store::Object* current, json::Arena& arena,
                                   json::Value spec) {
  json::Value lease;
  if (current != nullptr) {
    lease = json::SetPath(arena, current->document().root(), {"spec"}, spec);
  } else {
    lease = json::ObjectBuilder(arena)
                .Set("apiVersion", "coordination.k8s.io/v1")
                .Set("kind", "Lease")
                .Set("metadata", json::ObjectBuilder(arena).Set("name", settings_.lease).Build())
                .Set("spec", spec)
                .Build();
  }
  Request request;
  request.verb = current == nullptr ? engine::Verb::kCreate : engine::Verb::kUpdate;
  request.resource = {std::string(kGroup), "v1", "leases"};
  request.ns = kNamespace;
  if (current != nullptr) request.name = settings_.lease;
  request.body = lease;
  return client_.Do(request).status();
}

}  // namespace portcullis::controllers
