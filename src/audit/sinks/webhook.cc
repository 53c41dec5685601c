// SPDX-License-Identifier: Apache-2.0

// Events as EventLists, by POST to the server of a kubeconfig (--audit-webhook-config-file).
//
// What the server does not take stays and goes out before what comes next, in lists of the same
// length, so that a server that is away for a while misses nothing but what the buffer cannot hold.
#include <algorithm>
#include <deque>
#include <iterator>
#include <utility>
#include <vector>

#include "audit/sink.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/strings.h"
#include "kubeconfig/client.h"
#include "net/client.h"

namespace portcullis::audit {
namespace {

class Webhook final : public Sink {
 public:
  Webhook(kubeconfig::Client client, const WebhookOptions& options)
      : client_(std::move(client)), options_(options) {}

  base::Status Write(std::string event) override {
    if (!options_.together) return Post({std::move(event)});
    base::MutexLock lock(mutex_);
    if (pending_.size() >= options_.max_pending) {
      return {base::Reason::kServiceUnavailable, "audit buffer queue blocked"};
    }
    pending_.push_back(std::move(event));
    return base::OkStatus();
  }

  void Flush() override {
    while (true) {
      std::vector<std::string> events = NextList();
      if (events.empty()) return;
      const base::Status sent = Post(events);
      if (sent.ok()) continue;
      const std::string number = std::to_string(events.size());
      if (IsOfTheList(sent)) {
        base::LogError("audit events are lost: the server refuses them",
                       {{"events", number}, {"error", sent.message()}});
        options_.on_lost(events.size());
        continue;
      }
      base::LogWarning("audit events could not be sent; they go out with the next",
                       {{"events", number}, {"error", sent.message()}});
      base::MutexLock lock(mutex_);
      pending_.insert(pending_.begin(), std::make_move_iterator(events.begin()),
                      std::make_move_iterator(events.end()));
      return;
    }
  }

 private:
  // Whether the server has looked at the list and will not take it another time either.
  static bool IsOfTheList(const base::Status& refusal) {
    const int code = refusal.http_code();
    return code == 400 || code == 413 || code == 422;
  }

  // Takes what comes next out of what is pending.
  std::vector<std::string> NextList() {
    base::MutexLock lock(mutex_);
    const auto end = pending_.begin() +
                     static_cast<std::ptrdiff_t>(std::min(pending_.size(), options_.max_batch));
    std::vector<std::string> events(std::make_move_iterator(pending_.begin()),
                                    std::make_move_iterator(end));
    pending_.erase(pending_.begin(), end);
    return events;
  }

  base::Status Post(const std::vector<std::string>& events) {
    auto body = std::make_shared<const std::string>(base::StrCat(
        R"({"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[)",
        base::Join(events, ","), "]}"));
    return client_.Post(std::move(body), [](const net::Response&) { return base::OkStatus(); });
  }

  const kubeconfig::Client client_;
  const WebhookOptions options_;
  base::Mutex mutex_;
  std::deque<std::string> pending_ PC_GUARDED_BY(mutex_);
};

}  // namespace

base::Result<std::unique_ptr<Sink>> OpenWebhook(const WebhookOptions& options,
                                                net::HttpsClient& https) {
  kubeconfig::ClientOptions client_options;
  client_options.tries = 1;  // what was not taken goes out with the next list
  auto client = kubeconfig::Client::Load(options.kubeconfig, client_options, &https);
  if (!client.ok()) return client.status().Annotate("initializing audit webhook");
  return std::unique_ptr<Sink>(std::make_unique<Webhook>(std::move(*client), options));
}

}  // namespace portcullis::audit
