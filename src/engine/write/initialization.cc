// SPDX-License-Identifier: Apache-2.0

#include "engine/write/initialization.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "api/api_status.h"
#include "api/view/initializers.h"
#include "base/mutex.h"
#include "base/strings.h"
#include "engine/codec/codec.h"
#include "engine/write/write.h"
#include "registry/validation/initializers.h"
#include "store/store.h"

namespace portcullis::engine {
namespace {

using api::view::Initializers;

constexpr std::chrono::seconds kLongestWait{30};
// At its deadline the server answers a request with a text of its own.
constexpr std::chrono::milliseconds kBeforeDeadline{50};
constexpr std::size_t kEventsPerPoll = 64;
// How long the end of the process may go unnoticed.
constexpr std::chrono::milliseconds kEndingCheck{200};

// The Status that controllers have left as the result.
base::Status FailureOf(Operation& op, json::Value result) {
  op.recorder.KeepForeignStatus(result);
  const json::Value code = result["code"];
  if (code.AsInt() != 0) return api::StatusFromJson(result);
  return api::StatusFromJson(json::With(op.arena, result, "code", json::Value::Int(500)));
}

// Follows one object from its creation to the end of its initialization.
class Initialization {
 public:
  Initialization(Operation& op, Outcome created) : op_(op), outcome_(std::move(created)) {}

  base::Result<Outcome> Await() {
    const store::Object& object = *outcome_.stored;
    const Initializers at_once(object.document().root());
    if (!at_once.result().is_null()) return FailureOf(op_, at_once.result());
    const auto limit = std::min(op_.deadline - kBeforeDeadline,
                                op_.world.clock->Steady() + base::Duration(kLongestWait));
    store::WatchRequest request;
    request.collection = {object.group(), object.resource()};
    request.ns = object.ns();
    request.after = object.revision();
    const auto watch = TRY(op_.world.store->StartWatch(request, [this] { Wake(); }));
    while (true) {
      std::vector<store::EventPtr> events;
      const std::size_t polled = TRY(watch->Poll(kEventsPerPoll, events));
      for (const store::EventPtr& event : events) {
        if (event->object->name() != outcome_.stored->name()) continue;
        if (auto end = OnEvent(*event)) return *std::move(end);
      }
      if (polled != 0) continue;
      if (IsEnding()) {
        if (op_.world.release->Has("InitializersEndInServerTimeout")) {
          return api::ServerTimeoutStatus(op_.group_resource(), "create", 0);
        }
        return api::TimeoutStatus(
            base::StrCat("server has timed out waiting for the initialization of ",
                         object.resource(), " ", object.name()),
            0);
      }
      const auto now = op_.world.clock->Steady();
      if (now >= limit) {
        return api::TimeoutStatus("request did not complete within allowed duration", 0);
      }
      Sleep(std::min(limit, now + base::Duration(kEndingCheck)));
    }
  }

 private:
  // The answer to the create, once there is one.
  std::optional<base::Result<Outcome>> OnEvent(const store::Event& event) {
    const json::Document document = store::DocumentOf(event.object);
    const Initializers initializers(document.root());
    if (event.type == store::EventType::kDeleted || !initializers.result().is_null()) {
      if (!initializers.result().is_null()) {
        // The result outlives the document: it is copied into a status.
        return base::Result<Outcome>(FailureOf(op_, initializers.result()));
      }
      return base::Result<Outcome>(
          base::InternalError("object deleted while waiting for creation"));
    }
    if (initializers.present()) return std::nullopt;
    return Done(event.object);
  }

  // In the version of the request.
  base::Result<Outcome> Done(store::ObjectPtr stored) {
    outcome_.code = 201;
    outcome_.object = TRY(FromStore(op_, stored));
    outcome_.stored = std::move(stored);
    return std::move(outcome_);
  }

  void Wake() {
    const base::MutexLock lock(mutex_);
    is_ready_ = true;
    ready_.NotifyOne();
  }

  bool IsEnding() const { return op_.world.ending != nullptr && *op_.world.ending; }

  // Until there is an event, or the time has come.
  void Sleep(base::SteadyTime until) {
    const base::MutexLock lock(mutex_);
    while (!is_ready_ && ready_.WaitUntil(mutex_, until)) {
    }
    is_ready_ = false;
  }

  Operation& op_;
  Outcome outcome_;
  base::Mutex mutex_;
  base::CondVar ready_;
  bool is_ready_ PC_GUARDED_BY(mutex_) = false;
};

bool IsPod(const Operation& op) { return op.group_resource() == api::GroupResource{"", "pods"}; }

}  // namespace

bool IsBeingInitialized(const Operation& op, json::Value object) {
  return op.world.initializers && Initializers(object).present();
}

bool HasFailedInitialization(const Operation& op, json::Value object) {
  return op.world.initializers && !Initializers(object).result().is_null();
}

base::Result<Outcome> AwaitInitialization(Operation& op, Outcome created) {
  Initialization initialization(op, std::move(created));
  return initialization.Await();
}

void CheckInitialization(const Operation& op, json::Value object, json::Value old,
                         api::FieldErrors& errors) {
  if (!op.world.initializers) return;
  registry::CheckInitializers(object, *op.world.release, errors);
  if (!old.is_null()) registry::CheckInitializersUpdate(object, old, errors);
}

bool JudgesAsNew(const Operation& op, json::Value old, api::FieldErrors& errors) {
  if (!IsBeingInitialized(op, old) || !IsPod(op) || Initializers(old).pending().empty())
    return false;
  if (op.world.release->Has("InitializersFreezePods")) return false;
  if (op.subresource_name() == "status") {
    errors.push_back(api::Forbidden(api::FieldPath("status"),
                                    "must not update status when the object is uninitialized"));
  }
  return op.subresource == nullptr;
}

}  // namespace portcullis::engine
