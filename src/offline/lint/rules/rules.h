// SPDX-License-Identifier: Apache-2.0

// The rules of lint, each in a file named as its id.
#pragma once

#include "offline/lint/lint.h"

namespace portcullis::offline {

extern const LintRule kWebhookBlocksOwnPods;
extern const LintRule kWebhookBlocksKubeSystem;
extern const LintRule kWebhookBlocksNodes;
extern const LintRule kWebhookBlocksOwnRepair;
extern const LintRule kWebhookWideRules;
extern const LintRule kWebhookLongTimeout;
extern const LintRule kWebhookTimeoutsAddUp;
extern const LintRule kWebhookFailsOpen;
extern const LintRule kSidecarFailsOpen;
extern const LintRule kWebhookCertificate;
extern const LintRule kWebhookCertificateExpires;
extern const LintRule kWebhookSideEffects;
extern const LintRule kWebhookMissingService;
extern const LintRule kRuleIsRefused;
extern const LintRule kRuleNeverMatches;
extern const LintRule kSelectorNeverMatches;
extern const LintRule kPolicyNotBound;
extern const LintRule kBindingWithoutPolicy;
extern const LintRule kObjectIsNullOnDelete;
extern const LintRule kOldObjectIsNullOnCreate;
extern const LintRule kUnguardedLabels;
extern const LintRule kNamespaceObjectInConditions;
extern const LintRule kConstantValidation;
extern const LintRule kRepeatedValidation;
extern const LintRule kPolicyWideRules;
extern const LintRule kPolicyFailsOpen;
extern const LintRule kMissingParameterAllows;
extern const LintRule kParameterNotUsed;
extern const LintRule kPolicyBlocksKubeSystem;
extern const LintRule kMutationWithoutParent;
extern const LintRule kExpressionFails;
extern const LintRule kExpressionOverBudget;
extern const LintRule kExpressionMayExceedBudget;
extern const LintRule kExpressionFitsNoKind;
extern const LintRule kMutatorFails;
extern const LintRule kMutatorDoesNotConverge;
extern const LintRule kMutatorsDoNotCommute;
extern const LintRule kMutatorsOfOneField;
extern const LintRule kExactMatchPolicy;
extern const LintRule kRemovedApiVersion;
extern const LintRule kDeprecatedApiVersion;
extern const LintRule kDeprecatedField;

}  // namespace portcullis::offline
