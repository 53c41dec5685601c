// SPDX-License-Identifier: Apache-2.0

// The chain observer that feeds the duration metrics. Metrics are looked up once, when first used:
// afterwards an observation is two array accesses and a few atomic additions.
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <vector>

#include "admission/chain.h"
#include "metrics/apiserver_metrics.h"

namespace portcullis::admission {
namespace {

// One slot per phase, operation and outcome.
constexpr std::size_t kSlots = 16;

std::size_t SlotOf(Operation operation, Phase phase, bool rejected) {
  const std::size_t op = operation == kCreate   ? 0
                         : operation == kUpdate ? 1
                         : operation == kDelete ? 2
                                                : 3;
  return op * 4 + (phase == kMutate ? 0U : 2U) + (rejected ? 1U : 0U);
}

template <typename Metric>
using Slots = std::array<std::atomic<Metric*>, kSlots>;

class MetricsObserver final : public ChainObserver {
 public:
  MetricsObserver(metrics::Registry& registry, std::span<const PluginInfo* const> plugins)
      : metrics_(registry), plugins_(std::bit_ceil(2 * plugins.size() + 1)) {
    for (const PluginInfo* plugin : plugins) PlaceOf(plugin).info = plugin;
  }

  void OnPlugin(const Request& request, const PluginInfo& plugin, Phase phase,
                const base::Status& outcome, std::chrono::nanoseconds took) override {
    OfPlugin& own = PlaceOf(&plugin);
    if (own.info == nullptr) return;
    const bool rejected = !outcome.ok();
    auto& slot = own.slots[SlotOf(request.operation(), phase, rejected)];
    metrics::Histogram* histogram = slot.load(std::memory_order_acquire);
    if (histogram == nullptr) {
      histogram = &metrics_.controller_duration.With({plugin.name, TypeText(phase),
                                                      OperationText(request.operation()),
                                                      RejectedText(rejected)});
      slot.store(histogram, std::memory_order_release);
    }
    histogram->Observe(Seconds(took));
  }

  void OnPhase(const Request& request, Phase phase, const base::Status& outcome,
               std::chrono::nanoseconds took) override {
    const bool rejected = !outcome.ok();
    const std::size_t index = SlotOf(request.operation(), phase, rejected);
    metrics::Histogram* histogram = steps_[index].load(std::memory_order_acquire);
    if (histogram == nullptr) {
      const std::initializer_list<std::string_view> labels = {
          TypeText(phase), OperationText(request.operation()), RejectedText(rejected)};
      summaries_[index].store(&metrics_.step_duration_summary.With(labels));
      histogram = &metrics_.step_duration.With(labels);
      steps_[index].store(histogram, std::memory_order_release);
    }
    histogram->Observe(Seconds(took));
    summaries_[index].load()->Observe(Seconds(took));
  }

 private:
  struct OfPlugin {
    const PluginInfo* info = nullptr;
    Slots<metrics::Histogram> slots{};
  };

  // Where the plugin is or would be: the first such place from one that its address tells. Each create asks
  // thirty times, so that the remainder by the prime of a standard table would be a hundredth of its time.
  OfPlugin& PlaceOf(const PluginInfo* plugin) {
    std::size_t at = reinterpret_cast<std::uintptr_t>(plugin) / sizeof(PluginInfo);
    while (true) {
      OfPlugin& place = plugins_[at++ & (plugins_.size() - 1)];
      if (place.info == plugin || place.info == nullptr) return place;
    }
  }

  static std::string_view TypeText(Phase phase) { return phase == kMutate ? "admit" : "validate"; }
  static std::string_view RejectedText(bool rejected) { return rejected ? "true" : "false"; }
  static double Seconds(std::chrono::nanoseconds took) {
    return std::chrono::duration<double>(took).count();
  }

  metrics::AdmissionMetrics metrics_;
  Slots<metrics::Histogram> steps_{};
  Slots<metrics::Summary> summaries_{};
  std::vector<OfPlugin> plugins_;  // a power of two, at most half of them taken
};

}  // namespace

std::unique_ptr<ChainObserver> MakeMetricsObserver(metrics::Registry& registry,
                                                   std::span<const PluginInfo* const> plugins) {
  return std::make_unique<MetricsObserver>(registry, plugins);
}

}  // namespace portcullis::admission
