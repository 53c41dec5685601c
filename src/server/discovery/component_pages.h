// SPDX-License-Identifier: Apache-2.0

// /statusz and /flagz: what this component is and the values of its flags, as text for people or as
// objects of config.k8s.io (KEP-4827 and KEP-4828; feature gates ComponentStatusz and ComponentFlagz),
// and /metrics/slis, the outcomes of its health checks.
//
// Texts are kube-apiserver's. It picks the separator of the text pages at random so that no program
// reads them; here it is one of those.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "server/call.h"

namespace portcullis::server {

// `paths` are those that are listed at /.
Reply ServeStatusz(Call& call, std::span<const std::string> paths);
Reply ServeFlagz(Call& call);

// The header of metrics that says when the process started, in seconds since 1970.
inline constexpr std::string_view kProcessStartHeader = "Process-Start-Time-Unix";
std::string ProcessStartSeconds();
// The answer to the DELETE that resets metrics.
Reply MetricsWereReset();

// kubernetes_healthcheck and kubernetes_healthchecks_total. Thread-safe.
class HealthMetrics {
 public:
  HealthMetrics();
  ~HealthMetrics();

  // The outcome of one check of /healthz, /livez or /readyz ("healthz", …).
  void Observe(std::string_view check, std::string_view kind, bool healthy);
  // DELETE forgets them, with the start of the process; any other method shows them.
  Reply Serve(Call& call);

 private:
  struct Series;
  std::shared_ptr<Series> series() const;

  mutable base::Mutex mutex_;
  std::shared_ptr<Series> series_ PC_GUARDED_BY(mutex_);
};

}  // namespace portcullis::server
