// SPDX-License-Identifier: Apache-2.0

#include "plugins/limit_ranger/limit_ranger_constraints.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "api/quota/pod_resources.h"
#include "api/quota/resources.h"
#include "base/strings.h"

namespace portcullis::plugins::limit_ranger {
namespace {

using api::Quantity;
using api::quota::ReadResources;
using api::quota::Resources;

// The largest amount whose thousandths fit an int64.
constexpr std::int64_t kMaxForMilli = INT64_MAX / 1000;

// One resource of one constrained thing, brought to a common unit: thousandths where all three
// amounts fit, else whole ones.
struct Usage {
  std::string_view resource;
  std::string_view type;  // Container, Pod, PersistentVolumeClaim
  Quantity bound;
  std::optional<Quantity> request;
  std::optional<Quantity> limit;

  bool InMilli() const {
    return Fits(bound) && Fits(request.value_or(Quantity())) && Fits(limit.value_or(Quantity()));
  }
  std::int64_t Number(const Quantity& quantity) const {
    return InMilli() ? quantity.MilliValue() : quantity.Value();
  }
  // `minimum cpu usage per Pod is 1`
  std::string Rule(std::string_view kind) const {
    return base::StrCat(kind, " ", resource, " usage per ", type, " is ", bound.ToString());
  }

 private:
  static bool Fits(const Quantity& quantity) { return quantity.Value() <= kMaxForMilli; }
};

using Rule = std::string (*)(const Usage& usage);  // "" if the rule is kept

std::string BelowMinimum(const Usage& usage) {
  const std::string rule = usage.Rule("minimum");
  if (!usage.request) return rule + ".  No request is specified";
  const std::int64_t bound = usage.Number(usage.bound);
  if (usage.Number(*usage.request) < bound) {
    return base::StrCat(rule, ", but request is ", usage.request->ToString());
  }
  if (usage.limit && usage.Number(*usage.limit) < bound) {
    return base::StrCat(rule, ", but limit is ", usage.limit->ToString());
  }
  return {};
}

std::string AboveMaximum(const Usage& usage) {
  const std::string rule = usage.Rule("maximum");
  if (!usage.limit) return rule + ".  No limit is specified";
  const std::int64_t bound = usage.Number(usage.bound);
  if (usage.Number(*usage.limit) > bound) {
    return base::StrCat(rule, ", but limit is ", usage.limit->ToString());
  }
  if (usage.request && usage.Number(*usage.request) > bound) {
    return base::StrCat(rule, ", but request is ", usage.request->ToString());
  }
  return {};
}

// Claims have requests only.
std::string RequestAboveMaximum(const Usage& usage) {
  const std::string rule = usage.Rule("maximum");
  if (!usage.request) return rule + ".  No request is specified";
  if (usage.Number(*usage.request) > usage.Number(usage.bound)) {
    return base::StrCat(rule, ", but request is ", usage.request->ToString());
  }
  return {};
}

std::string AboveRatio(const Usage& usage) {
  const std::string rule = base::StrCat(usage.resource, " max limit to request ratio per ",
                                        usage.type, " is ", usage.bound.ToString());
  const std::int64_t request = usage.request ? usage.Number(*usage.request) : 0;
  const std::int64_t limit = usage.limit ? usage.Number(*usage.limit) : 0;
  if (request == 0) return rule + ", but no request is specified or request is 0";
  if (limit == 0) return rule + ", but no limit is specified or limit is 0";
  const double ratio = static_cast<double>(limit) / static_cast<double>(request);
  const double scale = usage.bound.Value() <= kMaxForMilli ? 1000 : 1;
  if (ratio * scale <= static_cast<double>(usage.Number(usage.bound))) return {};
  std::array<char, 400> text{};
  std::snprintf(text.data(), text.size(), "%f", ratio);
  return base::StrCat(rule, ", but provided ratio is ", text.data());
}

struct Constraint {
  std::string_view field;
  Rule rule;
};

std::optional<Quantity> Find(const Resources& resources, const std::string& name) {
  auto found = resources.find(name);
  if (found == resources.end()) return std::nullopt;
  return found->second;
}

void Check(json::Value item, const Resources& requests, const Resources& limits,
           std::initializer_list<Constraint> constraints, std::vector<std::string>& violations) {
  for (const Constraint& constraint : constraints) {
    for (const auto& [name, bound] : ReadResources(item[constraint.field])) {
      std::string violation = constraint.rule(
          {name, item["type"].AsString(), bound, Find(requests, name), Find(limits, name)});
      if (!violation.empty()) violations.push_back(std::move(violation));
    }
  }
}

constexpr Constraint kMin = {"min", &BelowMinimum};
constexpr Constraint kMax = {"max", &AboveMaximum};
constexpr Constraint kClaimMax = {"max", &RequestAboveMaximum};
constexpr Constraint kRatio = {"maxLimitRequestRatio", &AboveRatio};

}  // namespace

std::vector<std::string> PodViolations(json::Value limit_range, json::Value pod, bool pod_level) {
  std::vector<std::string> violations;
  for (const json::Value& item : limit_range["spec"]["limits"].elements()) {
    std::string_view type = item["type"].AsString();
    if (type == "Container") {
      for (std::string_view list : {"containers", "initContainers"}) {
        for (const json::Value& container : pod["spec"][list].elements()) {
          Check(item, ReadResources(container["resources"]["requests"]),
                ReadResources(container["resources"]["limits"]), {kMin, kMax, kRatio}, violations);
        }
      }
    } else if (type == "Pod") {
      const api::quota::PodResourceOptions options = {
          .pod_level = pod_level, .pod_level_huge_pages = false, .overhead = false};
      Check(item, api::quota::PodRequests(pod, options), api::quota::PodLimits(pod, options),
            {kMin, kMax, kRatio}, violations);
    }
  }
  return violations;
}

std::vector<std::string> ClaimViolations(json::Value limit_range, json::Value claim) {
  std::vector<std::string> violations;
  const Resources requests = ReadResources(claim["spec"]["resources"]["requests"]);
  for (const json::Value& item : limit_range["spec"]["limits"].elements()) {
    if (item["type"].AsString() != "PersistentVolumeClaim") continue;
    Check(item, requests, {}, {kMin, kClaimMax}, violations);
  }
  return violations;
}

}  // namespace portcullis::plugins::limit_ranger
