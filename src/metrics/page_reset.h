// SPDX-License-Identifier: Apache-2.0

// What DELETE /metrics resets. Counters themselves never go back: once they have been reset, a page shows
// them less what they were then, so that counting costs nothing for it.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "base/mutex.h"

namespace portcullis::metrics {

// Thread-safe.
class PageReset {
 public:
  // `page` (Registry::Expose()) is that of this moment, from which counts begin at zero.
  void Reset(std::string_view page);

  // A later page with what has been counted since. Series with labels that have not counted since are left
  // out. Gauges and quantiles stay, and so do metrics that have no stability level: those of
  // the process are not in Kubernetes' registry.
  std::string Since(std::string page) const;

 private:
  mutable base::Mutex mutex_;
  // By what a sample's line begins with: `name{labels}`.
  std::unordered_map<std::string, double> counted_ PC_GUARDED_BY(mutex_);
};

}  // namespace portcullis::metrics
