#include "server/address_book.h"

#include <set>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/strings.h"
#include "json/reader.h"
#include "server/cluster_writer.h"
#include "store/store.h"

namespace portcullis::server {
namespace {

constexpr std::string_view kCollection = "/apis/networking.k8s.io/v1/ipaddresses";
constexpr std::string_view kManagedBy = "ipaddress.kubernetes.io/managed-by";
constexpr std::string_view kAllocator = "ipallocator.k8s.io";
constexpr store::Collection kAddresses{"networking.k8s.io", "ipaddresses"};

json::Value IpAddress(json::Arena& arena, std::string_view address, std::string_view ns,
                      std::string_view service) {
  const json::Value labels = json::ObjectBuilder(arena)
                                 .Set("ipaddress.kubernetes.io/ip-family", "IPv4")
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

class ApiBook final : public registry::AddressBook {
 public:
  explicit ApiBook(controllers::ApiClient& api) : api_(api) {}

  base::Status Enter(std::string_view address, std::string_view ns,
                     std::string_view service) override {
    json::Arena arena;
    return api_.Do("POST", kCollection, IpAddress(arena, address, ns, service)).status();
  }

  void Strike(std::string_view address) override {
    const auto gone = api_.Do("DELETE", base::StrCat(kCollection, "/", address), {});
    if (gone.ok() || gone.status().reason() == base::Reason::kNotFound) return;
    base::LogWarning("an IPAddress stays behind",
                     {{"address", std::string(address)}, {"error", gone.status().message()}});
  }

 private:
  controllers::ApiClient& api_;
};

}  // namespace

std::unique_ptr<registry::AddressBook> MakeAddressBook(controllers::ApiClient& api) {
  return std::make_unique<ApiBook>(api);
}

base::Status RepairAddresses(const Environment& env) {
  json::Arena arena;
  std::set<std::string, std::less<>> held;
  for (const store::ObjectPtr& service : env.store->List({"", "services"})) {
    const json::Value parsed = TRY(json::Parse(arena, service->bytes(), {.borrow_text = true}));
    for (const json::Value& item : parsed["spec"]["clusterIPs"].elements()) {
      const std::string_view address = item.AsString();
      // What is outside the range was refused when the Service was adopted.
      if (!env.services->CheckAddress(address).ok()) continue;
      held.emplace(address);
      if (env.store->Get({kAddresses.group, kAddresses.resource, "", address}) != nullptr) continue;
      TRY(EnsureObject(env, IpAddress(arena, address, service->ns(), service->name())));
    }
  }
  for (const store::ObjectPtr& object : env.store->List(kAddresses)) {
    const json::Value labels = object->document()["metadata"]["labels"];
    if (labels[kManagedBy].AsString() != kAllocator || held.contains(object->name())) continue;
    TRY(env.store->Delete({kAddresses.group, kAddresses.resource, "", object->name()}, {}));
  }
  return base::OkStatus();
}

}  // namespace portcullis::server
