// SPDX-License-Identifier: Apache-2.0

// What the cases of test files reach of policies: rules that match, expressions that are evaluated,
// conditions that hold and that do not, and likewise both sides of each `&&`, `||` and `?:`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cel/environment.h"
#include "kube_cel/evaluation.h"
#include "offline/inputs.h"

namespace portcullis::offline {

// Something of a policy that cases can reach.
struct CoveragePoint {
  std::string path;  // "validations[0].expression"
  std::string text;  // of the expression, or of the part of it that decides; "" for rules
  Location place;
  bool decides = false;    // it is to hold once and not to hold once; else to be reached
  std::size_t hits = 0;    // of a rule: requests that it has matched
  std::size_t held = 0;    // how often it was true
  std::size_t failed = 0;  // how often it was false

  std::size_t goals() const { return decides ? 2 : 1; }
  std::size_t reached() const {
    if (!decides) return hits > 0 ? 1 : 0;
    return (held > 0 ? 1U : 0U) + (failed > 0 ? 1U : 0U);
  }
};

struct PolicyCoverage {
  Location place;
  std::string kind;
  std::string name;
  std::vector<CoveragePoint> points;

  std::size_t goals() const;
  std::size_t reached() const;
};

// A request that was judged, as resource rules name it.
struct CoveredRequest {
  std::string operation;  // "CREATE"
  std::string group;
  std::string version;
  std::string resource;  // "pods", "pods/exec"
  auto operator<=>(const CoveredRequest&) const = default;
};

// Counts during the cases of one cluster. Confined to the thread that judges them.
class CoverageCounter final : public kube_cel::Watch {
 public:
  CoverageCounter() = default;

  void Evaluated(const kube_cel::Owner& owner, const kube_cel::Expression& expression,
                 cel::Value value, const cel::Activation& activation, json::Arena& arena) override;
  // The rules of the policy match the request.
  void Matched(std::string_view kind, std::string_view policy, const CoveredRequest& request);

  // What was reached of the policy. Its points depend on the policy alone.
  PolicyCoverage Of(const Manifest& policy) const;

 private:
  struct Count {
    std::size_t hits = 0;
    std::size_t held = 0;
    std::size_t failed = 0;
    void Add(cel::Value value);
  };
  // Expressions and the parts of them that decide, by their texts.
  struct Reached {
    std::map<std::string, Count, std::less<>> expressions;
    std::map<std::pair<std::string, std::string>, Count> parts;
    std::map<CoveredRequest, std::size_t> requests;
  };
  // An expression compiled so that its parts show, and the texts of those that decide by their ids.
  struct Traced {
    std::shared_ptr<const cel::Environment> environment;  // keeps its place in traced_
    cel::Compilation compilation;
    std::map<std::int32_t, std::string> parts;
  };
  class PartCounter;
  using PolicyKey = std::pair<std::string, std::string>;  // kind and name

  const Traced& TracedOf(const kube_cel::Expression& expression);

  std::map<PolicyKey, Reached> policies_;
  std::map<std::pair<const cel::Environment*, std::string>, Traced> traced_;
};

// Adds up what several clusters have reached of the same policies; those of one place are the same.
void MergeCoverage(std::vector<PolicyCoverage>& into, std::vector<PolicyCoverage> more);

}  // namespace portcullis::offline
