// SPDX-License-Identifier: Apache-2.0

// ServiceNetwork hands out cluster IPs (of --service-cluster-ip-range: one family of addresses or both)
// and node ports (of --service-node-port-range) so that no two Services have the same. What is in use is learnt from
// the store at start and then followed by Take and Release. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "registry/services/address_range.h"

namespace portcullis::metrics {
struct AllocatorMetrics;
}

namespace portcullis::registry {

// Where it is made known which Service holds an address (IPAddress objects). Thread-safe.
class AddressBook {
 public:
  virtual ~AddressBook() = default;
  // kAlreadyExists: the address stands there already.
  virtual base::Status Enter(std::string_view address, std::string_view service_namespace,
                             std::string_view service) = 0;
  virtual void Strike(std::string_view address) = 0;
};

// Where servers that share a store agree on node ports. Thread-safe.
class PortBook {
 public:
  virtual ~PortBook() = default;
  // kAlreadyExists: another server has taken the port.
  virtual base::Status Enter(int port) = 0;
  virtual void Strike(int port) = 0;
};

class ServiceNetwork {
 public:
  struct Owner {
    std::string_view ns;
    std::string_view name;
  };

  // `ranges` and `ports` as in the flags, "10.0.0.0/24,fd00:1::/112" and "from-to". Errors: kube-apiserver's
  // about `ranges`, else one that names the flag's value.
  static base::Result<std::unique_ptr<ServiceNetwork>> Create(std::string_view ranges,
                                                              std::string_view ports);

  // The families that Services can have here, the one they have by default first.
  const std::vector<std::string_view>& families() const { return families_; }
  bool HasFamily(std::string_view family) const;
  // The networks of the flag, as they are written in canonical form.
  const std::vector<std::string>& ranges() const { return texts_; }
  // The first address of the first range: that of the Service "kubernetes".
  std::string first_address() const { return AddressRange(networks_.front()).At(1); }

  // What is taken for an owner is entered there. Before the first Take; `book` outlives it.
  void set_book(AddressBook* book) { book_ = book; }
  // Ports that are taken are entered there. After the ports of stored Services have been taken.
  void set_port_book(PortBook* book) { port_book_ = book; }
  // Counts what is taken from now on. Before requests are served; outlives it.
  void set_metrics(const metrics::AllocatorMetrics* metrics) { metrics_ = metrics; }
  // Sets the metrics that tell how many are taken, and free.
  void PublishUse() const PC_EXCLUDES(mutex_);
  // The networks that addresses are given out of from now on, in this order, instead of those of the flag:
  // ServiceCIDRs say them. What has been taken stays so.
  void SetRanges(const std::vector<golang::IpPrefix>& networks) PC_EXCLUDES(mutex_);
  const std::vector<golang::IpPrefix>& networks_of_flag() const { return networks_; }
  // What other servers take and give back, as the store tells it.
  void NoteAddress(std::string_view address, bool is_taken);
  void NotePort(int port, bool is_taken);
  // Whether taking and giving back addresses waits: for the writes of the book, and what reviews
  // these.
  bool MayWait() const { return book_ != nullptr; }

  // A free address of a family, or port, taken from now on. Fails if none is left ("range is full").
  base::Result<std::string> TakeAnyAddress(std::string_view family, const Owner& owner);
  base::Result<int> TakeAnyPort();
  // Takes a given one; without an owner it is not entered into the book. Errors: Go's texts
  // ("provided IP is already allocated", "the provided network does not match the current range",
  // "provided port is already allocated", "provided port is not in the valid range. The range of
  // valid ports is …").
  base::Status TakeAddress(std::string_view address, const Owner& owner = {});
  base::Status TakePort(int port);
  // Strikes the address from the book too.
  void ReleaseAddress(std::string_view address);
  void ReleasePort(int port);

  // What a dry run asks, which takes nothing: "the provided IP (x) is not in the valid range. The
  // range of valid IPs is 10.0.0.0/24", "provided port is already allocated".
  base::Status CheckAddress(std::string_view address) const;
  base::Status CheckPort(int port) const;
  // The address that Kubernetes shows on a dry run, which no Service can have.
  base::Result<std::string> DryRunAddress(std::string_view family) const;

 private:
  // A range and where the next search begins.
  struct Pool {
    AddressRange range;
    std::uint64_t next = 0;
  };

  ServiceNetwork() = default;

  base::Result<std::string> FindAddress(std::string_view family, const Owner& owner);
  base::Result<int> FindPort();
  base::Status TryAddress(std::string_view address, const Owner& owner);
  base::Status TryPort(int port);
  // Counts that an address was taken, or could not be. `of` is the address, or the family of which there
  // was none; an address of no network of ours is not counted.
  void NoteAddressTaken(std::string_view scope, bool is_taken, std::string_view of,
                        base::SteadyTime begun) const PC_EXCLUDES(mutex_);
  base::SteadyTime Now() const;  // of the metrics, if any
  void NotePortTaken(std::string_view scope, bool is_taken) const;

  // The address in canonical form if it is one that a Service can have.
  std::optional<std::string> Usable(std::string_view address) const PC_EXCLUDES(mutex_);
  std::optional<std::string> Reserve(std::string_view family) PC_EXCLUDES(mutex_);
  std::optional<std::string> ReserveIn(Pool& pool) PC_REQUIRES(mutex_);
  base::Status Enter(std::string_view address, const Owner& owner);
  void Free(std::string_view address) PC_EXCLUDES(mutex_);
  std::optional<int> ReservePort();

  const metrics::AllocatorMetrics* metrics_ = nullptr;
  AddressBook* book_ = nullptr;
  PortBook* port_book_ = nullptr;           // null: no other server hands out ports
  std::vector<golang::IpPrefix> networks_;  // of the flag
  std::vector<std::string> texts_;
  std::vector<std::string_view> families_;
  int first_port_ = 0;
  int last_port_ = 0;

  mutable base::Mutex mutex_;
  std::vector<Pool> pools_ PC_GUARDED_BY(mutex_);
  std::set<std::string, std::less<>> addresses_ PC_GUARDED_BY(mutex_);  // in canonical form
  std::set<int> ports_ PC_GUARDED_BY(mutex_);
  int next_port_ PC_GUARDED_BY(mutex_) = 0;
};

}  // namespace portcullis::registry
