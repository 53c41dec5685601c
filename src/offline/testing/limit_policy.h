// SPDX-License-Identifier: Apache-2.0

// What the tests of this module judge: a policy for Deployments, and a Deployment that it refuses.
#pragma once

namespace portcullis::offline {

inline constexpr char kPolicy[] = R"yaml(apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: limit}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}
  variables:
  - {name: count, expression: object.spec.replicas}
  validations:
  - expression: variables.count <= 5
    messageExpression: "'not ' + string(variables.count)"
  - expression: "'owner' in object.metadata.?labels.orValue({})"
    message: no owner
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: limit}
spec: {policyName: limit, validationActions: [Deny]}
---
)yaml";

// Begins in line 21 when it stands behind the policy.
inline constexpr char kDeployment[] = R"(apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 7
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: nginx}
)";

}  // namespace portcullis::offline
