// SPDX-License-Identifier: Apache-2.0

// apiserver_<subject>_config_controller_*: what has become of a configuration file that is read again when
// it changes. Thread-safe, but for Note().
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "metrics/metrics.h"

namespace portcullis::server {

class ReloadMetrics {
 public:
  // `subject`: "authentication" or "authorization". `server` is the hashed identity of this server.
  ReloadMetrics(metrics::Registry& registry, std::string_view subject, std::string server);

  // A file has been read that differs, or none could be read: "success" or "failure".
  void Count(std::string_view status, const base::Clock& clock) const;
  // `hash` is that of what is in force from now on.
  void Note(std::string hash);

 private:
  const std::string server_;
  metrics::Family<metrics::Counter>& reloads_;
  metrics::Family<metrics::Gauge>& times_;
  metrics::Family<metrics::Gauge>& configs_;
  std::string noted_;
};

}  // namespace portcullis::server
