// SPDX-License-Identifier: Apache-2.0

// What a pod requests, summed up step by step as the documentation says it: the reference that
// PodRequests is compared with.
//
// Kubernetes docs, "Sidecar Containers": containers and sidecars add up; an init container runs
// beside the sidecars that stand before it; the pod needs the most that any of these moments needs.
#pragma once

#include <string_view>

#include "api/quota/resources.h"

namespace portcullis::api::testing {

inline quota::Resources SlowPodRequests(json::Value pod) {
  quota::Resources total;
  for (const json::Value& container : pod["spec"]["containers"].elements()) {
    quota::Add(total, quota::ReadResources(container["resources"]["requests"]));
  }
  quota::Resources sidecars;
  quota::Resources most;
  for (const json::Value& container : pod["spec"]["initContainers"].elements()) {
    quota::Resources step = quota::ReadResources(container["resources"]["requests"]);
    if (container["restartPolicy"].AsString() == "Always") {
      quota::Add(total, step);
      quota::Add(sidecars, step);
      step = sidecars;
    } else {
      quota::Add(step, sidecars);
    }
    quota::TakeMax(most, step);
  }
  quota::TakeMax(total, most);
  return total;
}

}  // namespace portcullis::api::testing
