// SPDX-License-Identifier: Apache-2.0

// Where the plugin InitialResources reads what containers have used (docs/legacy.md): the flags --ir-…
// of kube-apiserver 1.7 to 1.10.
#pragma once

#include <cstdint>
#include <string>

namespace portcullis::admission {

struct UsageHistoryOptions {
  std::string source = "influxdb";  // nothing else is here
  std::string host;                 // "influx.example.com:8086", with or without scheme; "": none
  std::string user = "root";
  std::string password = "root";
  std::string database = "k8s";
  std::int64_t percentile = 90;
  bool namespace_only = false;  // what containers of other namespaces have used does not count
};

}  // namespace portcullis::admission
