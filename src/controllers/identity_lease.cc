// SPDX-License-Identifier: Apache-2.0

#include "controllers/identity_lease.h"

#include <unistd.h>

#include <cstdint>

#include "base/digest.h"
#include "base/random.h"
#include "base/strings.h"
#include "golang/time.h"

namespace portcullis::controllers {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kGroup = "coordination.k8s.io";
constexpr std::string_view kNamespace = "kube-system";
constexpr std::string_view kIdentityLabel = "apiserver.kubernetes.io/identity";
constexpr std::string_view kComponent = "kube-apiserver";
constexpr std::int64_t kDurationSeconds = 3600;
constexpr std::chrono::seconds kRenewEvery = 10s;
constexpr std::chrono::seconds kCleanEvery = 3600s;

// The two pieces of work.
constexpr std::string_view kRenew = "renew";
constexpr std::string_view kClean = "clean";

// RFC 4648, lower case, without padding.
std::string Base32(std::string_view bytes) {
  constexpr std::string_view kAlphabet = "abcdefghijklmnopqrstuvwxyz234567";
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (char c : bytes) {
    bits = (bits << 8) | static_cast<unsigned char>(c);
    for (count += 8; count >= 5; count -= 5) out += kAlphabet[(bits >> (count - 5)) & 31U];
  }
  if (count > 0) out += kAlphabet[(bits << (5 - count)) & 31U];
  return out;
}

std::string WithLength(std::string_view text) {
  const auto size = static_cast<std::uint16_t>(text.size());
  const char length[] = {static_cast<char>(size >> 8), static_cast<char>(size & 255U)};
  return base::StrCat(std::string_view(length, sizeof(length)), text);
}

std::string Hostname() {
  char host[256] = {};
  return gethostname(host, sizeof(host) - 1) == 0 ? host : "";
}

class IdentityLease final : public Controller {
 public:
  explicit IdentityLease(const ControllerContext& context)
      : context_(context),
        hostname_(Hostname()),
        name_(ServerIdentity(hostname_)),
        holder_(base::StrCat(name_, "_", base::Uuid())) {}

  // The namespace is all that has to be there.
  void OnEvent(const store::Event& event, const Enqueue& enqueue) override {
    const store::Object& object = *event.object;
    if (event.type != store::EventType::kAdded || object.resource() != "namespaces" ||
        !object.group().empty() || object.name() != "kube-system") {
      return;
    }
    enqueue(std::string(kRenew));
    enqueue(std::string(kClean));
  }

  std::optional<base::Duration> Reconcile(const std::string& key) override {
    if (key == kClean) {
      Clean();
      return kCleanEvery;
    }
    Renew();
    return kRenewEvery;
  }

 private:
  // Ignores errors: the next renewal tries again.
  void Renew() {
    json::Arena arena;
    const store::ObjectPtr current = context_.store.Get({kGroup, "leases", kNamespace, name_});
    json::Value lease;
    if (current != nullptr) {
      lease = current->document().root();
    } else {
      lease = json::MakeObject(arena,
                               {{"apiVersion", json::Value::StringView("coordination.k8s.io/v1")},
                                {"kind", json::Value::StringView("Lease")}});
      lease = json::SetPath(arena, lease, {"metadata", "name"}, json::String(arena, name_));
      lease = json::SetPath(arena, lease, {"spec", "holderIdentity"}, json::String(arena, holder_));
    }
    lease = json::SetPath(arena, lease, {"metadata", "labels", kIdentityLabel},
                          json::Value::StringView(kComponent));
    lease = json::SetPath(arena, lease, {"metadata", "labels", "kubernetes.io/hostname"},
                          json::String(arena, hostname_));
    lease = json::SetPath(arena, lease, {"spec", "leaseDurationSeconds"},
                          json::Value::Int(kDurationSeconds));
    lease = json::SetPath(arena, lease, {"spec", "renewTime"},
                          json::String(arena, base::FormatMicroTime(context_.clock.Now())));
    if (current == nullptr) {
      Send({.verb = engine::Verb::kCreate, .body = lease});
    } else {
      Send({.verb = engine::Verb::kUpdate, .name = name_, .body = lease});
    }
  }

  void Send(Request request) {
    request.resource = {std::string(kGroup), "v1", "leases"};
    request.ns = kNamespace;
    static_cast<void>(context_.client.Do(request));
  }

  void Clean() {
    const std::int64_t now =
        std::chrono::duration_cast<std::chrono::seconds>(context_.clock.Now().time_since_epoch())
            .count();
    for (const store::ObjectPtr& object : context_.store.List({kGroup, "leases"}, kNamespace)) {
      const json::Value lease = object->document().root();
      if (lease["metadata"]["labels"][kIdentityLabel].AsString() != kComponent) continue;
      const json::Value spec = lease["spec"];
      const auto renewed = golang::ParseTime(spec["renewTime"].AsString());
      if (renewed.ok() && spec.Has("leaseDurationSeconds") &&
          renewed->seconds + spec["leaseDurationSeconds"].AsInt() >= now) {
        continue;
      }
      if (object->name() == name_) continue;  // about to be renewed
      Send({.verb = engine::Verb::kDelete, .name = object->name()});
    }
  }

  const ControllerContext& context_;
  const std::string hostname_;
  const std::string name_;
  const std::string holder_;
};

constexpr store::Collection kHears[] = {{"", "namespaces"}};

}  // namespace

std::string ServerIdentity(std::string_view hostname) {
  const std::string hex =
      base::Sha256Hex(base::StrCat(WithLength(hostname), WithLength(kComponent)));
  std::string half;
  for (std::size_t i = 0; i < 32; i += 2) {
    const auto digit = [&](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
    half += static_cast<char>(digit(hex[i]) * 16 + digit(hex[i + 1]));
  }
  return base::StrCat("apiserver-", Base32(half));
}

std::string OwnServerIdentity() { return ServerIdentity(Hostname()); }

const ControllerInfo kIdentityLease = {
    .name = "identity-lease",
    .account = "",
    .summary = "keeps the Lease by which the server makes itself known",
    .create = [](const ControllerContext& context) -> std::unique_ptr<Controller> {
      return std::make_unique<IdentityLease>(context);
    },
    .hears = kHears,
};

}  // namespace portcullis::controllers
