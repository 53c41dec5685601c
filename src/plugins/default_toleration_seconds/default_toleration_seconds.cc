// SPDX-License-Identifier: Apache-2.0

#include "plugins/default_toleration_seconds/default_toleration_seconds.h"

#include <array>
#include <cstdint>

#include "plugins/common/make.h"

namespace portcullis::plugins::default_toleration_seconds {
namespace {

bool Tolerates(json::Value tolerations, std::string_view taint) {
  for (const json::Value& toleration : tolerations.elements()) {
    std::string_view key = toleration["key"].AsString();
    std::string_view effect = toleration["effect"].AsString();
    if ((key == taint || key.empty()) && (effect == "NoExecute" || effect.empty())) return true;
  }
  return false;
}

json::Value MakeToleration(json::Arena& arena, std::string_view taint, std::int64_t seconds) {
  return json::MakeObject(arena, {{"key", json::Value::StringView(taint)},
                                  {"operator", json::Value::StringView("Exists")},
                                  {"effect", json::Value::StringView("NoExecute")},
                                  {"tolerationSeconds", json::Value::Int(seconds)}});
}

// A taint that pods tolerate for some time.
struct Wanted {
  std::string_view taint;
  std::int64_t seconds;
};

class DefaultTolerationSeconds final : public admission::Plugin {
 public:
  explicit DefaultTolerationSeconds(const admission::PluginContext& context)
      : defaults_{
            Wanted{"node.kubernetes.io/not-ready", context.default_not_ready_toleration_seconds},
            Wanted{"node.kubernetes.io/unreachable",
                   context.default_unreachable_toleration_seconds}} {}

  base::Status Mutate(admission::Request& request) const override {
    if (!request.Is("", "pods")) return base::OkStatus();
    json::Arena& arena = request.arena();
    const json::Value before = request.object()["spec"]["tolerations"];
    json::Value tolerations = before;
    for (const Wanted& wanted : defaults_) {
      if (Tolerates(before, wanted.taint)) continue;
      tolerations =
          json::Append(arena, tolerations, MakeToleration(arena, wanted.taint, wanted.seconds));
    }
    if (tolerations.size() != before.size()) {
      request.set_object(
          json::SetPath(arena, request.object(), {"spec", "tolerations"}, tolerations));
    }
    return base::OkStatus();
  }

 private:
  std::array<Wanted, 2> defaults_;
};

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "DefaultTolerationSeconds",
    .summary = "pods tolerate nodes that are not ready or unreachable for a while",
    .phases = admission::kMutate,
    .operations = admission::kCreate | admission::kUpdate,
    .resources = "pods",
    .by_default = admission::Default::kOn,
    .create = &common::Make<DefaultTolerationSeconds>,
    .configuration =
        "flags --default-not-ready-toleration-seconds, --default-unreachable-toleration-seconds",
};

}  // namespace portcullis::plugins::default_toleration_seconds
