// SPDX-License-Identifier: Apache-2.0

// matchConditions in CEL: evaluating them, and checking them when they are written.
#pragma once

#include <memory>

#include "admission/match/conditions.h"
#include "authz/authorizer.h"
#include "kube_cel/compiler.h"
#include "registry/expression_checker.h"

namespace portcullis::admission::match {

// Compiler and authorizer (may be null: allows nothing) outlive it. Thread-safe.
std::unique_ptr<ConditionEvaluator> MakeCelConditions(kube_cel::Compiler& compiler,
                                                      const authz::Authorizer* authorizer);

// Checks the match conditions of webhooks for validation. Thread-safe.
std::unique_ptr<registry::ExpressionChecker> MakeCelExpressionChecker(
    kube_cel::Compiler& compiler, const metrics::CelMetrics* metrics = nullptr);

}  // namespace portcullis::admission::match
