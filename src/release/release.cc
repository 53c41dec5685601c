// SPDX-License-Identifier: Apache-2.0

#include "release/release.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "release/embedded_data.h"
#include "release/served_resources.h"

namespace portcullis::release {
namespace {

constexpr std::string_view kAllAlpha = "AllAlpha";
constexpr std::string_view kAllBeta = "AllBeta";

// 36 of "1.36".
int MinorOf(std::string_view release) {
  const auto cut = base::Cut(release, ".");
  return cut ? static_cast<int>(base::ParseInt(cut->second).value_or(0)) : 0;
}

// Stages as the metrics of Kubernetes name them.
std::string_view StageText(std::string_view stage) {
  if (stage == "Alpha") return "ALPHA";
  if (stage == "Beta") return "BETA";
  return stage == "Deprecated" ? "DEPRECATED" : "";
}

// Calls fn(part) for each part of the text between separators, as long as it returns true.
template <typename Fn>
void ForEachPart(std::string_view text, char separator, Fn&& fn) {
  while (true) {
    const std::size_t end = text.find(separator);
    if (!fn(text.substr(0, end)) || end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

std::map<std::string_view, ServedResource> ServedResources() {
  std::map<std::string_view, ServedResource> resources;
  for (const std::string_view line : base::Split(EmbeddedServedResources(), '\n')) {
    const std::vector<std::string_view> parts = base::Split(line, ' ');
    if (parts.size() < 2 || line.starts_with('#')) continue;
    const auto span = base::Cut(parts[1], "-");
    resources[parts[0]] = {.since_minor = MinorOf(span ? span->first : parts[1]),
                           .until_minor = span ? MinorOf(span->second) : 0,
                           .gate = parts.size() > 2 ? parts[2] : std::string_view()};
  }
  return resources;
}

std::string_view EmulatedStorageVersion(const std::map<std::string_view, ServedResource>& resources,
                                        std::string_view group, std::string_view version,
                                        std::string_view resource, int minor) {
  constexpr int kOldestCompatible = 33;
  const int compatible = std::max(minor - 1, kOldestCompatible);
  const auto newest = resources.find(base::StrCat(group, "/", version, "/", resource));
  // What is not GA is stored as v1.36 says, whatever it emulates.
  if (minor < kOldestCompatible || version.find_first_of("ab") != version.npos ||
      newest == resources.end() || newest->second.since_minor <= compatible) {
    return {};
  }
  std::string_view found;
  int found_since = 0;
  for (const auto& [name, releases] : resources) {
    const std::vector<std::string_view> parts = base::Split(name, '/');
    if (parts[0] != group || parts[2] != resource || releases.since_minor > compatible ||
        releases.since_minor <= found_since) {
      continue;
    }
    found = parts[1];
    found_since = releases.since_minor;
  }
  return found;
}

Release::Release(int legacy_minor, GateSettings given)
    : legacy_minor_(legacy_minor),
      minor_(legacy_minor < kOldestMinor ? kNewestMinor : legacy_minor),
      given_(std::move(given)),
      gates_{{kAllAlpha, {"Alpha", false, false}}, {kAllBeta, {"Beta", false, false}}} {
  ReadGates();
  ReadFacts();
}

// Lines of `<name> <release>:<stage>:<default>[:locked] …`: the newest change that the release has
// counts; a gate without one is younger. One that ends with `<release>:Removed` belongs to a legacy
// mechanism.
void Release::ReadGates() {
  ForEachPart(EmbeddedFeatureGates(), '\n', [this](std::string_view line) {
    const auto cut = base::Cut(line, " ");
    if (!cut || line.starts_with('#')) return true;
    const int minor = cut->second.ends_with(":Removed") ? legacy_minor_ : minor_;
    ForEachPart(cut->second, ' ', [&](std::string_view change) {
      std::array<std::string_view, 4> parts;
      std::size_t count = 0;
      ForEachPart(change, ':', [&](std::string_view part) {
        parts[count++] = part;
        return count < parts.size();
      });
      if (count < 2 || MinorOf(parts[0]) > minor) return false;
      if (parts[1] == "Removed") {
        gates_.erase(cut->first);
        return false;
      }
      gates_.insert_or_assign(gates_.end(), cut->first,
                              Gate{parts[1], parts[2] == "true", count > 3});
      return true;
    });
    return true;
  });
}

// Lines of `<name> <first release>[-<last release>]`. What ended before v1.29 is a legacy mechanism's.
void Release::ReadFacts() {
  for (const std::string_view line : base::Split(EmbeddedBehaviorFacts(), '\n')) {
    const auto cut = base::Cut(line, " ");
    if (!cut || line.starts_with('#')) continue;
    const auto range = base::Cut(cut->second, "-");
    const int first = MinorOf(range ? range->first : cut->second);
    const int last = range ? MinorOf(range->second) : kNewestMinor;
    const int minor = last < kOldestMinor ? legacy_minor_ : minor_;
    facts_[cut->first] = minor >= first && minor <= last;
  }
}

base::Result<Release> Release::Open(std::string_view version, GateSettings gates) {
  std::string_view text = version;
  if (text.starts_with('v')) text.remove_prefix(1);
  const std::vector<std::string_view> parts = base::Split(text, '.');
  const auto minor = parts.size() >= 2 && parts[0] == "1" ? base::ParseInt(parts[1]) : std::nullopt;
  if (!minor || *minor < kOldestLegacyMinor || *minor > kNewestMinor) {
    return base::ConfigError(base::StrCat("invalid Kubernetes version \"", version,
                                          "\": must be 1.", std::to_string(kOldestLegacyMinor),
                                          " to 1.", std::to_string(kNewestMinor)));
  }
  return Release(static_cast<int>(*minor), std::move(gates));
}

const Release& Release::Newest() {
  static const Release kNewest(kNewestMinor, {});
  return kNewest;
}

std::string Release::version() const { return base::StrCat("1.", std::to_string(minor_)); }

bool Release::GateEnabled(std::string_view name) const {
  if (const auto given = given_.find(name); given != given_.end()) return given->second;
  const auto gate = gates_.find(name);
  if (gate == gates_.end()) return false;
  const std::string_view stage = gate->second.stage;
  const bool is_special = name == kAllAlpha || name == kAllBeta;
  if (!is_special && (stage == "Alpha" || stage == "Beta")) {
    const auto all = given_.find(stage == "Alpha" ? kAllAlpha : kAllBeta);
    if (all != given_.end()) return all->second;
  }
  return gate->second.enabled;
}

std::vector<FeatureGate> Release::gates() const {
  std::vector<FeatureGate> list;
  list.reserve(gates_.size());
  for (const auto& [name, gate] : gates_) {
    list.push_back({name, StageText(gate.stage), GateEnabled(name)});
  }
  return list;
}

std::vector<std::string> Release::Problems() const {
  std::vector<std::string_view> names;
  names.reserve(gates_.size());
  for (const auto& [name, gate] : gates_) names.push_back(name);
  std::vector<std::string> problems;
  for (const auto& [name, enabled] : given_) {
    const auto gate = gates_.find(name);
    if (gate == gates_.end()) {
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

bool Release::Has(std::string_view fact) const {
  const auto found = facts_.find(fact);
  if (found == facts_.end()) {
    std::fprintf(stderr, "data/behavior.facts has no %s\n", std::string(fact).c_str());
    std::abort();
  }
  return found->second;
}

}  // namespace portcullis::release
