// SPDX-License-Identifier: Apache-2.0

// ServiceNetwork hands out cluster IPs (of --service-cluster-ip-range) and node ports (of
// --service-node-port-range) so that no two Services have the same. What is in use is learnt from
// the store at start and then followed by Take and Release. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/status.h"

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

  // `range` is an IPv4 CIDR, `ports` "from-to". Errors name the flag's value.
  static base::Result<std::unique_ptr<ServiceNetwork>> Create(std::string_view range,
                                                              std::string_view ports);

  // What is taken for an owner is entered there. Before the first Take; `book` outlives it.
  void set_book(AddressBook* book) { book_ = book; }
  // Ports that are taken are entered there. After the ports of stored Services have been taken.
  void set_port_book(PortBook* book) { port_book_ = book; }
  // What other servers take and give back, as the store tells it.
  void NoteAddress(std::string_view address, bool is_taken);
  void NotePort(int port, bool is_taken);
  // Whether taking and giving back addresses waits: for the writes of the book, and what reviews
  // these.
  bool MayWait() const { return book_ != nullptr; }

  // A free address or port, taken from now on. Fails if none is left ("range is full").
  base::Result<std::string> TakeAnyAddress(const Owner& owner);
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
  std::string dry_run_address() const { return Text(network_); }

  // The first address of the range: the Service "kubernetes".
  std::string first_address() const { return Text(network_ + 1); }
  const std::string& range() const { return range_; }

 private:
  ServiceNetwork() = default;
  static std::string Text(std::uint32_t address);

  // The address if it is one that a Service can have.
  std::optional<std::uint32_t> Usable(std::string_view address) const;
  std::optional<std::uint32_t> Reserve();
  base::Status Enter(std::uint32_t address, const Owner& owner);
  void Free(std::uint32_t address);
  std::optional<int> ReservePort();

  AddressBook* book_ = nullptr;
  PortBook* port_book_ = nullptr;  // null: no other server hands out ports
  std::string range_;
  std::uint32_t network_ = 0;
  std::uint32_t size_ = 0;  // addresses in the range
  int first_port_ = 0;
  int last_port_ = 0;

  mutable base::Mutex mutex_;
  std::set<std::uint32_t> addresses_ PC_GUARDED_BY(mutex_);
  std::set<int> ports_ PC_GUARDED_BY(mutex_);
  std::uint32_t next_address_ PC_GUARDED_BY(mutex_) = 0;
  int next_port_ PC_GUARDED_BY(mutex_) = 0;
};

}  // namespace portcullis::registry
