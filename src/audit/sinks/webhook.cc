// Events as EventLists, by POST to the server of a kubeconfig (--audit-webhook-config-file).
//
// What the server does not take stays and goes out with what comes next, so that a server that is
// away for a while misses nothing but what the buffer cannot hold.
#include <algorithm>
#include <utility>

#include "audit/sink.h"
#include "base/file.h"
#include "base/gotext.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/strings.h"
#include "json/value.h"
#include "json/yaml.h"
#include "net/client.h"
#include "net/tls.h"

namespace portcullis::audit {
namespace {

constexpr std::chrono::seconds kTimeout{30};

struct Destination {
  std::string url;
  net::ClientTlsOptions tls;
  std::string authorization;  // value of the header, "" for none
};

// The entry of `list` with that name.
json::Value Named(json::Value list, std::string_view name) {
  for (const json::Value item : list.elements()) {
    if (item["name"].AsString() == name) return item;
  }
  return {};
}

// `<name>-data` in base64, or the content of the file `<name>`, which is meant from `folder`.
base::Result<std::string> DataOrFile(json::Value object, const std::string& name,
                                     const std::string& folder) {
  if (const auto data = object[name + "-data"].AsString(); !data.empty()) {
    auto bytes = base::Base64Decode(data);
    if (!bytes) return base::ConfigError(base::StrCat(name, "-data: illegal base64 data"));
    return std::move(*bytes);
  }
  const std::string path(object[name].AsString());
  if (path.empty()) return std::string();
  return base::ReadFile(path.front() == '/' ? path : base::StrCat(folder, "/", path));
}

base::Result<Destination> ReadKubeconfig(const std::string& path) {
  json::Arena arena;
  const std::string text = TRY(base::ReadFile(path));
  const json::Value config = TRY(json::ParseYaml(arena, text));
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash);
  const auto current = config["current-context"].AsString();
  const json::Value context = Named(config["contexts"], current)["context"];
  if (!context.is_object()) {
    return base::ConfigError("invalid configuration: no configuration has been provided");
  }
  const json::Value cluster = Named(config["clusters"], context["cluster"].AsString())["cluster"];
  const json::Value user = Named(config["users"], context["user"].AsString())["user"];
  Destination destination;
  destination.url = cluster["server"].AsString();
  if (destination.url.empty()) {
    return base::ConfigError("invalid configuration: no server found for the cluster");
  }
  destination.tls.ca_pem = TRY(DataOrFile(cluster, "certificate-authority", folder));
  destination.tls.insecure_skip_verify = cluster["insecure-skip-tls-verify"].AsBool();
  destination.tls.server_name = cluster["tls-server-name"].AsString();
  destination.tls.certificate_pem = TRY(DataOrFile(user, "client-certificate", folder));
  destination.tls.key_pem = TRY(DataOrFile(user, "client-key", folder));
  if (const auto token = user["token"].AsString(); !token.empty()) {
    destination.authorization = base::StrCat("Bearer ", token);
  } else if (const std::string name(user["username"].AsString()); !name.empty()) {
    destination.authorization = base::StrCat(
        "Basic ", base::Base64Encode(base::StrCat(name, ":", user["password"].AsString())));
  }
  return destination;
}

class Webhook final : public Sink {
 public:
  Webhook(Destination destination, std::shared_ptr<const net::ClientTls> tls,
          const WebhookOptions& options, net::HttpsClient& https)
      : destination_(std::move(destination)),
        tls_(std::move(tls)),
        options_(options),
        https_(https) {}

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
    std::vector<std::string> events;
    {
      base::MutexLock lock(mutex_);
      events.swap(pending_);
    }
    if (events.empty()) return;
    const base::Status sent = Post(events);
    if (sent.ok()) return;
    base::LogWarning("audit events could not be sent; they go out with the next",
                     {{"events", std::to_string(events.size())}, {"error", sent.message()}});
    base::MutexLock lock(mutex_);
    events.insert(events.end(), std::make_move_iterator(pending_.begin()),
                  std::make_move_iterator(pending_.end()));
    pending_ = std::move(events);
  }

 private:
  base::Status Post(const std::vector<std::string>& events) {
    net::ClientRequest request;
    request.url = destination_.url;
    request.tls = tls_;
    request.headers.Add("Content-Type", "application/json");
    if (!destination_.authorization.empty()) {
      request.headers.Add("Authorization", destination_.authorization);
    }
    request.body = std::make_shared<const std::string>(base::StrCat(
        R"({"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[)",
        base::Join(events, ","), "]}"));
    const net::CallResult result =
        https_.Call(std::move(request), base::SystemClock().Steady() + kTimeout);
    if (!result.ok()) return {base::Reason::kServiceUnavailable, result.failure->message};
    if (result.response.status / 100 == 2) return base::OkStatus();
    return {base::Reason::kServiceUnavailable,
            base::StrCat("the audit webhook answered ", std::to_string(result.response.status))};
  }

  const Destination destination_;
  const std::shared_ptr<const net::ClientTls> tls_;
  const WebhookOptions options_;
  net::HttpsClient& https_;
  base::Mutex mutex_;
  std::vector<std::string> pending_ PC_GUARDED_BY(mutex_);
};

}  // namespace

base::Result<std::unique_ptr<Sink>> OpenWebhook(const WebhookOptions& options,
                                                net::HttpsClient& https) {
  auto destination = ReadKubeconfig(options.kubeconfig);
  if (!destination.ok()) {
    return destination.status().Annotate("initializing audit webhook");
  }
  auto tls = TRY(net::ClientTls::Create(destination->tls));
  return std::unique_ptr<Sink>(
      std::make_unique<Webhook>(std::move(*destination), std::move(tls), options, https));
}

}  // namespace portcullis::audit
