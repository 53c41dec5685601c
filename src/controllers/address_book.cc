// SPDX-License-Identifier: Apache-2.0

#include "controllers/address_book.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/strings.h"
#include "engine/write/cluster_writer.h"
#include "json/reader.h"
#include "store/store.h"

namespace portcullis::controllers {
namespace {

constexpr std::string_view kManagedBy = "ipaddress.kubernetes.io/managed-by";
constexpr std::string_view kAllocator = "ipallocator.k8s.io";
constexpr store::Collection kAddresses{"networking.k8s.io", "ipaddresses"};
constexpr store::Collection kServices{"", "services"};

json::Value IpAddress(json::Arena& arena, std::string_view address, std::string_view ns,
                      std::string_view service) {
  const json::Value labels =
      json::ObjectBuilder(arena)
          .Set("ipaddress.kubernetes.io/ip-family", registry::FamilyOf(address))
          .Set(kManagedBy, kAllocator)
          .Build();
  const json::Value parent = json::ObjectBuilder(arena)
                                 .Set("group", "")
                                 .Set("resource", "services")
                                 .Set("namespace", ns)
                                 .Set("name", service)
                                 .Build();
  return json::ObjectBuilder(arena)
      .Set("apiVersion", "networking.k8s.io/v1")
      .Set("kind", "IPAddress")
      .Set("metadata",
           json::ObjectBuilder(arena).Set("name", address).Set("labels", labels).Build())
      .Set("spec", json::ObjectBuilder(arena).Set("parentRef", parent).Build())
      .Build();
}

bool ServesAddresses(const api::catalog::Catalog& catalog) {
  return catalog.Find(kAddresses.group, "v1", kAddresses.resource) != nullptr;
}

class ApiBook final : public registry::AddressBook {
 public:
  explicit ApiBook(Client& client) : client_(client) {}

  base::Status Enter(std::string_view address, std::string_view ns,
                     std::string_view service) override {
    json::Arena arena;
    return client_
        .Do({.verb = engine::Verb::kCreate,
             .resource = Resource(),
             .body = IpAddress(arena, address, ns, service)})
        .status();
  }

  void Strike(std::string_view address) override {
    const auto gone =
        client_.Do({.verb = engine::Verb::kDelete, .resource = Resource(), .name = address});
    if (gone.ok() || gone.status().reason() == base::Reason::kNotFound) return;
    base::LogWarning("an IPAddress stays behind",
                     {{"address", std::string(address)}, {"error", gone.status().message()}});
  }

 private:
  static api::GroupVersionResource Resource() {
    return {std::string(kAddresses.group), "v1", std::string(kAddresses.resource)};
  }

  Client& client_;
};

// Keys are "<namespace>/<service>".
class AddressRepair final : public Controller {
 public:
  explicit AddressRepair(const ControllerContext& context) : context_(context) {}

  void OnEvent(const store::Event& event, const Enqueue& enqueue) override {
    if (event.object->resource() == kServices.resource) {
      if (event.type != store::EventType::kAdded) return;
      return enqueue(base::StrCat(event.object->ns(), "/", event.object->name()));
    }
    if (event.type != store::EventType::kDeleted) return;
    json::Arena arena;
    const auto object = json::Parse(arena, event.object->bytes(), {.borrow_text = true});
    if (!object.ok()) return;
    const json::Value parent = (*object)["spec"]["parentRef"];
    if (parent["resource"].AsString() != kServices.resource) return;
    enqueue(base::StrCat(parent["namespace"].AsString(), "/", parent["name"].AsString()));
  }

  std::optional<base::Duration> Reconcile(const std::string& key) override {
    const auto owner = base::Cut(key, "/");
    const store::ObjectPtr service =
        context_.store.Get({kServices.group, kServices.resource, owner->first, owner->second});
    if (service == nullptr || !ServesAddresses(*context_.catalog.Get())) return std::nullopt;
    json::Arena arena;
    const auto object = json::Parse(arena, service->bytes(), {.borrow_text = true});
    if (!object.ok()) return std::nullopt;
    for (const json::Value& item : (*object)["spec"]["clusterIPs"].elements()) {
      const std::string address = registry::CanonicalAddress(item.AsString());
      if (!context_.network->CheckAddress(address).ok() || IsEntered(address)) continue;
      const base::Status made =
          ApiBook(context_.client).Enter(address, owner->first, owner->second);
      if (!made.ok() && made.reason() != base::Reason::kAlreadyExists) {
        return std::chrono::seconds(1);
      }
    }
    return std::nullopt;
  }

 private:
  bool IsEntered(std::string_view address) const {
    return context_.store.Get({kAddresses.group, kAddresses.resource, "", address}) != nullptr;
  }

  const ControllerContext& context_;
};

constexpr store::Collection kHears[] = {kAddresses, kServices};

}  // namespace

const ControllerInfo kAddressRepair = {
    .name = "address-repair",
    .account = "",
    .summary = "keeps the IPAddresses of Services",
    .create = [](const ControllerContext& context) -> std::unique_ptr<Controller> {
      return std::make_unique<AddressRepair>(context);
    },
    .hears = kHears,
};

std::unique_ptr<registry::AddressBook> MakeAddressBook(const engine::World& world, Client& client) {
  if (!ServesAddresses(*world.catalog->Get())) return nullptr;
  return std::make_unique<ApiBook>(client);
}

base::Status ReleaseAddresses(const engine::World& world, base::Duration grace) {
  json::Arena arena;
  const std::string young = base::FormatTime(
      world.clock->Now() - std::chrono::duration_cast<base::WallTime::duration>(grace));
  std::set<std::string, std::less<>> held;
  for (const store::ObjectPtr& service : world.store->List({"", "services"})) {
    const json::Value parsed = TRY(json::Parse(arena, service->bytes(), {.borrow_text = true}));
    for (const json::Value& item : parsed["spec"]["clusterIPs"].elements()) {
      std::string address = registry::CanonicalAddress(item.AsString());
      if (world.services->CheckAddress(address).ok()) held.insert(std::move(address));
    }
  }
  for (const store::ObjectPtr& object : world.store->List(kAddresses)) {
    const json::Value metadata = object->document()["metadata"];
    const json::Value labels = metadata["labels"];
    if (grace.count() > 0 && metadata["creationTimestamp"].AsString() > young) continue;
    if (labels[kManagedBy].AsString() != kAllocator || held.contains(object->name())) continue;
    TRY(world.store->Delete({kAddresses.group, kAddresses.resource, "", object->name()}, {}));
  }
  return base::OkStatus();
}

base::Status RepairAddresses(const engine::World& world) {
  if (!ServesAddresses(*world.catalog->Get())) return base::OkStatus();
  json::Arena arena;
  for (const store::ObjectPtr& service : world.store->List({"", "services"})) {
    const json::Value parsed = TRY(json::Parse(arena, service->bytes(), {.borrow_text = true}));
    for (const json::Value& item : parsed["spec"]["clusterIPs"].elements()) {
      const std::string address = registry::CanonicalAddress(item.AsString());
      // Addresses outside the range were refused when the Service was adopted.
      if (!world.services->CheckAddress(address).ok()) continue;
      if (world.store->Get({kAddresses.group, kAddresses.resource, "", address}) != nullptr)
        continue;
      TRY(engine::EnsureObject(world, IpAddress(arena, address, service->ns(), service->name())));
    }
  }
  return base::OkStatus();
}

}  // namespace portcullis::controllers
