// SPDX-License-Identifier: Apache-2.0

// Whether one request fits into the quotas of its namespace, and what they look like afterwards.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "admission/request.h"
#include "api/quota/evaluator.h"
#include "api/quota/resources.h"
#include "base/status.h"
#include "json/value.h"
#include "plugins/resource_quota/resource_quota_config.h"
#include "release/release.h"
#include "store/object.h"

namespace portcullis::plugins::resource_quota {

// A quota while requests are being charged to it. Value type.
struct RunningQuota {
  explicit RunningQuota(store::ObjectPtr object);

  std::string_view name() const { return stored->name(); }
  json::Value value() const { return stored->document().root(); }

  store::ObjectPtr stored;
  api::quota::Resources hard;  // of the status: what is in force
  api::quota::Resources used;
  bool charged = false;  // `used` has grown
};

// Immutable after construction.
class QuotaChecker {
 public:
  QuotaChecker(std::vector<LimitedResource> limited, const release::Release& release)
      : limited_(std::move(limited)),
        charges_by_old_scope_(release.Has("ResourceQuotaChargesByOldScope")) {}

  // True if some resources need a quota to be used at all.
  bool limits_resources() const { return !limited_.empty(); }

  // Charges the request to `quotas`, or refuses it and leaves them as they are. On success
  // `charged` tells whether any of them has grown.
  base::Status Charge(const admission::Request& request, const api::quota::Evaluator& evaluator,
                      std::vector<RunningQuota>& quotas, bool& charged) const;

 private:
  struct Pertinent;
  struct Coverage;
  base::Result<Coverage> LimitsFor(const admission::Request& request,
                                   const api::quota::Evaluator& evaluator,
                                   const api::quota::Resources& usage) const;
  base::Result<std::vector<Pertinent>> FindPertinent(const admission::Request& request,
                                                     const api::quota::Evaluator& evaluator,
                                                     std::vector<RunningQuota>& quotas,
                                                     Coverage& coverage) const;
  base::Status ComputeDeltas(const admission::Request& request,
                             const api::quota::Evaluator& evaluator,
                             std::vector<Pertinent>& pertinent, api::quota::Resources& most) const;

  const std::vector<LimitedResource> limited_;
  const bool charges_by_old_scope_;
};

}  // namespace portcullis::plugins::resource_quota
