#include "engine/feature_gates.h"

#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/strings.h"
#include "engine/codec/embedded_fields.h"

namespace portcullis::engine {
namespace {

constexpr std::string_view kAllAlpha = "AllAlpha";
constexpr std::string_view kAllBeta = "AllBeta";

// A gate in one release.
struct Gate {
  std::string_view stage;  // Alpha, Beta, GA, Deprecated
  bool enabled = false;    // by default
  bool is_locked = false;
};

// 36 of "1.36" and "v1.36.2"; the newest if the text is no release, which is refused elsewhere.
int MinorOf(std::string_view version) {
  const auto cut = base::Cut(version, ".");
  if (!cut) return 36;
  const auto end = base::Cut(cut->second, ".");
  return static_cast<int>(base::ParseInt(end ? end->first : cut->second).value_or(36));
}

// The newest of `<release>:<stage>:<default>[:locked] …` that the release has; nothing if the gate
// is younger.
std::optional<Gate> InRelease(std::string_view changes, int minor) {
  std::optional<Gate> gate;
  for (const std::string_view change : base::Split(changes, ' ')) {
    const auto parts = base::Split(change, ':');
    if (parts.size() < 3 || MinorOf(parts[0]) > minor) break;
    gate = Gate{parts[1], parts[2] == "true", parts.size() > 3};
  }
  return gate;
}

using Gates = std::map<std::string_view, Gate>;

Gates GatesOf(std::string_view release) {
  const int minor = MinorOf(release);
  Gates gates = {{kAllAlpha, {"Alpha", false, false}}, {kAllBeta, {"Beta", false, false}}};
  for (const std::string_view line : base::Split(EmbeddedFeatureGates(), '\n')) {
    const auto cut = base::Cut(line, " ");
    if (!cut || line.starts_with('#')) continue;
    if (const auto gate = InRelease(cut->second, minor)) gates.emplace(cut->first, *gate);
  }
  return gates;
}

// Stages as the metrics of Kubernetes name them.
std::string_view StageText(std::string_view stage) {
  if (stage == "Alpha") return "ALPHA";
  if (stage == "Beta") return "BETA";
  return stage == "Deprecated" ? "DEPRECATED" : "";
}

class OptionGates final : public admission::FeatureGates {
 public:
  OptionGates(std::map<std::string, bool> given, std::string_view version)
      : given_(std::move(given)), gates_(GatesOf(version)) {}

  bool Enabled(std::string_view name) const override {
    if (const auto given = Given(name)) return *given;
    const auto gate = gates_.find(name);
    if (gate == gates_.end()) return false;
    const std::string_view stage = gate->second.stage;
    const bool is_special = name == kAllAlpha || name == kAllBeta;
    if (!is_special && (stage == "Alpha" || stage == "Beta")) {
      if (const auto all = Given(stage == "Alpha" ? kAllAlpha : kAllBeta)) return *all;
    }
    return gate->second.enabled;
  }

 private:
  std::optional<bool> Given(std::string_view name) const {
    const auto given = given_.find(std::string(name));
    if (given == given_.end()) return std::nullopt;
    return given->second;
  }

  const std::map<std::string, bool> given_;
  const Gates gates_;
};

}  // namespace

std::unique_ptr<admission::FeatureGates> MakeFeatureGates(std::map<std::string, bool> given,
                                                          std::string_view version) {
  return std::make_unique<OptionGates>(std::move(given), version);
}

std::vector<FeatureGate> ListFeatureGates(const std::map<std::string, bool>& given,
                                          std::string_view version) {
  const OptionGates switches(given, version);
  std::vector<FeatureGate> list;
  for (const auto& [name, gate] : GatesOf(version)) {
    list.push_back({name, StageText(gate.stage), switches.Enabled(name)});
  }
  return list;
}

std::vector<std::string> CheckFeatureGates(const std::map<std::string, bool>& given,
                                           std::string_view version) {
  const Gates gates = GatesOf(version);
  std::vector<std::string_view> names;
  for (const auto& [name, gate] : gates) names.push_back(name);
  std::vector<std::string> problems;
  for (const auto& [name, enabled] : given) {
    const auto gate = gates.find(name);
    if (gate == gates.end()) {
      const std::string_view near = base::Nearest(name, names);
      problems.push_back(
          base::StrCat("unrecognized feature gate: ", name,
                       near.empty() ? std::string() : base::StrCat(" (did you mean ", near, "?)")));
    } else if (gate->second.is_locked && gate->second.enabled != enabled) {
      const std::string_view locked = gate->second.enabled ? "true" : "false";
      problems.push_back(base::StrCat("cannot set feature gate ", name, " to ",
                                      enabled ? "true" : "false", ", feature is locked to ",
                                      locked));
    }
  }
  return problems;
}

}  // namespace portcullis::engine
