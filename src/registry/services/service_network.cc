// SPDX-License-Identifier: Apache-2.0

#include "registry/services/service_network.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "golang/netip.h"

namespace portcullis::registry {
namespace {

std::uint32_t NumberOf(const golang::IpAddress& address) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) number = number << 8 | address.bytes[i];
  return number;
}

bool ParseAddress(std::string_view text, std::uint32_t& number) {
  const auto address = golang::ParseIpSloppy(text);
  if (!address || address->is_v6) return false;
  number = NumberOf(*address);
  return true;
}

// How many of a range of `size` at its beginning are kept for what users choose, and given out last
// (Kubernetes docs: Service ClusterIP allocation, avoiding collisions of node ports).
std::uint32_t StaticBand(std::uint32_t size, std::uint32_t share, std::uint32_t most) {
  constexpr std::uint32_t kLeast = 16;
  return size <= kLeast ? 0 : std::clamp(size / share, kLeast, most);
}

}  // namespace

std::string ServiceNetwork::Text(std::uint32_t address) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) {
    if (!text.empty()) text += '.';
    text += std::to_string((address >> shift) & 255U);
  }
  return text;
}

base::Result<std::unique_ptr<ServiceNetwork>> ServiceNetwork::Create(std::string_view range,
                                                                     std::string_view ports) {
  std::unique_ptr<ServiceNetwork> network(new ServiceNetwork);
  network->range_ = std::string(range);
  const auto cidr = golang::ParsePrefixSloppy(range);
  if (!cidr || cidr->address.is_v6 || cidr->length < 8 || cidr->length > 30) {
    return base::ConfigError(base::StrCat("--service-cluster-ip-range: invalid value \"", range,
                                          "\": must be an IPv4 network such as 10.0.0.0/24"));
  }
  network->size_ = 1U << (32 - static_cast<unsigned>(cidr->length));
  network->network_ = NumberOf(cidr->address) & ~(network->size_ - 1);
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

std::optional<std::uint32_t> ServiceNetwork::Reserve() {
  base::MutexLock lock(mutex_);
  const std::uint32_t first = network_ + 1 + StaticBand(size_, 16, 256);
  const std::uint32_t last = network_ + size_ - 2;
  for (std::uint32_t tried = 0; tried <= last - (network_ + 1); ++tried) {
    if (next_address_ < first || next_address_ > last) next_address_ = first;
    const std::uint32_t candidate = next_address_++;
    if (addresses_.insert(candidate).second) return candidate;
  }
  for (std::uint32_t candidate = network_ + 1; candidate < first; ++candidate) {
    if (addresses_.insert(candidate).second) return candidate;
  }
  return std::nullopt;
}

base::Status ServiceNetwork::Enter(std::uint32_t address, const Owner& owner) {
  // An owner without a name is refused there, before the Service is.
  if (book_ == nullptr || owner.ns.empty()) return base::OkStatus();
  return book_->Enter(Text(address), owner.ns, owner.name);
}

void ServiceNetwork::Free(std::uint32_t address) {
  base::MutexLock lock(mutex_);
  addresses_.erase(address);
}

base::Result<std::string> ServiceNetwork::TakeAnyAddress(const Owner& owner) {
  // Addresses that somebody has entered by hand are passed over.
  std::vector<std::uint32_t> foreign;
  base::Result<std::string> result = base::Status(base::Reason::kUnknown, "range is full");
  while (const auto address = Reserve()) {
    const base::Status entered = Enter(*address, owner);
    if (entered.ok()) {
      result = Text(*address);
      break;
    }
    foreign.push_back(*address);
    if (entered.reason() == base::Reason::kAlreadyExists) continue;
    result = entered;
    break;
  }
  for (std::uint32_t address : foreign) Free(address);
  return result;
}

std::optional<int> ServiceNetwork::ReservePort() {
  base::MutexLock lock(mutex_);
  const int size = last_port_ - first_port_ + 1;
  const int first =
      first_port_ + static_cast<int>(StaticBand(static_cast<std::uint32_t>(size), 32, 128));
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

base::Result<int> ServiceNetwork::TakeAnyPort() {
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

void ServiceNetwork::NoteAddress(std::string_view address, bool is_taken) {
  const auto number = Usable(address);
  if (!number) return;
  base::MutexLock lock(mutex_);
  is_taken ? void(addresses_.insert(*number)) : void(addresses_.erase(*number));
}

void ServiceNetwork::NotePort(int port, bool is_taken) {
  base::MutexLock lock(mutex_);
  is_taken ? void(ports_.insert(port)) : void(ports_.erase(port));
}

std::optional<std::uint32_t> ServiceNetwork::Usable(std::string_view address) const {
  std::uint32_t number = 0;
  if (!ParseAddress(address, number)) return std::nullopt;
  if (number <= network_ || number >= network_ + size_ - 1) return std::nullopt;
  return number;
}

base::Status ServiceNetwork::CheckAddress(std::string_view address) const {
  if (Usable(address)) return base::OkStatus();
  return base::Invalid(base::StrCat("the provided IP (", address,
                                    ") is not in the valid range. The range of valid IPs is ",
                                    range_));
}

base::Status ServiceNetwork::CheckPort(int port) const {
  base::MutexLock lock(mutex_);
  if (ports_.contains(port)) return base::Invalid("provided port is already allocated");
  return base::OkStatus();
}

base::Status ServiceNetwork::TakeAddress(std::string_view address, const Owner& owner) {
  const auto number = Usable(address);
  if (!number) return base::Invalid("the provided network does not match the current range");
  base::Status taken = base::Invalid("provided IP is already allocated");
  {
    base::MutexLock lock(mutex_);
    if (!addresses_.insert(*number).second) return taken;
  }
  base::Status entered = Enter(*number, owner);
  if (entered.ok()) return entered;
  Free(*number);
  return entered.reason() == base::Reason::kAlreadyExists ? taken : entered;
}

base::Status ServiceNetwork::TakePort(int port) {
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

void ServiceNetwork::ReleaseAddress(std::string_view address) {
  std::uint32_t number = 0;
  if (!ParseAddress(address, number)) return;
  if (book_ != nullptr) book_->Strike(Text(number));
  Free(number);
}

void ServiceNetwork::ReleasePort(int port) {
  if (port_book_ != nullptr) port_book_->Strike(port);
  NotePort(port, false);
}

}  // namespace portcullis::registry
