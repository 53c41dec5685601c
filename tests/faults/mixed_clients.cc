// SPDX-License-Identifier: Apache-2.0

// The clients of mixed.py: each sends one request after the other over a connection of its own,
// knows what it must find, and says what was answered otherwise.
//
//   mixed_clients --server=https://127.0.0.1:6443 --folder=DATA --state=FILE
//                 --clients=16 --requests=100000
//
// --folder is the server's data folder, for its certificates. FILE has what the objects must be
// before ("{}" at first), and receives what they must be afterwards. Prints "done N" every hundredth
// of the requests, then a line for everything that was wrong; ends with 1 if anything was.
#include <array>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/strings.h"
#include "json/reader.h"
#include "json/value.h"
#include "json/writer.h"
#include "net/client.h"
#include "net/io_threads.h"

namespace portcullis::faults {
namespace {

using base::StrCat;
using State = std::map<std::string, std::string>;  // value by name

constexpr std::string_view kCollection = "/api/v1/namespaces/default/configmaps";
constexpr std::string_view kJson = "application/json";
constexpr std::size_t kNames = 50;   // of each client
constexpr std::size_t kWatches = 2;  // on the whole collection
constexpr std::size_t kComplaints = 20;
constexpr std::chrono::seconds kPatience{120};

struct Flags {
  std::string server, folder, state;
  std::size_t clients = 16;
  std::size_t requests = 100000;
};

std::string Content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// What went wrong; the first few texts are kept. Thread-safe.
class Complaints {
 public:
  void Add(std::string text) {
    const base::MutexLock lock(mutex_);
    ++count_;
    if (texts_.size() < kComplaints) texts_.push_back(std::move(text));
  }
  std::size_t Print() {
    const base::MutexLock lock(mutex_);
    for (const std::string& text : texts_) std::printf("%s\n", text.c_str());
    return count_;
  }

 private:
  base::Mutex mutex_;
  std::size_t count_ PC_GUARDED_BY(mutex_) = 0;
  std::vector<std::string> texts_ PC_GUARDED_BY(mutex_);
};

// Thread-safe.
class Api {
 public:
  static base::Result<std::unique_ptr<Api>> Create(net::IoThreads& threads, const Flags& flags) {
    net::ClientTlsOptions tls;
    tls.ca_pem = Content(flags.folder + "/pki/ca.crt");
    tls.certificate_pem = Content(flags.folder + "/pki/admin.crt");
    tls.key_pem = Content(flags.folder + "/pki/admin.key");
    auto api = std::make_unique<Api>();
    api->tls_ = TRY(net::ClientTls::Create(tls));
    net::ClientOptions options;
    options.max_idle_per_host = flags.clients + kWatches;
    api->client_ = net::HttpsClient::Create(threads, options);
    api->server_ = flags.server;
    return api;
  }

  net::ClientRequest Request(std::string_view method, std::string_view path) const {
    net::ClientRequest request;
    request.method = std::string(method);
    request.url = StrCat(server_, path);
    request.headers.Add("Accept", kJson);
    request.headers.Add("Accept-Encoding", "identity");
    request.tls = tls_;
    return request;
  }
  net::CallResult Call(std::string_view method, std::string_view path, std::string body = {},
                       std::string_view type = kJson) const {
    net::ClientRequest request = Request(method, path);
    if (!body.empty()) {
      request.headers.Add("Content-Type", type);
      request.body = std::make_shared<const std::string>(std::move(body));
    }
    return client_->Call(std::move(request), base::SystemClock().Steady() + kPatience);
  }
  net::HttpsClient& client() const { return *client_; }

 private:
  std::string server_;
  std::shared_ptr<const net::ClientTls> tls_;
  std::unique_ptr<net::HttpsClient> client_;
};

// Follows the collection. Thread-safe.
class Watcher {
 public:
  explicit Watcher(const Api& api) {
    net::ClientRequest request =
        api.Request("GET", StrCat(kCollection, "?watch=1&timeoutSeconds=100000"));
    request.on_data = [this](const net::ResponseHead&, std::string_view piece) { Take(piece); };
    call_ = api.client().Begin(std::move(request),
                               base::SystemClock().Steady() + std::chrono::hours(24),
                               [this](const net::CallResult& result) { End(result); });
  }
  ~Watcher() {
    call_->Cancel();
    base::MutexLock lock(mutex_);
    while (!over_) changed_.Wait(mutex_);
  }

