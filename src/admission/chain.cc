// SPDX-License-Identifier: Apache-2.0

#include "admission/chain.h"

#include <algorithm>
#include <utility>

#include "admission/asks_outside.h"
#include "admission/survey.h"
#include "admission/trace/trace.h"
#include "base/clock.h"
#include "base/gotext.h"
#include "base/strings.h"

namespace portcullis::admission {
namespace {

base::SteadyTime Now() { return base::SystemClock().Steady(); }

std::size_t RefusalsOf(const Request& request) {
  const Survey* survey = request.recorder().survey();
  return survey == nullptr ? 0 : survey->refusals().size();
}

// Whether a refusal leaves the other plugins to be asked: in a survey, which keeps it.
bool GoesOn(const Request& request, const PluginInfo& plugin, const base::Status& refusal,
            std::size_t before) {
  Survey* const survey = request.recorder().survey();
  if (survey == nullptr) return false;
  survey->Add({TraceActor::Kind::kPlugin, std::string(plugin.name), {}, {}}, refusal, before);
  return true;
}

}  // namespace

base::Result<std::unique_ptr<Chain>> Chain::Create(std::span<const PluginInfo* const> plugins,
                                                   const PluginConfigs& configs,
                                                   const PluginContext& context) {
  std::unique_ptr<Chain> chain(new Chain);
  const bool has_one_phase = context.release->Has("AdmissionHasOnePhase");
  for (const PluginInfo* info : plugins) {
    PluginContext own = context;
    own.name = info->name;
    own.config = configs.For(info->name);
    auto plugin = info->create(own);
    if (!plugin.ok()) {
      const std::string place = configs.PlaceOf(info->name, plugin.status());
      base::Status bad = plugin.status().Annotate(
          base::StrCat("couldn't init admission plugin ", base::GoQuote(info->name)));
      return place.empty() ? bad : bad.Annotate(place);
    }
    const auto* asks_outside = dynamic_cast<const AsksOutside*>(plugin->get());
    Entry entry{info, std::move(plugin).value(), asks_outside};
    entry.operations = info->operations | (context.initializers ? info->with_initializers : 0);
    entry.in_mutating = has_one_phase ? info->phases : info->phases & kMutate;
    entry.in_validating = has_one_phase ? 0 : info->phases & kValidate;
    chain->entries_.push_back(std::move(entry));
  }
  return chain;
}

template <typename Ask>
base::Status Chain::AskEach(const Request& request, Phase phase, std::string_view only,
                            const Ask& ask) const {
  Trace* const trace = request.recorder().trace();
  auto start = Now();  // the end of one plugin is the start of the next
  for (const Entry& entry : entries_) {
    const Phases asked = entry.AskedIn(request.operation(), phase);
    if (asked == 0 || (!only.empty() && entry.info->name != only)) continue;
    if (trace != nullptr) trace->BeginPlugin(request, entry.info->name, phase);
    const std::size_t refusals = RefusalsOf(request);
    base::Status outcome = ask(*entry.plugin, asked);
    if (trace != nullptr) trace->EndPlugin(request, outcome);
    const auto end = Now();
    for (ChainObserver* observer : observers_) {
      observer->OnPlugin(request, *entry.info, phase, outcome, end - start);
    }
    start = end;
    if (!outcome.ok() && !GoesOn(request, *entry.info, outcome, refusals)) return outcome;
  }
  return base::OkStatus();
}

base::Status Chain::MutateOnce(Request& request, std::string_view only) const {
  return AskEach(request, kMutate, only, [&](const Plugin& plugin, Phases asked) {
    base::Status outcome;
    if ((asked & kMutate) != 0) outcome = plugin.Mutate(request);
    if (outcome.ok() && (asked & kValidate) != 0) outcome = plugin.Validate(request);
    return outcome;
  });
}

base::Status Chain::Mutate(Request& request, std::string_view only) const {
  const auto start = Now();
  base::Status outcome = MutateOnce(request, only);
  if (outcome.ok() && request.reinvocation().should_reinvoke()) {
    request.reinvocation().BeginSecondPass();
    outcome = MutateOnce(request, only);
  }
  const auto took = Now() - start;
  for (ChainObserver* observer : observers_) observer->OnPhase(request, kMutate, outcome, took);
  return outcome;
}

base::Status Chain::Validate(const Request& request, std::string_view only) const {
  const auto start = Now();
  base::Status outcome = AskEach(request, kValidate, only, [&](const Plugin& plugin, Phases) {
    return plugin.Validate(request);
  });
  const auto took = Now() - start;
  for (ChainObserver* observer : observers_) observer->OnPhase(request, kValidate, outcome, took);
  return outcome;
}

Waits Chain::WaitsOf(const Request& request) const {
  Waits most = Waits::kForNothing;
  for (const Entry& entry : entries_) {
    if (most == Waits::kOnThread) break;
    if (entry.asks_outside == nullptr || (entry.operations & request.operation()) == 0) {
      continue;
    }
    most = std::max(most, entry.asks_outside->WaitsOf(request));
  }
  return most;
}

bool Chain::Handles(Operation operation, Phase phase) const {
  for (const Entry& entry : entries_) {
    if (entry.AskedIn(operation, phase) != 0) return true;
  }
  return false;
}

std::vector<const PluginInfo*> Chain::Asked(Operations operations, Phase phase) const {
  std::vector<const PluginInfo*> asked;
  for (const Entry& entry : entries_) {
    const Phases phases = phase == kMutate ? entry.in_mutating : entry.in_validating;
    if (phases != 0 && (entry.operations & operations) != 0) asked.push_back(entry.info);
  }
  return asked;
}

std::string Chain::LoadedLine(Phase phase) const {
  std::vector<std::string_view> names;
  for (const Entry& entry : entries_) {
    if ((entry.info->phases & phase) != 0) names.push_back(entry.info->name);
  }
  return base::StrCat(
      "Loaded ", std::to_string(names.size()), phase == kMutate ? " mutating" : " validating",
      " admission controller(s) successfully in the following order: ", base::Join(names, ","),
      ".");
}

const Plugin* Chain::Find(std::string_view name) const {
  for (const Entry& entry : entries_) {
    if (entry.info->name == name) return entry.plugin.get();
  }
  return nullptr;
}

}  // namespace portcullis::admission
