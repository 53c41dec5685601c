// SPDX-License-Identifier: Apache-2.0

// matchConditions: compiled once, evaluated within their own budget. Those of webhooks
// are admission/match/cel_conditions.h.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "admission/match/conditions.h"
#include "admission/request.h"
#include "base/clock.h"
#include "kube_cel/compiler.h"
#include "kube_cel/evaluation.h"
#include "metrics/apiserver_metrics.h"

namespace portcullis::policy {

// REQUIRES: `conditions` were compiled with Expected::kBool; their names are the conditions'.
admission::match::ConditionOutcome EvaluateConditions(
    std::span<const kube_cel::NamedExpression> conditions, const kube_cel::Inputs& inputs,
    std::span<const kube_cel::NamedExpression> variables);

// Counts conditions that were false or failed; Kubernetes' label `type` is "validate" for both
// kinds of policies. `metrics` may be null.
void CountConditions(metrics::AdmissionMetrics* metrics, std::string_view policy,
                     admission::Operation operation,
                     const admission::match::ConditionOutcome& outcome, base::Duration took);

// What a failed or false expression is reported as: `compilation error: …` or
// `expression 'x' resulted in error: …`.
std::string CompileErrorText(const kube_cel::Expression& expression);
std::string EvaluationErrorText(const kube_cel::Expression& expression, std::string_view error);

}  // namespace portcullis::policy
