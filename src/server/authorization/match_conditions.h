// SPDX-License-Identifier: Apache-2.0

// matchConditions of authorization webhooks: which questions a webhook is asked at all, in CEL over
// `request`, a SubjectAccessReviewSpec (k8s.io/apiserver/pkg/authorization/cel).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cel/environment.h"
#include "json/value.h"

namespace portcullis::server::authorization {

class MatchCondition {
 public:
  // An error's message is the detail of an Invalid error: `compilation failed: …`, `must evaluate
  // to bool but got int`.
  static base::Result<MatchCondition> Compile(std::string_view expression);

  const std::string& expression() const { return expression_; }
  const cel::Program& program() const { return *program_; }
  const cel::Environment& environment() const { return *environment_; }

 private:
  MatchCondition() = default;
  std::string expression_;
  std::shared_ptr<const cel::Environment> environment_;
  std::shared_ptr<const cel::Program> program_;
};

// Whether all are true; false as soon as one is, whatever others come to. An error if one fails and
// none is false. `spec` is ReviewSpec's.
base::Result<bool> Match(const std::vector<MatchCondition>& conditions, json::Arena& arena,
                         json::Value spec);

}  // namespace portcullis::server::authorization
