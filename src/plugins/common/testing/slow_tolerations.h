// SPDX-License-Identifier: Apache-2.0

// Merging and allowing tolerations as kube-apiserver does it, comparing each with each: the
// reference that the indexed forms are compared with.
//
// k8s.io/kubernetes/pkg/util/tolerations: MergeTolerations, VerifyAgainstWhitelist.
#pragma once

#include <vector>

#include "json/value.h"
#include "plugins/common/tolerations.h"

namespace portcullis::plugins::common::testing {

inline json::Value SlowMerge(json::Arena& arena, json::Value first, json::Value second) {
  std::vector<json::Value> all(first.elements().begin(), first.elements().end());
  all.insert(all.end(), second.elements().begin(), second.elements().end());
  std::vector<json::Value> kept;
  for (std::size_t i = 0; i < all.size(); ++i) {
    bool covered = false;
    for (const json::Value& other : kept) covered = covered || common::Covers(other, all[i]);
    for (std::size_t j = i + 1; j < all.size() && !covered; ++j) {
      covered = !common::SameToleration(all[i], all[j]) && common::Covers(all[j], all[i]);
    }
    if (!covered) kept.push_back(all[i]);
  }
  return json::MakeArray(arena, kept);
}

inline bool SlowAllowed(json::Value tolerations, json::Value whitelist) {
  for (const json::Value& toleration : tolerations.elements()) {
    bool covered = false;
    for (const json::Value& allowed : whitelist.elements()) {
      covered = covered || common::Covers(allowed, toleration);
    }
    if (!covered) return false;
  }
  return true;
}

}  // namespace portcullis::plugins::common::testing
