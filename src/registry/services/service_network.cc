// SPDX-License-Identifier: Apache-2.0

#include "registry/services/service_network.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "golang/netip.h"
#include "metrics/allocator_metrics.h"

namespace portcullis::registry {
namespace {

constexpr std::string_view kNotReady = "allocator not ready";

// An IPv4 address inside IPv6 is one of IPv4.
std::optional<golang::IpAddress> ParseAddress(std::string_view text) {
  const auto address = golang::ParseIpSloppy(text);
  return address ? std::optional(address->Unmap()) : std::nullopt;
}

}  // namespace

base::Result<std::unique_ptr<ServiceNetwork>> ServiceNetwork::Create(std::string_view ranges,
                                                                     std::string_view ports) {
  std::unique_ptr<ServiceNetwork> network(new ServiceNetwork);
  network->networks_ = TRY(ParseServiceRanges(ranges));
  for (const golang::IpPrefix& prefix : network->networks_) {
    network->texts_.push_back(prefix.ToString());
    network->families_.push_back(FamilyOf(prefix.address));
  }
  network->SetRanges(network->networks_);
  const auto cut = base::Cut(ports, "-");
  const auto first = cut ? base::ParseInt(cut->first) : std::nullopt;
  const auto last = cut ? base::ParseInt(cut->second) : std::nullopt;
  if (!first || !last || *first < 1 || *last > 65535 || *first > *last) {
    return base::ConfigError(base::StrCat("--service-node-port-range: invalid value \"", ports,
                                          "\": must be two ports such as 30000-32767"));
  }
  network->first_port_ = static_cast<int>(*first);
  network->last_port_ = static_cast<int>(*last);
  return network;
}

bool ServiceNetwork::HasFamily(std::string_view family) const {
  return std::find(families_.begin(), families_.end(), family) != families_.end();
}

std::optional<std::string> ServiceNetwork::Reserve(std::string_view family) {
  const base::MutexLock lock(mutex_);
  for (Pool& pool : pools_) {
    if (pool.range.family() != family) continue;
    if (auto address = ReserveIn(pool)) return address;
  }
  return std::nullopt;
}

std::optional<std::string> ServiceNetwork::ReserveIn(Pool& pool) {
  const std::uint64_t first = pool.range.first_dynamic();
  const std::uint64_t last = pool.range.last();
  const auto take = [&](std::uint64_t distance)
                        PC_REQUIRES(mutex_) { return addresses_.insert(pool.range.At(distance)); };
  for (std::uint64_t tried = first; tried <= last; ++tried) {
    if (pool.next < first || pool.next > last) pool.next = first;
    if (const auto [at, is_new] = take(pool.next++); is_new) return *at;
  }
  for (std::uint64_t distance = 1; distance < first && distance <= last; ++distance) {
    if (const auto [at, is_new] = take(distance); is_new) return *at;
  }
  return std::nullopt;
}

base::Status ServiceNetwork::Enter(std::string_view address, const Owner& owner) {
  // An owner without a name is refused there, before the Service is.
  if (book_ == nullptr || owner.ns.empty()) return base::OkStatus();
  return book_->Enter(address, owner.ns, owner.name);
}

void ServiceNetwork::Free(std::string_view address) {
  const base::MutexLock lock(mutex_);
  const auto found = addresses_.find(address);
  if (found != addresses_.end()) addresses_.erase(found);
}

base::Result<std::string> ServiceNetwork::FindAddress(std::string_view family, const Owner& owner) {
  // Addresses that somebody has entered by hand are passed over.
  std::vector<std::string> foreign;
  base::Result<std::string> result = base::Status(base::Reason::kUnknown, "range is full");
  while (auto address = Reserve(family)) {
    const base::Status entered = Enter(*address, owner);
    if (entered.ok()) {
      result = *std::move(address);
      break;
    }
    foreign.push_back(*std::move(address));
    if (entered.reason() == base::Reason::kAlreadyExists) continue;
    result = entered;
    break;
  }
  for (const std::string& address : foreign) Free(address);
  return result;
}

std::optional<int> ServiceNetwork::ReservePort() {
  base::MutexLock lock(mutex_);
  const int size = last_port_ - first_port_ + 1;
  const int first =
      first_port_ + static_cast<int>(StaticBand(static_cast<std::uint64_t>(size), 32, 128));
  for (int tried = first; tried <= last_port_; ++tried) {
    if (next_port_ < first || next_port_ > last_port_) next_port_ = first;
    const int candidate = next_port_++;
    if (ports_.insert(candidate).second) return candidate;
  }
  for (int candidate = first_port_; candidate < first; ++candidate) {
    if (ports_.insert(candidate).second) return candidate;
  }
  return std::nullopt;
}

base::Result<int> ServiceNetwork::FindPort() {
  bool may_be_old = port_book_ != nullptr;
  while (true) {
    auto port = ReservePort();
    // Other servers may have given ports back: to enter one brings the news of all, once.
    if (!port && std::exchange(may_be_old, false)) port = first_port_;
    if (!port) return base::InternalError("range is full");
    if (port_book_ == nullptr) return *port;
    const base::Status entered = port_book_->Enter(*port);
    if (entered.ok()) return *port;
    // One that another server has counts as taken until the book tells otherwise.
    if (entered.reason() == base::Reason::kAlreadyExists) continue;
    NotePort(*port, false);
    return entered;
  }
}

void ServiceNetwork::SetRanges(const std::vector<golang::IpPrefix>& networks) {
  const base::MutexLock lock(mutex_);
  std::vector<Pool> pools;
  for (const golang::IpPrefix& network : networks) {
    if (!AddressRange::Serves(network)) continue;
    const auto known = std::find_if(pools_.begin(), pools_.end(), [&](const Pool& pool) {
      return pool.range.network() == network;
    });
    pools.push_back(known == pools_.end() ? Pool{AddressRange(network)} : *known);
  }
  pools_ = std::move(pools);
}

void ServiceNetwork::NoteAddress(std::string_view address, bool is_taken) {
  std::string canonical = CanonicalAddress(address);
  if (!is_taken) return Free(canonical);
  const base::MutexLock lock(mutex_);
  addresses_.insert(std::move(canonical));
}

void ServiceNetwork::NotePort(int port, bool is_taken) {
  base::MutexLock lock(mutex_);
  is_taken ? void(ports_.insert(port)) : void(ports_.erase(port));
}

std::optional<std::string> ServiceNetwork::Usable(std::string_view address) const {
  const auto parsed = ParseAddress(address);
  if (!parsed) return std::nullopt;
  const base::MutexLock lock(mutex_);
  for (const Pool& pool : pools_) {
    if (pool.range.Has(*parsed)) return parsed->ToString();
  }
  return std::nullopt;
}

base::Status ServiceNetwork::CheckAddress(std::string_view address) const {
  if (Usable(address)) return base::OkStatus();
  const auto parsed = ParseAddress(address);
  const base::MutexLock lock(mutex_);
  for (const Pool& pool : pools_) {
    if (!parsed || pool.range.family() != FamilyOf(*parsed)) continue;
    return base::Invalid(base::StrCat("the provided IP (", parsed->ToString(),
                                      ") is not in the valid range. The range of valid IPs is ",
                                      pool.range.network().ToString()));
  }
  return base::Invalid(std::string(kNotReady));
}

base::Result<std::string> ServiceNetwork::DryRunAddress(std::string_view family) const {
  const base::MutexLock lock(mutex_);
  for (const Pool& pool : pools_) {
    if (pool.range.family() == family) return pool.range.At(0);
  }
  return base::Invalid(std::string(kNotReady));
}

base::Status ServiceNetwork::CheckPort(int port) const {
  base::MutexLock lock(mutex_);
  if (ports_.contains(port)) return base::Invalid("provided port is already allocated");
  return base::OkStatus();
}

base::Status ServiceNetwork::TryAddress(std::string_view address, const Owner& owner) {
  const auto usable = Usable(address);
  if (!usable) return base::Invalid("the provided network does not match the current range");
  base::Status taken = base::Invalid("provided IP is already allocated");
  {
    const base::MutexLock lock(mutex_);
    if (!addresses_.insert(*usable).second) return taken;
  }
  base::Status entered = Enter(*usable, owner);
  if (entered.ok()) return entered;
  Free(*usable);
  return entered.reason() == base::Reason::kAlreadyExists ? taken : entered;
}

base::Status ServiceNetwork::TryPort(int port) {
  if (port < first_port_ || port > last_port_) {
    return base::Invalid(
        base::StrCat("provided port is not in the valid range. The range of valid ports is ",
                     std::to_string(first_port_), "-", std::to_string(last_port_)));
  }
  base::Status taken = base::Invalid("provided port is already allocated");
  {
    base::MutexLock lock(mutex_);
    // Another server may have given it back: the book knows.
    if (!ports_.insert(port).second && port_book_ == nullptr) return taken;
  }
  if (port_book_ == nullptr) return base::OkStatus();
  base::Status entered = port_book_->Enter(port);
  if (entered.ok()) return entered;
  if (entered.reason() == base::Reason::kAlreadyExists) return taken;
  NotePort(port, false);
  return entered;
}

base::Result<std::string> ServiceNetwork::TakeAnyAddress(std::string_view family,
                                                         const Owner& owner) {
  const base::SteadyTime begun = Now();
  auto address = FindAddress(family, owner);
  NoteAddressTaken("dynamic", address.ok(), address.ok() ? *address : family, begun);
  return address;
}

base::Status ServiceNetwork::TakeAddress(std::string_view address, const Owner& owner) {
  const base::SteadyTime begun = Now();
  base::Status taken = TryAddress(address, owner);
  NoteAddressTaken("static", taken.ok(), address, begun);
  return taken;
}

base::Result<int> ServiceNetwork::TakeAnyPort() {
  auto port = FindPort();
  NotePortTaken("dynamic", port.ok());
  return port;
}

base::Status ServiceNetwork::TakePort(int port) {
  base::Status taken = TryPort(port);
  NotePortTaken("static", taken.ok());
  return taken;
}

void ServiceNetwork::NoteAddressTaken(std::string_view scope, bool is_taken, std::string_view of,
                                      base::SteadyTime begun) const {
  if (metrics_ == nullptr) return;
  const std::chrono::duration<double> took = Now() - begun;
  const auto address = ParseAddress(of);
  const base::MutexLock lock(mutex_);
  for (const Pool& pool : pools_) {
    if (address ? !pool.range.Has(*address) : pool.range.family() != of) continue;
    const std::string network = pool.range.network().ToString();
    (is_taken ? metrics_->ip_allocations : metrics_->ip_errors).With({network, scope}).Increment();
    return metrics_->ip_duration.With({network}).Observe(took.count());
  }
}

base::SteadyTime ServiceNetwork::Now() const {
  return metrics_ != nullptr ? metrics_->clock.Steady() : base::SteadyTime{};
}

void ServiceNetwork::NotePortTaken(std::string_view scope, bool is_taken) const {
  if (metrics_ == nullptr) return;
  (is_taken ? metrics_->port_allocations : metrics_->port_errors).With({scope}).Increment();
}

void ServiceNetwork::PublishUse() const {
  if (metrics_ == nullptr) return;
  const base::MutexLock lock(mutex_);
  for (const Pool& pool : pools_) {
    const auto used = std::count_if(addresses_.begin(), addresses_.end(), [&](const auto& text) {
      const auto address = ParseAddress(text);
      return address && pool.range.Has(*address);
    });
    const std::string network = pool.range.network().ToString();
    metrics_->allocated_ips.With({network}).Set(static_cast<double>(used));
    metrics_->available_ips.With({network}).Set(static_cast<double>(pool.range.last()) -
                                                static_cast<double>(used));
  }
  const auto ports = static_cast<double>(ports_.size());
  metrics_->allocated_ports.Set(ports);
  metrics_->available_ports.Set(last_port_ - first_port_ + 1 - ports);
}

void ServiceNetwork::ReleaseAddress(std::string_view address) {
  const std::string canonical = CanonicalAddress(address);
  if (book_ != nullptr) book_->Strike(canonical);
  Free(canonical);
}

void ServiceNetwork::ReleasePort(int port) {
  if (port_book_ != nullptr) port_book_->Strike(port);
  NotePort(port, false);
}

}  // namespace portcullis::registry
