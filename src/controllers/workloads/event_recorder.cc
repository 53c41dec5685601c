// SPDX-License-Identifier: Apache-2.0

#include "controllers/workloads/event_recorder.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <utility>

#include "base/random.h"
#include "base/strings.h"
#include "engine/operation.h"

namespace portcullis::controllers::workloads {
namespace {

using namespace std::chrono_literals;
using json::Value;

const api::GroupVersionResource kEvents{"", "v1", "events"};
constexpr std::size_t kTextsBeforeCombining = 10;
constexpr base::Duration kSimilarFor = 10min;
constexpr double kBudget = 25;
constexpr double kBudgetPerSecond = 1.0 / 300;
constexpr std::string_view kCombined = "(combined from similar events): ";
constexpr std::size_t kLongestName = 253;

Value ReferenceTo(json::Arena& arena, Value object) {
  const Value metadata = object["metadata"];
  json::ObjectBuilder reference(arena);
  reference.Set("kind", object["kind"]).Set("namespace", metadata["namespace"]);
  reference.Set("name", metadata["name"]).Set("uid", metadata["uid"]);
  reference.Set("apiVersion", object["apiVersion"]);
  reference.Set("resourceVersion", metadata["resourceVersion"]);
  return reference.Build();
}

}  // namespace

void EventRecorder::Record(Value object, std::string_view type, std::string_view reason,
                           std::string_view message) {
  const Value metadata = object["metadata"];
  const std::string about =
      base::StrCat(object["kind"].AsString(), "\n", metadata["uid"].AsString(), "\n",
                   metadata["name"].AsString(), "\n", type, "\n");
  const std::string of_reason = base::StrCat("reason\n", about, reason, "\n");
  const bool combined = IsCombined(of_reason, message);
  const std::string text = base::StrCat(combined ? kCombined : "", message);
  // Events that are combined are one, whatever they say.
  Memory& event =
      Find(base::StrCat("event\n", about, reason, "\n", combined ? std::string_view() : text));
  const std::string now = base::FormatTime(clock_.Now());
  if (event.count++ == 0) {
    event.name = NameOf(metadata["name"].AsString());
    event.first_time = now;
  }
  json::Arena arena;
  json::ObjectBuilder written(arena);
  written.Set("count", event.count)
      .Set("lastTimestamp", now)
      .Set("message", std::string_view(text));
  const std::string name = event.name;
  const std::string first_time = event.first_time;
  const bool again = event.count > 1;
  if (!MaySpend(base::StrCat("budget\n", about))) return;
  const Value changes = written.Build();
  if (again) {
    const auto patched = client_.Do({.verb = engine::Verb::kPatch,
                                     .resource = kEvents,
                                     .ns = metadata["namespace"].AsString(),
                                     .name = name,
                                     .body = changes,
                                     .patch = engine::PatchType::kStrategic});
    // It may have expired.
    if (patched.ok() || patched.status().reason() != base::Reason::kNotFound) return;
  }
  json::ObjectBuilder whole(arena, changes);
  whole.Set("metadata", json::ObjectBuilder(arena)
                            .Set("name", std::string_view(name))
                            .Set("namespace", metadata["namespace"])
                            .Build());
  whole.Set("firstTimestamp", std::string_view(first_time));
  whole.Set("type", type).Set("reason", reason);
  // An Event that stands for several does not name the reporting controller.
  whole.Set("reportingComponent", combined ? std::string_view() : component_);
  Create(arena, object, whole.Build());
}

void EventRecorder::Create(json::Arena& arena, Value object, Value event) {
  json::ObjectBuilder whole(arena, event);
  whole.Set("kind", "Event").Set("apiVersion", "v1");
  whole.Set("involvedObject", ReferenceTo(arena, object));
  whole.Set("source", json::ObjectBuilder(arena).Set("component", component_).Build());
  whole.Set("reportingInstance", "");
  // An initializer may wait for it; the controller does not.
  static_cast<void>(client_.Do({.verb = engine::Verb::kCreate,
                                .resource = kEvents,
                                .ns = object["metadata"]["namespace"].AsString(),
                                .body = whole.Build(),
                                .include_uninitialized = true}));
}

// Whether the text is the tenth or a later one of its reason within ten minutes.
bool EventRecorder::IsCombined(std::string key, std::string_view message) {
  Memory& reason = Find(std::move(key));
  const base::SteadyTime now = clock_.Steady();
  if (now - reason.last > kSimilarFor) reason.texts.clear();
  reason.last = now;
  if (std::find(reason.texts.begin(), reason.texts.end(), message) == reason.texts.end()) {
    reason.texts.emplace_back(message);
  }
  if (reason.texts.size() < kTextsBeforeCombining) return false;
  reason.texts.erase(reason.texts.begin());
  return true;
}

bool EventRecorder::MaySpend(std::string key) {
  Memory& type = Find(std::move(key));
  const base::SteadyTime now = clock_.Steady();
  if (!std::exchange(type.has_budget, true)) {
    type.budget = kBudget;
  } else {
    const std::chrono::duration<double> gone = now - type.last;
    type.budget = std::min(kBudget, type.budget + gone.count() * kBudgetPerSecond);
  }
  type.last = now;
  if (type.budget < 1) return false;
  type.budget -= 1;
  return true;
}

// "web.18b2f0c1d2e3f405": the object's name and the time in nanoseconds, no two of them the same.
std::string EventRecorder::NameOf(std::string_view object) {
  const std::int64_t now =
      std::chrono::duration_cast<std::chrono::nanoseconds>(clock_.Now().time_since_epoch()).count();
  last_number_ = std::max(now, last_number_ + 1);
  std::array<char, 16> digits;
  const auto end =
      std::to_chars(digits.data(), digits.data() + digits.size(), last_number_, 16).ptr;
  std::string name = base::StrCat(
      object, ".", std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data())));
  return name.size() <= kLongestName ? name : base::Uuid();
}

EventRecorder::Memory& EventRecorder::Find(std::string key) {
  const auto found = memories_.find(key);
  if (found == memories_.end() && memories_.size() >= kMostRemembered) {
    memories_.erase(std::min_element(
        memories_.begin(), memories_.end(),
        [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
  }
  Memory& memory = found != memories_.end() ? found->second : memories_[std::move(key)];
  memory.used = ++uses_;
  return memory;
}

}  // namespace portcullis::controllers::workloads
