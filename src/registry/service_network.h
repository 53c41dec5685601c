// ServiceNetwork hands out cluster IPs (of --service-cluster-ip-range) and node ports (of
// --service-node-port-range) so that no two Services have the same. What is in use is learnt from
// the store at start and then followed by Take and Release. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/status.h"

namespace portcullis::registry {

class ServiceNetwork {
 public:
  // `range` is an IPv4 CIDR, `ports` "from-to". Errors name the flag's value.
  static base::Result<std::unique_ptr<ServiceNetwork>> Create(std::string_view range,
                                                              std::string_view ports);

  // A free address or port, taken from now on. Fails if none is left.
  base::Result<std::string> TakeAnyAddress();
  base::Result<int> TakeAnyPort();
  // Takes a given one. Errors: Go's texts ("provided IP is already allocated", "the provided IP (x)
  // is not in the valid range. The range of valid IPs is 10.0.0.0/24", "provided port is already
  // allocated", "provided port is not in the valid range. The range of valid ports is …").
  base::Status TakeAddress(std::string_view address);
  base::Status TakePort(int port);
  void ReleaseAddress(std::string_view address);
  void ReleasePort(int port);

  // The first address of the range: the Service "kubernetes".
  std::string first_address() const { return Text(network_ + 1); }
  const std::string& range() const { return range_; }

 private:
  ServiceNetwork() = default;
  static std::string Text(std::uint32_t address);

  std::string range_;
  std::uint32_t network_ = 0;
  std::uint32_t size_ = 0;  // addresses in the range
  int first_port_ = 0;
  int last_port_ = 0;

  base::Mutex mutex_;
  std::set<std::uint32_t> addresses_ PC_GUARDED_BY(mutex_);
  std::set<int> ports_ PC_GUARDED_BY(mutex_);
  std::uint32_t next_address_ PC_GUARDED_BY(mutex_) = 0;
  int next_port_ PC_GUARDED_BY(mutex_) = 0;
};

}  // namespace portcullis::registry
