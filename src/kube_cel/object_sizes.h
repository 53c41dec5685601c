// SPDX-License-Identifier: Apache-2.0

// How large the parts of an object of a given size can be, as far as its schema says: what the estimate of
// an expression of a policy rests on. All bytes may be in one list, but lists within a list share them: the
// containers of a Pod have together no more ports than fit into the Pod.
//
// The schema outlives it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "api/schema/schema.h"
#include "cel/checker/cost_estimate.h"

namespace portcullis::kube_cel {

class ObjectSizes final : public cel::SizeEstimator {
 public:
  // REQUIRES: bytes > 0.
  ObjectSizes(const api::schema::Schema& schema, std::uint64_t bytes)
      : schema_(schema), bytes_(bytes) {}
  // Of `object` and `oldObject` what the schema says. What the expression makes, and other variables, are
  // taken for small.
  std::optional<cel::Range> Size(std::span<const std::string_view> path,
                                 const cel::Type& type) const override;

 private:
  const api::schema::Schema& schema_;
  const std::uint64_t bytes_;
};

}  // namespace portcullis::kube_cel
