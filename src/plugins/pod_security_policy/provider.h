// SPDX-License-Identifier: Apache-2.0

// What one PodSecurityPolicy makes of a pod, and what it objects to.
// Source: pkg/security/podsecuritypolicy of Kubernetes up to v1.24.
#pragma once

#include <string_view>

#include "api/field_error.h"
#include "base/status.h"
#include "json/value.h"

namespace portcullis::plugins::pod_security_policy {

// A view: the policy outlives it. Thread-safe.
class Provider {
 public:
  // Errors: a rule without what it needs.
  static base::Result<Provider> Create(json::Value policy);

  std::string_view name() const { return policy_["metadata"]["name"].AsString(); }

  // The pod with what the policy requires in place of what the pod leaves out; the pod itself if
  // it leaves nothing out.
  json::Value Mutate(json::Arena& arena, json::Value pod) const;
  // What the policy does not allow.
  void Validate(json::Value pod, api::FieldErrors& errors) const;

 private:
  explicit Provider(json::Value policy) : policy_(policy) {}

  json::Value policy_;
};

}  // namespace portcullis::plugins::pod_security_policy
