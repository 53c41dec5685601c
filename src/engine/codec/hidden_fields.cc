// SPDX-License-Identifier: Apache-2.0

#include "engine/codec/hidden_fields.h"

#include <string_view>
#include <vector>

#include "api/conversion/conversion.h"
#include "api/schema/order.h"
#include "engine/codec/codec.h"
#include "json/reader.h"

namespace portcullis::engine {
namespace {

using api::catalog::ResourceInfo;

bool Holds(std::string_view bytes, std::string_view text) {
  return bytes.find(text) != std::string_view::npos;
}

// defaultOnReadIPFamilies, on a network of IPv4 addresses.
json::Value WithFamilies(json::Arena& arena, json::Value service) {
  const json::Value spec = service["spec"];
  const json::Value addresses = spec["clusterIPs"];
  if (!spec["ipFamilies"].empty() || addresses.empty()) return service;
  const bool headless = addresses[std::size_t{0}].AsString() == "None";
  const json::Value v4 = json::Value::StringView("IPv4");
  const json::Value v6 = json::Value::StringView("IPv6");
  std::vector<json::Value> families = {v4};
  if (headless && spec["selector"].empty()) families.push_back(v6);
  if (!headless) {
    families.clear();
    for (const json::Value& address : addresses.elements()) {
      families.push_back(address.AsString().find(':') == std::string_view::npos ? v4 : v6);
    }
  }
  service = json::SetPath(arena, service, {"spec", "ipFamilies"}, json::MakeArray(arena, families));
  return json::SetPath(
      arena, service, {"spec", "ipFamilyPolicy"},
      json::Value::StringView(families.size() == 1 ? "SingleStack" : "RequireDualStack"));
}

json::Value OfService(json::Arena& arena, const ResourceInfo& resource, json::Value service) {
  if (service["spec"]["type"].AsString() == "ExternalName") {
    return json::RemovePath(arena, service, {"spec", "internalTrafficPolicy"});
  }
  const json::Value shown = WithFamilies(arena, service);
  return shown.IsSameAs(service) ? service : api::schema::InGoOrder(arena, *resource.schema, shown);
}

bool ServiceMayDiffer(std::string_view bytes) {
  if (!Holds(bytes, R"("ExternalName")")) {
    return Holds(bytes, R"("clusterIPs":[)") && !Holds(bytes, R"("ipFamilies":[)");
  }
  return Holds(bytes, R"("internalTrafficPolicy":)");
}

json::Value OfWebhooks(json::Arena& arena, const ResourceInfo&, json::Value configuration) {
  std::vector<json::Value> webhooks;
  for (const json::Value& webhook : configuration["webhooks"].elements()) {
    const json::Value* bundle = webhook["clientConfig"].Find("caBundle");
    const bool hidden = bundle != nullptr && bundle->AsString().empty();
    webhooks.push_back(hidden ? json::RemovePath(arena, webhook, {"clientConfig", "caBundle"})
                              : webhook);
  }
  if (webhooks.empty()) return configuration;
  return json::With(arena, configuration, "webhooks", json::MakeArray(arena, webhooks));
}

bool WebhooksMayDiffer(std::string_view bytes) { return Holds(bytes, R"("caBundle":"")"); }

struct Reading {
  std::string_view group;
  std::string_view resource;
  // Whether an object of these bytes may be shown otherwise.
  bool (*may_differ)(std::string_view bytes);
  json::Value (*shown)(json::Arena& arena, const ResourceInfo& resource, json::Value object);
  bool is_written;  // patches and admission see what is stored
};

constexpr std::string_view kAdmission = "admissionregistration.k8s.io";
constexpr Reading kReadings[] = {
    {"", "services", &ServiceMayDiffer, &OfService, true},
    {kAdmission, "mutatingwebhookconfigurations", &WebhooksMayDiffer, &OfWebhooks, false},
    {kAdmission, "validatingwebhookconfigurations", &WebhooksMayDiffer, &OfWebhooks, false},
};

const Reading* Find(const ResourceInfo& resource) {
  for (const Reading& row : kReadings) {
    if (row.resource == resource.resource.resource && row.group == resource.resource.group) {
      return &row;
    }
  }
  return nullptr;
}

}  // namespace

bool ShowsOtherwise(const ResourceInfo& resource) { return Find(resource) != nullptr; }

base::Result<store::ObjectPtr> Shown(const ResourceInfo& resource, store::ObjectPtr object) {
  const Reading* row = Find(resource);
  if (row == nullptr || object == nullptr || !row->may_differ(object->bytes())) return object;
  json::Arena arena;
  const json::Value stored = TRY(json::Parse(arena, object->bytes(), {.borrow_text = true}));
  const store::Encoded encoded = EncodeAsIs(arena, row->shown(arena, resource, stored), false);
  const std::string_view bytes = encoded.bytes;
  return store::ObjectPtr(
      store::Object::Make(object->collection(), object->ns(), object->name(), object->revision(),
                          bytes.substr(0, encoded.revision_at), bytes.substr(encoded.revision_at)));
}

json::Value AsShown(json::Arena& arena, const ResourceInfo& resource, json::Value object) {
  const Reading* row = Find(resource);
  return row == nullptr ? object : row->shown(arena, resource, object);
}

json::Value WithoutUnwritten(json::Arena& arena, const ResourceInfo& resource, json::Value object) {
  const Reading* row = Find(resource);
  return row == nullptr || row->is_written ? object : row->shown(arena, resource, object);
}

base::Result<json::Value> StoredForm(json::Arena& arena, const ResourceInfo& resource,
                                     const store::ObjectPtr& object, json::Value live) {
  const Reading* row = Find(resource);
  if (row == nullptr || row->is_written || !row->may_differ(object->bytes())) return live;
  arena.Retain(object);
  const json::Value stored = TRY(json::Parse(arena, object->bytes(), {.borrow_text = true}));
  return api::Convert(arena, stored, resource.kind);
}

}  // namespace portcullis::engine