  // Waits until the collection looks like that; "" or what it looks like instead.
  std::string Await(const State& wanted) {
    const auto deadline = base::SystemClock().Steady() + kPatience;
    base::MutexLock lock(mutex_);
    while (seen_ != wanted && error_.empty()) {
      if (!changed_.WaitUntil(mutex_, deadline)) break;
    }
    if (!error_.empty()) return StrCat("a watch ended: ", error_);
    return seen_ == wanted ? "" : "a watch shows something else than what was acknowledged";
  }

 private:
  void Take(std::string_view piece) {
    base::MutexLock lock(mutex_);
    pending_.append(piece);
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = pending_.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
      TakeLine(std::string_view(pending_).substr(begin, end - begin));
    }
    pending_.erase(0, begin);
    changed_.NotifyAll();
  }
  void TakeLine(std::string_view line) PC_REQUIRES(mutex_) {
    json::Arena arena;
    const auto event = json::Parse(arena, line);
    const std::string_view type = event.ok() ? (*event)["type"].AsString() : "";
    if (type == "BOOKMARK") return;
    if (type != "ADDED" && type != "MODIFIED" && type != "DELETED") {
      error_ = std::string(line.substr(0, 300));
      return;
    }
    const json::Value object = (*event)["object"];
    const std::string name(object["metadata"]["name"].AsString());
    if (!name.starts_with("c")) return;
    if (type == "DELETED") {
      seen_.erase(name);
    } else {
      seen_[name] = object["data"]["v"].AsString();
    }
  }
  void End(const net::CallResult& result) {
    base::MutexLock lock(mutex_);
    over_ = true;
    if (error_.empty()) error_ = result.ok() ? "without an error" : result.failure->message;
    changed_.NotifyAll();
  }

  base::Mutex mutex_;
  base::CondVar changed_;
  std::string pending_ PC_GUARDED_BY(mutex_);
  State seen_ PC_GUARDED_BY(mutex_);
  std::string error_ PC_GUARDED_BY(mutex_);
  bool over_ PC_GUARDED_BY(mutex_) = false;
  std::shared_ptr<net::PendingCall> call_;
};

// One client; its objects are c<number>-0 to c<number>-49. Confined to one thread.
class Client {
 public:
  Client(const Api& api, std::size_t number, State state, Complaints& complaints)
      : api_(api), number_(number), state_(std::move(state)), complaints_(complaints) {}

  // Of twenty requests there are six updates, three creations, three deletions, three reads, a
  // merge patch, an apply, a page of a list, a refusal by the policy and one through a webhook.
  void Step(std::size_t i) {
    const std::string name =
        StrCat("c", std::to_string(number_), "-", std::to_string(i * 7 % kNames));
    const std::string path = StrCat(kCollection, "/", name);
    const bool is_there = state_.contains(name);
    const std::string value = StrCat(std::to_string(i), "-", std::string(i % 900, 'x'));
    const std::size_t what = i % 20;
    if (what == 17) return Ask("POST", kCollection, Object(name, "bad", "1"), 422);
    if (what == 18) return Ask("GET", StrCat(kCollection, "?limit=20"), {}, 200);
    if (what >= 12 && what <= 14) return Ask("GET", path, {}, is_there ? 200 : 404);
    if (!is_there) {
      Ask("POST", kCollection, Object(name, "v", value), 201);
    } else if (what >= 9 && what <= 11) {
      Ask("DELETE", path, {}, 200);
      state_.erase(name);
      return;
    } else if (what == 15) {
      Ask("PATCH", path, StrCat(R"({"data":{"v":")", value, R"("}})"), 200,
          "application/merge-patch+json");
    } else if (what == 16) {
      Ask("PATCH", path + "?fieldManager=soak&force=true", Object(name, "v", value), 200,
          "application/apply-patch+yaml");
    } else {
      const std::string_view labels = what == 19 ? R"(,"labels":{"webhook":"yes"})" : "";
      Ask("PUT", path, Object(name, "v", value, labels), 200);
    }
    state_[name] = value;
  }
  const State& state() const { return state_; }

 private:
  static std::string Object(std::string_view name, std::string_view key, std::string_view value,
                            std::string_view more = {}) {
    return StrCat(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")", name, "\"", more,
                  R"(},"data":{")", key, R"(":")", value, R"("}})");
  }
  void Ask(std::string_view method, std::string_view path, std::string body, int expected,
           std::string_view type = kJson) {
    const net::CallResult result = api_.Call(method, path, std::move(body), type);
    if (result.ok() && result.response.status == expected) return;
    complaints_.Add(StrCat(method, " ", path, ": ",
                           result.ok() ? StrCat(std::to_string(result.response.status), " ",
                                                result.response.body.substr(0, 300))
                                       : result.failure->message));
  }

