// SPDX-License-Identifier: Apache-2.0

// What the parts of expressions that refuse came to: `object.spec.replicas = 7`. Such an expression is
// evaluated once more, with its parts shown; others are not.
//
// Confined to the thread that judges.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube_cel/evaluation.h"

namespace portcullis::offline {

class ExpressionValues final : public kube_cel::Watch {
 public:
  using Values = std::vector<std::pair<std::string, std::string>>;

  void Evaluated(const kube_cel::Owner& owner, const kube_cel::Expression& expression,
                 cel::Value value, const cel::Activation& activation, json::Arena& arena) override;

  // The parts of the policy's expression, in the order of evaluation, with their last values; empty if
  // it has not been false and has not failed. `text` is compared without the spaces around it.
  Values Of(std::string_view policy, std::string_view text) const;

 private:
  std::map<std::pair<std::string, std::string>, Values> values_;  // by policy and expression
};

}  // namespace portcullis::offline
