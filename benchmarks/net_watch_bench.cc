// SPDX-License-Identifier: Apache-2.0

// The least that an event costs a server whose watchers have a connection each: one record sealed with
// AES-128-GCM and one send(), to as many loopback connections as there are watchers, which one thread reads.
// Nothing of the server takes part. The CPU is that of the sending thread, in which the kernel also does the
// receiver's half of a loopback connection.
#include <arpa/inet.h>
#include <benchmark/benchmark.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace {

class Connections {
 public:
  explicit Connections(std::size_t count) : poll_(epoll_create1(EPOLL_CLOEXEC)) {
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* at = reinterpret_cast<sockaddr*>(&address);
    ok_ = bind(listener, at, size) == 0 && listen(listener, 128) == 0 &&
          getsockname(listener, at, &size) == 0;
    while (ok_ && sending_.size() < count) {
      const int watcher = socket(AF_INET, SOCK_STREAM, 0);
      ok_ = connect(watcher, at, size) == 0;
      const int server = accept(listener, nullptr, nullptr);
      const int yes = 1;
      setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.fd = watcher;
      epoll_ctl(poll_, EPOLL_CTL_ADD, watcher, &event);
      receiving_.push_back(watcher);
      sending_.push_back(server);
    }
    close(listener);
    reader_ = std::thread([this] { Read(); });
  }
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;
  ~Connections() {
    stopping_ = true;
    for (const int fd : sending_) close(fd);
    reader_.join();
    for (const int fd : receiving_) close(fd);
    close(poll_);
  }

  bool ok() const { return ok_; }
  const std::vector<int>& sending() const { return sending_; }

 private:
  void Read() {
    std::array<epoll_event, 64> events{};
    std::array<char, 16384> buffer{};
    while (!stopping_) {
      const int ready = epoll_wait(poll_, events.data(), events.size(), 100);
      for (int i = 0; i < ready; ++i) {
        const int watcher = events[static_cast<std::size_t>(i)].data.fd;
        if (read(watcher, buffer.data(), buffer.size()) <= 0) {
          epoll_ctl(poll_, EPOLL_CTL_DEL, watcher, nullptr);
        }
      }
    }
  }

  int poll_;
  bool ok_ = false;
  std::vector<int> sending_;
  std::vector<int> receiving_;
  std::atomic<bool> stopping_ = false;
  std::thread reader_;
};

// As TLS 1.3 does: a nonce for each record, the head of the record as associated data, a tag.
class Sealer {
 public:
  Sealer() : context_(EVP_CIPHER_CTX_new()) {
    const std::array<unsigned char, 16> key{1};
    EVP_EncryptInit_ex(context_, EVP_aes_128_gcm(), nullptr, key.data(), nullptr);
  }
  Sealer(const Sealer&) = delete;
  Sealer& operator=(const Sealer&) = delete;
  ~Sealer() { EVP_CIPHER_CTX_free(context_); }

  const std::string& Seal(const std::string& text) {
    constexpr int kHead = 5;
    constexpr int kTag = 16;
    record_.resize(kHead + text.size() + kTag);
    auto* out = reinterpret_cast<unsigned char*>(record_.data());
    const auto size = static_cast<int>(text.size());
    int done = 0;
    ++nonce_[0];
    EVP_EncryptInit_ex(context_, nullptr, nullptr, nullptr, nonce_.data());
    EVP_EncryptUpdate(context_, nullptr, &done, out, kHead);
    EVP_EncryptUpdate(context_, out + kHead, &done,
                      reinterpret_cast<const unsigned char*>(text.data()), size);
    EVP_EncryptFinal_ex(context_, out + kHead + done, &done);
    EVP_CIPHER_CTX_ctrl(context_, EVP_CTRL_GCM_GET_TAG, kTag, out + kHead + size);
    return record_;
  }

 private:
  EVP_CIPHER_CTX* context_;
  std::array<unsigned char, 12> nonce_{};
  std::string record_;
};

// The argument: how many watchers. CPU is of one event to all of them, `each` of it to one.
void EventToWatchers(benchmark::State& state) {
  const Connections connections(static_cast<std::size_t>(state.range(0)));
  if (!connections.ok()) state.SkipWithError("cannot connect: ulimit -Hn may be too low");
  Sealer sealer;
  const std::string event(1300, 'x');
  for (auto _ : state) {
    for (const int fd : connections.sending()) {
      const std::string& record = sealer.Seal(event);
      if (send(fd, record.data(), record.size(), MSG_NOSIGNAL) < 0) {
        state.SkipWithError("cannot send");
        break;
      }
    }
  }
  state.counters["each"] =
      benchmark::Counter(static_cast<double>(state.iterations() * state.range(0)),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(EventToWatchers)->Arg(1000)->Unit(benchmark::kMillisecond);

}  // namespace
