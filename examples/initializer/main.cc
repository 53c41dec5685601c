// SPDX-License-Identifier: Apache-2.0

// An initializer controller to start from (docs/walkthrough-legacy.md): watches all pods, those that
// are not initialized included, and gives each one that waits for it a container.
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/strings.h"
#include "json/reader.h"
#include "kubeconfig/client_config.h"
#include "kubeconfig/identity.h"
#include "net/client.h"
#include "sidecar.h"

namespace {

namespace base = portcullis::base;
namespace json = portcullis::json;
namespace kubeconfig = portcullis::kubeconfig;
namespace net = portcullis::net;

constexpr const char* kUsage =
    R"(example-initializer: gives pods that wait for it a container.

  --kubeconfig=FILE   the server, and a user who may watch, patch and initialize pods
  --name=NAME         the initializer's name (sidecar.init.example.com)
  --image=IMAGE       of the container (example.com/log:1)
)";

struct Options {
  std::string kubeconfig;
  std::string name = "sidecar.init.example.com";
  std::string image = "example.com/log:1";
};

base::Result<Options> ParseOptions(int argc, char** argv) {
  Options options;
  const std::map<std::string_view, std::string*> flags = {{"--kubeconfig", &options.kubeconfig},
                                                          {"--name", &options.name},
                                                          {"--image", &options.image}};
  for (int i = 1; i < argc; ++i) {
    const auto cut = base::Cut(argv[i], "=");
    const auto flag = flags.find(cut ? cut->first : std::string_view());
    if (flag == flags.end()) {
      return base::ConfigError(base::StrCat("unknown flag or missing value: ", argv[i]));
    }
    *flag->second = cut->second;
  }
  if (options.kubeconfig.empty()) return base::ConfigError("--kubeconfig is required");
  return options;
}

// The lines of a watch, from the thread that receives them to the one that works on them.
class Lines {
 public:
  void Append(std::string_view piece) {
    const std::lock_guard lock(mutex_);
    rest_.append(piece);
    for (std::size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n')) {
      lines_.push_back(rest_.substr(0, end));
      rest_.erase(0, end + 1);
    }
    changed_.notify_one();
  }
  void End() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_one();
  }
  // False: there are no more.
  bool Next(std::string& line) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ended_ || !lines_.empty(); });
    if (lines_.empty()) return false;
    line = std::move(lines_.front());
    lines_.pop_front();
    return true;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string rest_;
  std::deque<std::string> lines_;
  bool ended_ = false;
};

class Initializer {
 public:
  static base::Result<Initializer> Create(Options options) {
    Initializer made;
    made.options_ = std::move(options);
    const auto config = TRY(kubeconfig::Resolve(TRY(kubeconfig::Load(made.options_.kubeconfig))));
    made.url_ = config.url;
    made.identity_ = TRY(kubeconfig::Identity::Create(config.user, config.tls, nullptr,
                                                      config.exec_cluster, *made.tls_));
    made.https_ = net::HttpsClient::Create(*made.io_);
    return made;
  }

  // One watch, from all pods that there are to its end.
  base::Status Watch() {
    net::ClientRequest request =
        TRY(RequestFor("GET", "/api/v1/pods?watch=1&includeUninitialized=true"));
    Lines lines;
    request.on_data = [&](const net::ResponseHead&, std::string_view piece) {
      lines.Append(piece);
    };
    const auto far = base::SystemClock().Steady() + std::chrono::hours(24);
    const auto call =
        https_->Begin(std::move(request), far, [&](const net::CallResult&) { lines.End(); });
    std::string line;
    while (lines.Next(line)) {
      const auto event = json::ParseDocument(line);
      if (event.ok() && event.value()["type"].AsString() != "DELETED") {
        Finish(event.value()["object"]);
      }
    }
    return base::OkStatus();
  }

 private:
  base::Result<net::ClientRequest> RequestFor(std::string method, std::string_view path) const {
    net::ClientRequest request;
    request.method = std::move(method);
    request.url = base::StrCat(url_, path);
    TRY(identity_->Apply(request));
    return request;
  }

  void Finish(json::Value pod) const {
    std::string patch = example::FinishingPatch(pod, options_.name, options_.image);
    if (patch.empty()) return;
    const json::Value metadata = pod["metadata"];
    const std::string path = base::StrCat("/api/v1/namespaces/", metadata["namespace"].AsString(),
                                          "/pods/", metadata["name"].AsString());
    auto request = RequestFor("PATCH", path);
    if (!request.ok()) return;
    request->headers.Set("Content-Type", "application/json-patch+json");
    request->body = std::make_shared<const std::string>(std::move(patch));
    const auto soon = base::SystemClock().Steady() + std::chrono::seconds(30);
    const net::CallResult done = https_->Call(*std::move(request), soon);
    // A pod that has changed meanwhile comes again as another event.
    std::printf(
        "%s: %s\n", path.c_str(),
        done.ok() ? std::to_string(done.response.status).c_str() : done.failure->message.c_str());
    std::fflush(stdout);
  }

  Options options_;
  std::string url_;
  std::unique_ptr<net::ClientTlsCache> tls_ = std::make_unique<net::ClientTlsCache>();
  std::unique_ptr<kubeconfig::Identity> identity_;
  std::unique_ptr<net::IoThreads> io_ = std::make_unique<net::IoThreads>(1);
  std::unique_ptr<net::HttpsClient> https_;
};

}  // namespace

int main(int argc, char** argv) {
  auto options = ParseOptions(argc, argv);
  if (!options.ok()) {
    std::fprintf(stderr, "%s\n\n%s", std::string(options.status().message()).c_str(), kUsage);
    return 2;
  }
  auto initializer = Initializer::Create(*std::move(options));
  if (!initializer.ok()) {
    std::fprintf(stderr, "%s\n", std::string(initializer.status().message()).c_str());
    return 1;
  }
  std::signal(SIGINT, [](int) { std::_Exit(0); });
  std::signal(SIGTERM, [](int) { std::_Exit(0); });
  std::printf("watching pods\n");
  std::fflush(stdout);
  while (true) {
    const base::Status ended = initializer->Watch();
    if (!ended.ok()) std::fprintf(stderr, "%s\n", std::string(ended.message()).c_str());
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}
