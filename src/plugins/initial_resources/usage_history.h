// SPDX-License-Identifier: Apache-2.0

// What containers have used, as Heapster has written it to InfluxDB 1.x: the measurements
// "cpu/usage_rate" (thousandths of a CPU) and "memory/usage" (bytes) with the tags type,
// container_base_image and namespace_name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "admission/usage_history.h"
#include "base/clock.h"
#include "base/status.h"
#include "json/value.h"
#include "net/client.h"

namespace portcullis::plugins::initial_resources {

enum class Resource : std::uint8_t { kCpu, kMemory };

// Which samples count.
struct UsageQuestion {
  Resource resource = Resource::kCpu;
  std::string_view image;           // "web:1.2"
  std::string_view namespace_name;  // "": all of them
  bool any_tag = false;             // also of the image with other tags or digests
  base::WallTime from;
  base::WallTime until;
};

struct Usage {
  std::int64_t value = 0;  // the percentile; 0 without samples
  std::int64_t samples = 0;
};

// "web" of "web:1.2" and "web@sha256:…"; the port of a registry is no tag.
std::string_view WithoutTag(std::string_view image);

// InfluxQL. Texts of pods and namespaces are quoted: they cannot become part of the statement.
std::string QueryText(const UsageQuestion& question, std::int64_t percentile);
// Of an answer of /query. Errors: what the database says, or that it is no answer.
base::Result<Usage> ReadUsage(json::Value answer);

// Thread-safe.
class UsageHistory {
 public:
  // `https` outlives it.
  UsageHistory(const admission::UsageHistoryOptions& options, net::HttpsClient& https);

  // Blocks. REQUIRES: the thread may wait.
  base::Result<Usage> Ask(const UsageQuestion& question, base::SteadyTime deadline) const;

 private:
  net::HttpsClient& https_;
  const std::int64_t percentile_;
  std::string url_;  // up to the query
  std::string authorization_;
};

}  // namespace portcullis::plugins::initial_resources