  const Api& api_;
  const std::size_t number_;
  State state_;
  Complaints& complaints_;
};

State ReadState(const std::string& path) {
  State state;
  const auto document = json::ParseDocument(Content(path));
  if (!document.ok()) return state;
  for (const json::Member& member : document->root().members()) {
    state[std::string(member.name())] = member.value.AsString();
  }
  return state;
}

void WriteState(const std::string& path, const State& state) {
  json::Arena arena;
  json::ObjectBuilder object(arena);
  for (const auto& [name, value] : state) object.Set(name, std::string_view(value));
  std::ofstream(path, std::ios::binary) << json::ToString(object.Build());
}

// What is stored, without the objects of the server itself.
State Stored(const Api& api, Complaints& complaints) {
  State state;
  const net::CallResult result = api.Call("GET", kCollection);
  const auto list = json::ParseDocument(result.response.body);
  if (!result.ok() || !list.ok()) {
    complaints.Add("the list cannot be read");
    return state;
  }
  for (const json::Value& item : list->root()["items"].elements()) {
    const std::string_view name = item["metadata"]["name"].AsString();
    if (name.starts_with("c")) state[std::string(name)] = item["data"]["v"].AsString();
  }
  return state;
}

std::vector<Client> MakeClients(const Api& api, const Flags& flags, const State& state,
                                Complaints& complaints) {
  std::vector<Client> clients;
  for (std::size_t number = 0; number < flags.clients; ++number) {
    const std::string prefix = StrCat("c", std::to_string(number), "-");
    State own;
    for (const auto& [name, value] : state) {
      if (name.starts_with(prefix)) own[name] = value;
    }
    clients.emplace_back(api, number, std::move(own), complaints);
  }
  return clients;
}

// Each client on a thread of its own.
void Drive(std::vector<Client>& clients, std::size_t requests) {
  const std::size_t each = requests / clients.size();
  const std::size_t tell_every = std::max<std::size_t>(1, requests / 100);
  std::atomic<std::size_t> done{0};
  std::vector<std::thread> threads;
  for (Client& client : clients) {
    threads.emplace_back([&] {
      for (std::size_t i = 0; i < each; ++i) {
        client.Step(i);
        const std::size_t now = done.fetch_add(1) + 1;
        if (now % tell_every != 0) continue;
        std::printf("done %zu\n", now);
        std::fflush(stdout);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

std::size_t Run(const Flags& flags) {
  Complaints complaints;
  net::IoThreads threads(1);
  auto api = Api::Create(threads, flags);
  if (!api.ok()) {
    complaints.Add(api.status().message());
    return complaints.Print();
  }
  const State before = ReadState(flags.state);
  if (Stored(**api, complaints) != before) {
    complaints.Add("what is stored at the start is not what was acknowledged before");
  }
  std::array<std::optional<Watcher>, kWatches> watchers;
  for (auto& watcher : watchers) watcher.emplace(**api);
  std::vector<Client> clients = MakeClients(**api, flags, before, complaints);
  Drive(clients, flags.requests);
  State after;
  for (const Client& client : clients) after.insert(client.state().begin(), client.state().end());
  if (Stored(**api, complaints) != after) {
    complaints.Add("what is stored is not what was acknowledged");
  }
  for (auto& watcher : watchers) {
    const std::string wrong = watcher->Await(after);
    if (!wrong.empty()) complaints.Add(wrong);
  }
  WriteState(flags.state, after);
  return complaints.Print();
}

bool Read(int argc, char** argv, Flags& flags) {
  for (int i = 1; i < argc; ++i) {
    const auto cut = base::Cut(argv[i], "=");
    if (!cut) return false;
    const std::string_view name = cut->first;
    const std::string value(cut->second);
    const auto number = static_cast<std::size_t>(base::ParseInt(value).value_or(0));
    if (name == "--server") {
      flags.server = value;
    } else if (name == "--folder") {
      flags.folder = value;
    } else if (name == "--state") {
      flags.state = value;
    } else if (name == "--clients" && number > 0) {
      flags.clients = number;
    } else if (name == "--requests" && number > 0) {
      flags.requests = number;
    } else {
      return false;
    }
  }
  return !flags.server.empty() && !flags.folder.empty() && !flags.state.empty();
}

}  // namespace
}  // namespace portcullis::faults

int main(int argc, char** argv) {
  portcullis::faults::Flags flags;
  if (!portcullis::faults::Read(argc, argv, flags)) {
    std::fputs("mixed_clients: see mixed_clients.cc for its flags\n", stderr);
    return 2;
  }
  return portcullis::faults::Run(flags) == 0 ? 0 : 1;
}
