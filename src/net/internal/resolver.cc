#include "net/internal/resolver.h"

#include <netdb.h>

#include <array>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <fstream>
#include <mutex>
#include <thread>

#include "base/strings.h"
#include "net/url.h"

namespace portcullis::net::internal {
namespace {

// Go names the server it has asked.
std::string NameServer() {
  std::ifstream file("/etc/resolv.conf");
  std::string line;
  while (std::getline(file, line)) {
    if (!line.starts_with("nameserver ")) continue;
    return JoinHostPort(base::Trim(std::string_view(line).substr(11)), "53");
  }
  return "127.0.0.1:53";
}

std::vector<SocketAddress> Lookup(const std::string& host, int port, int flags, int& error) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  std::vector<SocketAddress> addresses;
  error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) return addresses;
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    SocketAddress address;
    std::memcpy(&address.storage, entry->ai_addr, entry->ai_addrlen);
    address.size = entry->ai_addrlen;
    std::array<char, NI_MAXHOST> text{};
    getnameinfo(entry->ai_addr, entry->ai_addrlen, text.data(), text.size(), nullptr, 0,
                NI_NUMERICHOST);
    address.text = JoinHostPort(text.data(), std::to_string(port));
    addresses.push_back(std::move(address));
  }
  freeaddrinfo(found);
  return addresses;
}

Resolution LookupName(const std::string& host, int port) {
  Resolution resolution;
  int error = 0;
  resolution.addresses = Lookup(host, port, AI_ADDRCONFIG, error);
  if (resolution.addresses.empty()) {
    const bool unknown = error == EAI_NONAME || error == EAI_NODATA || error == 0;
    resolution.error = base::StrCat("lookup ", host, " on ", NameServer(), ": ",
                                    unknown ? "no such host" : "server misbehaving");
  }
  return resolution;
}

}  // namespace

struct Resolver::State {
  struct Question {
    std::string host;
    int port = 0;
    std::function<void(Resolution)> done;
  };
  std::mutex mutex;
  std::condition_variable condition;
  std::deque<Question> questions;
  bool stopping = false;
  std::thread thread;

  void Run() {
    std::unique_lock<std::mutex> lock(mutex);
    while (!stopping) {
      if (questions.empty()) {
        condition.wait(lock);
        continue;
      }
      Question question = std::move(questions.front());
      questions.pop_front();
      lock.unlock();
      question.done(LookupName(question.host, question.port));
      question = {};
      lock.lock();
    }
  }
};

Resolver::Resolver() : state_(std::make_unique<State>()) {}

Resolver::~Resolver() {
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    state_->stopping = true;
    state_->condition.notify_all();
  }
  if (state_->thread.joinable()) state_->thread.join();
}

std::vector<SocketAddress> Resolver::Literal(const std::string& host, int port) {
  int error = 0;
  return Lookup(host, port, AI_NUMERICHOST, error);
}

void Resolver::Resolve(std::string host, int port, std::function<void(Resolution)> done) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  if (!state_->thread.joinable()) {
    state_->thread = std::thread([state = state_.get()] { state->Run(); });
  }
  state_->questions.push_back({std::move(host), port, std::move(done)});
  state_->condition.notify_one();
}

}  // namespace portcullis::net::internal
