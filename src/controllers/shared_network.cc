// SPDX-License-Identifier: Apache-2.0

#include "controllers/shared_network.h"

#include <pthread.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "base/memory_reserve.h"
#include "base/strings.h"
#include "json/reader.h"

namespace portcullis::controllers {
namespace {

constexpr store::Collection kAddresses{"networking.k8s.io", "ipaddresses"};
constexpr std::chrono::minutes kInterval{3};
constexpr int kRepairsBeforeRelease = 2;

// The node ports of a Service.
base::Status AddPorts(const store::Object& service, std::set<int>& ports) {
  json::Arena arena;
  const json::Value spec = TRY(json::Parse(arena, service.bytes(), {.borrow_text = true}))["spec"];
  const auto add = [&](json::Value port) {
    if (port.AsInt() > 0) ports.insert(static_cast<int>(port.AsInt()));
  };
  for (const json::Value& port : spec["ports"].elements()) add(port["nodePort"]);
  add(spec["healthCheckNodePort"]);
  return base::OkStatus();
}

}  // namespace

SharedNetwork::SharedNetwork(store::Store& store, store::RangeAllocation& ports, std::string range,
                             registry::ServiceNetwork& network, const base::Clock& clock)
    : store_(store), ports_(ports), range_(std::move(range)), network_(network), clock_(clock) {
  const auto cut = base::Cut(range_, "-");  // ServiceNetwork::Create() has checked it
  first_port_ = static_cast<int>(base::ParseInt(cut->first).value_or(0));
  last_port_ = static_cast<int>(base::ParseInt(cut->second).value_or(0));
}

SharedNetwork::~SharedNetwork() {
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.NotifyAll();
  if (thread_.joinable()) thread_.join();
}

base::Status SharedNetwork::Start() {
  TRY(Repair());
  subscription_ = store_.Subscribe({kAddresses}, *this, [this] {
    for (const store::ObjectPtr& object : store_.List(kAddresses)) {
      network_.NoteAddress(object->name(), true);
    }
  });
  network_.set_port_book(this);
  return base::OkStatus();
}

void SharedNetwork::StartRepairs() {
  thread_ = std::thread([this] { Run(); });
}

void SharedNetwork::Run() {
  pthread_setname_np(pthread_self(), "node-ports");
  const base::NeedsMemory needs;
  while (true) {
    {
      const base::MutexLock lock(mutex_);
      const base::SteadyTime next = clock_.Steady() + kInterval;
      while (!stopping_ && wake_.WaitUntil(mutex_, next)) {
      }
      if (stopping_) return;
    }
    const base::Status status = Repair();
    if (status.ok()) continue;
    base::LogWarning("cannot repair the node ports that are taken", {{"error", status.message()}});
  }
}

base::Status SharedNetwork::Repair() {
  const base::MutexLock lock(mutex_);
  const Leaks before = leaks_;
  Leaks after;
  TRY(ports_.Change([&](State& state) {
    after = before;  // this is called again if another server has been faster
    return RepairState(state, after);
  }));
  leaks_ = std::move(after);
  return base::OkStatus();
}

base::Status SharedNetwork::RepairState(State& state, Leaks& known_leaks) {
  // Ports of another range, which an earlier run of a server had, are those of their Services.
  if (state.range != range_) state = State{range_, {}};
  std::set<int> held;
  for (const store::ObjectPtr& service : store_.List({"", "services"})) {
    TRY(AddPorts(*service, held));
  }
  Leaks leaks;
  for (int port = first_port_; port <= last_port_; ++port) {
    const auto offset = static_cast<std::size_t>(port - first_port_);
    if (held.contains(port)) {
      state.Set(offset, true);
    } else if (state.IsTaken(offset)) {
      const auto known = known_leaks.find(port);
      const int left = known == known_leaks.end() ? kRepairsBeforeRelease : known->second;
      if (left > 0) leaks[port] = left - 1;
      if (left == 0) state.Set(offset, false);  // it is the third time
    }
  }
  known_leaks = std::move(leaks);
  Note(state);
  return base::OkStatus();
}

base::Status SharedNetwork::Enter(int port) {
  if (!Covers(port)) return base::OkStatus();
  const auto offset = static_cast<std::size_t>(port - first_port_);
  return ports_.Change([&](State& state) -> base::Status {
    if (state.range != range_) {
      return base::InternalError("the provided range does not match the current range");
    }
    Note(state);
    if (state.IsTaken(offset))
      return base::Status(base::Reason::kAlreadyExists, "provided port is already allocated");
    state.Set(offset, true);
    network_.NotePort(port, true);
    return base::OkStatus();
  });
}

void SharedNetwork::Strike(int port) {
  if (!Covers(port)) return;
  const auto offset = static_cast<std::size_t>(port - first_port_);
  const base::Status status = ports_.Change([&](State& state) -> base::Status {
    if (state.range == range_ && state.IsTaken(offset)) state.Set(offset, false);
    return base::OkStatus();
  });
  if (status.ok()) return;
  base::LogWarning("a node port stays taken until it is repaired",
                   {{"port", std::to_string(port)}, {"error", status.message()}});
}

// Another thread may have taken or given back a port meanwhile. That does no harm: Enter() decides.
void SharedNetwork::Note(const State& state) {
  for (int port = first_port_; port <= last_port_; ++port) {
    network_.NotePort(port, state.IsTaken(static_cast<std::size_t>(port - first_port_)));
  }
}

void SharedNetwork::OnCommit(std::span<const store::EventPtr> events) {
  for (const store::EventPtr& event : events) {
    network_.NoteAddress(event->object->name(), event->type != store::EventType::kDeleted);
  }
}

}  // namespace portcullis::controllers
