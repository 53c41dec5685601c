// SPDX-License-Identifier: Apache-2.0

// Validation of MutatingWebhookConfiguration and ValidatingWebhookConfiguration, with the order,
// the texts and the leniency towards stored objects that kube-apiserver has
// (k8s.io/kubernetes/pkg/apis/admissionregistration/validation). Pure functions.
#pragma once

#include <cstdint>

#include "api/field_error.h"
#include "json/value.h"
#include "registry/expression_checker.h"
#include "release/release.h"

namespace portcullis::registry {

enum class WebhookKind : std::uint8_t { kMutating, kValidating };

// A rule of a webhook or policy (RuleWithOperations).
void ValidateAdmissionRule(json::Value rule, const api::FieldPath& path, api::FieldErrors& errors);
// A rule of an initializer: about resources alone, neither operations nor subresources.
void ValidateResourceRule(json::Value rule, const api::FieldPath& path, api::FieldErrors& errors);

// A clientConfig: exactly one of url and service, each sound.
void ValidateWebhookClient(json::Value config, const api::FieldPath& path,
                           api::FieldErrors& errors);

// Through which version an object comes. v1beta1 (docs/legacy.md) accepts webhooks with any side
// effects, and two of one name.
enum class WebhookVersion : std::uint8_t { kV1, kV1beta1 };

// What is written, and what it is checked with. `expressions` may be null: matchConditions are not
// compiled then.
struct WebhookCheck {
  WebhookKind kind = WebhookKind::kValidating;
  const ExpressionChecker* expressions = nullptr;
  WebhookVersion version = WebhookVersion::kV1;
  const release::Release* release = &release::Release::Newest();  // whose messages
};

void ValidateWebhookConfiguration(json::Value object, const WebhookCheck& check,
                                  api::FieldErrors& errors);
// What the old object got away with, the new one may keep.
void ValidateWebhookConfigurationUpdate(json::Value object, json::Value old,
                                        const WebhookCheck& check, api::FieldErrors& errors);

}  // namespace portcullis::registry
