// SPDX-License-Identifier: Apache-2.0

#include "net/internal/resolver.h"

#include <netdb.h>

#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <system_error>
#include <thread>
#include <utility>

#include "base/file.h"
#include "base/memory_reserve.h"
#include "base/mutex.h"
#include "base/strings.h"
#include "golang/netip.h"

namespace portcullis::net::internal {
namespace {

// Go names the server it has asked.
std::string NameServer() {
  const auto file = base::ReadFile("/etc/resolv.conf");
  if (!file.ok()) return "127.0.0.1:53";
  for (const std::string_view line : base::Split(*file, '\n')) {
    if (line.starts_with("nameserver "))
      return golang::JoinHostPort(base::Trim(line.substr(11)), "53");
  }
  return "127.0.0.1:53";
}

std::vector<SocketAddress> LookupAddresses(const std::string& host, int port, int flags,
                                           int& error) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  std::vector<SocketAddress> addresses;
  error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) return addresses;
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(found, &freeaddrinfo);
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    SocketAddress address;
    std::memcpy(&address.storage, entry->ai_addr, entry->ai_addrlen);
    address.size = entry->ai_addrlen;
    std::array<char, NI_MAXHOST> text{};
    getnameinfo(entry->ai_addr, entry->ai_addrlen, text.data(), text.size(), nullptr, 0,
                NI_NUMERICHOST);
    address.text = golang::JoinHostPort(text.data(), std::to_string(port));
    addresses.push_back(std::move(address));
  }
  return addresses;
}

// Thread constructors throw when the system has no more threads to give, or no memory for one.
template <typename Body>
bool StartDetached(Body body) {
  try {
    std::thread(std::move(body)).detach();
    return true;
  } catch (const std::system_error&) {
    return false;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

}  // namespace

struct Resolver::State {
  using Question = std::pair<std::string, int>;  // host, port

  State(Lookup lookup_function, std::size_t thread_limit)
      : lookup(std::move(lookup_function)), max_threads(thread_limit) {}

  void Run();
  std::vector<Done> TakeWaiting(const Question& question) PC_REQUIRES(mutex);

  const Lookup lookup;
  const std::size_t max_threads;
  base::Mutex mutex;
  base::CondVar changed;
  std::deque<Question> queue PC_GUARDED_BY(mutex);  // not yet taken by a thread
  std::map<Question, std::vector<Done>> waiting PC_GUARDED_BY(mutex);
  std::size_t threads PC_GUARDED_BY(mutex) = 0;
  std::size_t idle PC_GUARDED_BY(mutex) = 0;
  bool is_stopping PC_GUARDED_BY(mutex) = false;
};

std::vector<Resolver::Done> Resolver::State::TakeWaiting(const Question& question) {
  const auto found = waiting.find(question);
  if (found == waiting.end()) return {};
  std::vector<Done> dones = std::move(found->second);
  waiting.erase(found);
  return dones;
}

void Resolver::State::Run() {
  const base::NeedsMemory needs;
  while (true) {
    Question question;
    {
      base::MutexLock lock(mutex);
      ++idle;
      while (queue.empty() && !is_stopping) changed.Wait(mutex);
      --idle;
      if (is_stopping) return;
      question = std::move(queue.front());
      queue.pop_front();
    }
    const Resolution resolution = lookup(question.first, question.second);
    std::vector<Done> dones;
    {
      base::MutexLock lock(mutex);
      if (is_stopping) return;
      dones = TakeWaiting(question);
    }
    for (const Done& done : dones) done(resolution);
  }
}

Resolver::Resolver(Lookup lookup, std::size_t max_threads)
    : state_(std::make_shared<State>(std::move(lookup), max_threads)) {}

Resolver::~Resolver() {
  std::map<State::Question, std::vector<Done>> dropped;
  base::MutexLock lock(state_->mutex);
  state_->is_stopping = true;
  dropped.swap(state_->waiting);
  state_->changed.NotifyAll();
}

std::vector<SocketAddress> Resolver::Literal(const std::string& host, int port) {
  int error = 0;
  return LookupAddresses(host, port, AI_NUMERICHOST, error);
}

Resolution Resolver::AskSystem(const std::string& host, int port) {
  Resolution resolution;
  int error = 0;
  resolution.addresses = LookupAddresses(host, port, AI_ADDRCONFIG, error);
  if (resolution.addresses.empty()) {
    const bool unknown = error == EAI_NONAME || error == EAI_NODATA || error == 0;
    resolution.error = base::StrCat("lookup ", host, " on ", NameServer(), ": ",
                                    unknown ? "no such host" : "server misbehaving");
  }
  return resolution;
}

void Resolver::Resolve(const std::string& host, int port, Done done) {
  std::vector<Done> unanswered;
  {
    State& state = *state_;
    base::MutexLock lock(state.mutex);
    const State::Question question(host, port);
    auto& waiting = state.waiting[question];
    const bool is_first = waiting.empty();
    // In this order: if the second step finds no memory, no call waits for a lookup that is not made.
    if (is_first) state.queue.push_back(question);
    waiting.push_back(std::move(done));
    if (!is_first) return;
    if (state.queue.size() <= state.idle || state.threads >= state.max_threads) {
      state.changed.NotifyOne();
      return;
    }
    if (StartDetached([shared = state_] { shared->Run(); })) {
      ++state.threads;
    } else if (state.threads == 0) {
      state.queue.pop_back();
      unanswered = state.TakeWaiting(question);
    }
  }
  const Resolution failed{{}, base::StrCat("lookup ", host, ": no thread for the name resolver")};
  for (const Done& callback : unanswered) callback(failed);
}

}  // namespace portcullis::net::internal
