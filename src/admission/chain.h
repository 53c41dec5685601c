// SPDX-License-Identifier: Apache-2.0

// Chain: the ordered list of plugins and how a request walks through it.
//
//   auto chain = TRY(Chain::Create(TRY(SelectPlugins(flags, registered)), configs, context));
//   TRY(chain->Mutate(request));      // then strategy and validation, then
//   TRY(chain->Validate(request2));
//
// Each phase asks the plugins that handle the operation and take part in the phase, in order, and
// stops at the first error. After the mutating pass, if a webhook or policy has asked for it, the
// whole pass runs exactly once more. In releases that have one phase (v1.7, v1.8; docs/legacy.md)
// Mutate() lets every plugin change and judge the request in its turn, and Validate() does nothing.
// Immutable after construction.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "admission/asks_outside.h"
#include "admission/config.h"
#include "admission/plugin.h"

namespace portcullis::admission {

// Called at every step of every request, on its thread; metrics are observers.
// Traces (trace/trace.h) are of single requests and are reached through their recorders.
class ChainObserver {
 public:
  virtual ~ChainObserver() = default;
  // One plugin was asked.
  virtual void OnPlugin(const Request& request, const PluginInfo& plugin, Phase phase,
                        const base::Status& outcome, std::chrono::nanoseconds took) = 0;
  // One phase is over; both passes of a reinvocation count as one.
  virtual void OnPhase(const Request& request, Phase phase, const base::Status& outcome,
                       std::chrono::nanoseconds took) = 0;
};

class Chain {
 public:
  // Makes every plugin, in the order given. `context` is copied for each with its name and
  // configuration. Errors: `couldn't init admission plugin "<name>": <error>`.
  static base::Result<std::unique_ptr<Chain>> Create(std::span<const PluginInfo* const> plugins,
                                                     const PluginConfigs& configs,
                                                     const PluginContext& context);

  // `observer` outlives the chain. Before the first request only.
  void AddObserver(ChainObserver* observer) { observers_.push_back(observer); }

  // `only`: the plugin that is asked alone; "": all.
  base::Status Mutate(Request& request, std::string_view only = {}) const;
  base::Status Validate(const Request& request, std::string_view only = {}) const;

  // What plugins may wait for, at most; see AsksOutside.
  Waits WaitsOf(const Request& request) const;

  // Whether any plugin takes part.
  bool Handles(Operation operation, Phase phase) const;

  // The plugins that are asked in that phase about one of the operations, in their order.
  std::vector<const PluginInfo*> Asked(Operations operations, Phase phase) const;

  // `Loaded 2 mutating admission controller(s) successfully in the following order: A,B.`
  std::string LoadedLine(Phase phase) const;

  // The plugin of that name, or null.
  const Plugin* Find(std::string_view name) const;

 private:
  struct Entry {
    const PluginInfo* info;
    std::unique_ptr<Plugin> plugin;
    const AsksOutside* asks_outside;  // the plugin, if it is one; else null
    Operations operations = 0;
    // What is asked of it when each phase runs.
    Phases in_mutating = 0;
    Phases in_validating = 0;

    Phases AskedIn(Operation operation, Phase phase) const {
      if ((operations & operation) == 0) return 0;
      return phase == kMutate ? in_mutating : in_validating;
    }
  };
  Chain() = default;
  base::Status MutateOnce(Request& request, std::string_view only) const;
  // `ask` calls the plugin.
  template <typename Ask>
  base::Status AskEach(const Request& request, Phase phase, std::string_view only,
                       const Ask& ask) const;

  std::vector<Entry> entries_;
  std::vector<ChainObserver*> observers_;
};

// The stable histograms apiserver_admission_controller_… and …_step_admission_duration_seconds, and
// the step summary, for these plugins. `registry` outlives it.
std::unique_ptr<ChainObserver> MakeMetricsObserver(metrics::Registry& registry,
                                                   std::span<const PluginInfo* const> plugins);

}  // namespace portcullis::admission
