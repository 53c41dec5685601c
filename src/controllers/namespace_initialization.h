// SPDX-License-Identifier: Apache-2.0

// NamespaceInitialization: who makes a namespace is answered once the controllers that put
// something into every namespace (the ServiceAccount default, the ConfigMap kube-root-ca.crt) have
// been there, so that a pod can follow at once. Kubernetes answers before, and lets pods wait.
#pragma once

#include <string>
#include <vector>

#include "controllers/runner.h"
#include "engine/world.h"

namespace portcullis::controllers {

// Filled before the first request; thread-safe from then on.
class NamespaceInitialization final : public engine::NamespaceHook {
 public:
  // `runner` outlives it.
  void Add(ControllerRunner& runner) { runners_.push_back(&runner); }

  // Returns when each of the controllers has looked at the new namespace, whatever came of it, or
  // after two seconds. Meanwhile the request's place is free for the controllers' requests.
  void OnCreated(const std::string& name, const admission::Recorder& recorder) const override;

 private:
  std::vector<ControllerRunner*> runners_;
};

}  // namespace portcullis::controllers
