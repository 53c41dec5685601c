// SPDX-License-Identifier: Apache-2.0

#include "engine/codec/hidden_fields.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include "api/conversion/conversion.h"
#include "engine/codec/codec.h"
#include "json/reader.h"

namespace portcullis::engine {
namespace {

using api::catalog::ResourceInfo;

json::Value OfService(json::Arena& arena, json::Value service) {
  if (service["spec"]["type"].AsString() != "ExternalName") return service;
  return json::RemovePath(arena, service, {"spec", "internalTrafficPolicy"});
}

json::Value OfWebhooks(json::Arena& arena, json::Value configuration) {
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

struct Hidden {
  std::string_view group;
  std::string_view resource;
  std::string_view texts[2];  // what is in the bytes of each object that has such a field
  json::Value (*without)(json::Arena& arena, json::Value object);
  bool is_written;  // patches and admission see the field

  bool MayBeIn(std::string_view bytes) const {
    return std::all_of(std::begin(texts), std::end(texts), [&](std::string_view text) {
      return bytes.find(text) != std::string_view::npos;
    });
  }
};

constexpr std::string_view kEmptyBundle = R"("caBundle":"")";
constexpr std::string_view kAdmission = "admissionregistration.k8s.io";
constexpr Hidden kHidden[] = {
    {"", "services", {R"("internalTrafficPolicy":)", R"("ExternalName")"}, &OfService, true},
    {kAdmission, "mutatingwebhookconfigurations", {kEmptyBundle, ""}, &OfWebhooks, false},
    {kAdmission, "validatingwebhookconfigurations", {kEmptyBundle, ""}, &OfWebhooks, false},
};

const Hidden* Find(const ResourceInfo& resource) {
  for (const Hidden& row : kHidden) {
    if (row.resource == resource.resource.resource && row.group == resource.resource.group) {
      return &row;
    }
  }
  return nullptr;
}

}  // namespace

bool HidesFields(const ResourceInfo& resource) { return Find(resource) != nullptr; }

base::Result<store::ObjectPtr> Shown(const ResourceInfo& resource, store::ObjectPtr object) {
  const Hidden* row = Find(resource);
  if (row == nullptr || object == nullptr || !row->MayBeIn(object->bytes())) return object;
  json::Arena arena;
  const json::Value stored = TRY(json::Parse(arena, object->bytes(), {.borrow_text = true}));
  const store::Encoded encoded = EncodeAsIs(arena, row->without(arena, stored), false);
  const std::string_view bytes = encoded.bytes;
  return store::ObjectPtr(
      store::Object::Make(object->collection(), object->ns(), object->name(), object->revision(),
                          bytes.substr(0, encoded.revision_at), bytes.substr(encoded.revision_at)));
}

json::Value WithoutHidden(json::Arena& arena, const ResourceInfo& resource, json::Value object) {
  const Hidden* row = Find(resource);
  return row == nullptr ? object : row->without(arena, object);
}

json::Value WithoutUnwritten(json::Arena& arena, const ResourceInfo& resource, json::Value object) {
  const Hidden* row = Find(resource);
  return row == nullptr || row->is_written ? object : row->without(arena, object);
}

base::Result<json::Value> StoredForm(json::Arena& arena, const ResourceInfo& resource,
                                     const store::ObjectPtr& object, json::Value live) {
  const Hidden* row = Find(resource);
  if (row == nullptr || row->is_written || !row->MayBeIn(object->bytes())) return live;
  arena.Retain(object);
  const json::Value stored = TRY(json::Parse(arena, object->bytes(), {.borrow_text = true}));
  return api::Convert(arena, stored, resource.kind);
}

}  // namespace portcullis::engine
