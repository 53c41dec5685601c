// SPDX-License-Identifier: Apache-2.0

// ShardSelector: the objects whose uid or namespace hashes into one of some ranges, as the parameter
// `shardSelector` of lists and watches asks for (gate ShardedListAndWatch; k8s.io/apiserver/pkg/sharding).
//
//   shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000') || shardRange(…)
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "json/value.h"

namespace portcullis::kube_cel {

// Value type.
class ShardSelector {
 public:
  // Errors have Kubernetes' texts.
  static base::Result<ShardSelector> Parse(std::string_view text);

  bool Matches(json::Value object) const;
  // As lists repeat it.
  std::string ToString() const;

  struct Range {
    std::string field;  // "object.metadata.uid"
    std::string start;
    std::string end;  // behind it
  };

 private:
  std::vector<Range> ranges_;  // all of the same field
};

}  // namespace portcullis::kube_cel
