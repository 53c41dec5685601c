// SPDX-License-Identifier: Apache-2.0

// EventRecorder: writes Events about the owners of pods, as `kubectl describe` shows them, and
// counts what is said again instead of writing it anew (k8s.io/client-go/tools/record: EventRecorder
// and EventCorrelator, with their default limits).
//
// - What is said again of an object in the same words is one Event, whose count rises.
// - Of the same reason, the tenth text within ten minutes and those after it share one Event, whose
//   message starts with "(combined from similar events): ".
// - Of one type, an object gets 25 Events and after them one every five minutes; others are dropped.
//
// Used by one thread. An Event that cannot be written is dropped: nothing depends on it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "controllers/client.h"
#include "json/value.h"

namespace portcullis::controllers::workloads {

class EventRecorder {
 public:
  // `component`: the source of the Events, of static storage. Client and clock outlive the recorder.
  EventRecorder(Client& client, const base::Clock& clock, std::string_view component)
      : client_(client), clock_(clock), component_(component) {}

  // `type`: "Normal" or "Warning". `object` has its kind, apiVersion, name, namespace and uid.
  void Record(json::Value object, std::string_view type, std::string_view reason,
              std::string_view message);

  // Texts, reasons and objects that are remembered at most; of more, the one that was used least
  // recently is forgotten.
  static constexpr std::size_t kMostRemembered = 4096;

 private:
  // What is remembered under one key. A key has one of the three uses.
  struct Memory {
    std::uint64_t used = 0;
    // Of an Event that has been written.
    std::int64_t count = 0;
    std::string name;
    std::string first_time;
    // Of a reason: the texts within the last ten minutes.
    std::vector<std::string> texts;
    base::SteadyTime last{};
    // Of a type: how many Events may still be written.
    double budget = 0;
    bool has_budget = false;
  };

  Memory& Find(std::string key);
  bool IsCombined(std::string key, std::string_view message);
  bool MaySpend(std::string key);
  std::string NameOf(std::string_view object);
  void Create(json::Arena& arena, json::Value object, json::Value event);

  Client& client_;
  const base::Clock& clock_;
  const std::string_view component_;
  std::map<std::string, Memory> memories_;
  std::uint64_t uses_ = 0;
  std::int64_t last_number_ = 0;  // of an Event's name
};

}  // namespace portcullis::controllers::workloads
