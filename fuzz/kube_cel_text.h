// SPDX-License-Identifier: Apache-2.0

// What the targets of kube_cel share: an expression of Kubernetes' environment, evaluated with the
// input as `object` (a string) within a budget.
#pragma once

#include <cstdlib>
#include <memory>
#include <string_view>

#include "kube_cel/compiler.h"
#include "kube_cel/evaluation.h"

namespace portcullis::fuzz {

class TextExpression {
 public:
  explicit TextExpression(std::string_view expression)
      : expression_(compiler_.Compile({}, expression, kube_cel::Expected::kBool)) {
    if (!expression_->ok()) std::abort();
  }
  // Aborts unless the result is true; an error is a result only if `may_fail`.
  void Check(std::string_view text, bool may_fail = false) const {
    json::Arena arena;
    kube_cel::Inputs inputs;
    inputs.Set(kube_cel::Input::kObject, cel::MakeString(arena, text));
    kube_cel::Evaluation evaluation(arena, inputs);
    kube_cel::Budget budget(kube_cel::kPolicyBudget);
    const kube_cel::Evaluated result = evaluation.Evaluate(*expression_, budget);
    if (result.ok() ? !result.value.is_true() : !may_fail) std::abort();
  }

 private:
  kube_cel::Compiler compiler_;
  std::shared_ptr<const kube_cel::Expression> expression_;
};

}  // namespace portcullis::fuzz
