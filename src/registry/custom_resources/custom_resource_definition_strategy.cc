// SPDX-License-Identifier: Apache-2.0

// CustomResourceDefinitions: which versions have been stored is the server's to know, and a deleted
// definition lives on until its objects are gone (apiextensions-apiserver).

#include <algorithm>
#include <string>

#include "api/catalog/catalog.h"
#include "api/schema/sent_forms.h"
#include "api/schema/text_formats.h"
#include "base/clock.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "registry/custom_resources/custom_resource_definition_validation.h"
#include "registry/custom_resources/definition_parts.h"
#include "registry/default_strategy.h"
#include "registry/kind_table.h"

namespace portcullis::registry {
namespace {

constexpr std::string_view kCleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io";

json::Value StorageVersion(json::Value object) {
  for (const json::Value& version : object["spec"]["versions"].elements()) {
    if (version["storage"].AsBool()) return version["name"];
  }
  return {};
}

bool HasCleanupFinalizer(json::Value object) {
  const auto finalizers = object["metadata"]["finalizers"].elements();
  return std::any_of(finalizers.begin(), finalizers.end(), [](const json::Value& finalizer) {
    return finalizer.AsString() == kCleanupFinalizer;
  });
}

// Of an `items` that is neither a schema nor a list of some, Go keeps a struct without content, which is stored as
// none: it counts as a change each time.
bool SendsItemsOfNothing(const Context& ctx, json::Value object) {
  const auto* resource = ctx.catalog == nullptr ? nullptr : ctx.catalog->FindKind(ctx.kind);
  return resource != nullptr &&
         api::schema::AnySent(resource->schema, ctx.sent, object, [](const auto& form) {
           return form.schema.go_type.ends_with("JSONSchemaPropsOrArray") && !form.sent.is_null() &&
                  form.decoded.is_null();
         });
}

class CustomResourceDefinitions final : public DefaultStrategy {
 public:
  using DefaultStrategy::DefaultStrategy;

  json::Value PrepareForCreate(const Context& ctx, json::Value object) const override {
    json::Arena& arena = ctx.arena;
    const json::Value storage = StorageVersion(object);
    const json::Value names = json::MakeObject(
        arena, {{"plural", json::Value::StringView("")}, {"kind", json::Value::StringView("")}});
    object = json::With(
        arena, object, "status",
        json::MakeObject(
            arena, {{"conditions", json::Value()},
                    {"acceptedNames", names},
                    {"storedVersions",
                     storage.is_null() ? json::Value() : json::MakeArray(arena, {storage})}}));
    return json::SetPath(arena, object, {"metadata", "generation"}, json::Value::Int(1));
  }

  json::Value PrepareForUpdate(const Context& ctx, json::Value object,
                               json::Value old) const override {
    object = DefaultStrategy::PrepareForUpdate(ctx, object, old);
    if (!ctx.subresource.empty()) return object;
    const json::Value generation = old["metadata"]["generation"];
    if (object["metadata"]["generation"] == generation && SendsItemsOfNothing(ctx, object)) {
      object = json::SetPath(ctx.arena, object, {"metadata", "generation"},
                             json::Value::Int(generation.AsInt() + 1));
    }
    const json::Value storage = StorageVersion(object);
    const json::Value stored = object["status"]["storedVersions"];
    const auto items = stored.elements();
    if (storage.is_null() || std::find(items.begin(), items.end(), storage) != items.end()) {
      return object;
    }
    return json::SetPath(ctx.arena, object, {"status", "storedVersions"},
                         json::Append(ctx.arena, stored, storage));
  }

  // Admission and managedFields see an empty `conversionReviewVersions`. It is not stored, and a webhook that
  // has nothing else is not either.
  json::Value Complete(const Context& ctx, json::Value object) const override {
    const json::Value conversion = object["spec"]["conversion"];
    const json::Value webhook = conversion["webhook"];
    const bool is_empty = webhook.is_object() && webhook["clientConfig"].is_null() &&
                          webhook["conversionReviewVersions"].empty();
    return is_empty ? json::SetPath(ctx.arena, object, {"spec", "conversion"},
                                    json::Without(ctx.arena, conversion, "webhook"))
                    : object;
  }

  bool TerminatesFirst() const override { return true; }

  // Until the objects are gone; who removes them takes the finalizer away.
  bool HeldByOther(json::Value object) const override {
    return object["metadata"]["deletionTimestamp"].is_null() || HasCleanupFinalizer(object);
  }

  json::Value PrepareForTermination(const Context& ctx, json::Value object) const override {
    if (!HasCleanupFinalizer(object)) {
      object = json::SetPath(ctx.arena, object, {"metadata", "finalizers"},
                             json::Append(ctx.arena, object["metadata"]["finalizers"],
                                          json::Value::StringView(kCleanupFinalizer)));
    }
    return WithPendingDeletion(ctx, object);
  }

 private:
  static json::Value WithPendingDeletion(const Context& ctx, json::Value object) {
    json::Arena& arena = ctx.arena;
    const std::string now = base::FormatTime(ctx.clock.Now());
    json::ArrayBuilder conditions(arena);
    for (const json::Value& condition : object["status"]["conditions"].elements()) {
      if (condition["type"].AsString() != "Terminating") conditions.Add(condition);
    }
    conditions.Add(json::ObjectBuilder(arena)
                       .Set("type", "Terminating")
                       .Set("status", "True")
                       .Set("lastTransitionTime", std::string_view(now))
                       .Set("reason", "InstanceDeletionPending")
                       .Set("message",
                            "CustomResourceDefinition marked for deletion; CustomResource deletion "
                            "will begin soon")
                       .Build());
    return json::SetPath(arena, object, {"status", "conditions"}, conditions.Build());
  }
};

std::vector<std::string_view> UnknownFormats(json::Value definition) {
  std::vector<std::string_view> formats;
  VisitSchemas(definition["spec"]["versions"], [&](json::Value schema) {
    const std::string_view format = schema["format"].AsString();
    if (format.empty() || api::schema::IsFormatOf(schema["type"].AsString(), format)) return;
    if (std::find(formats.begin(), formats.end(), format) == formats.end()) {
      formats.push_back(format);
    }
  });
  return formats;
}

// Formats that nothing is held to; of an update those that are new.
void WarnOfFormats(const Context&, json::Value object, json::Value old,
                   std::vector<std::string>& warnings) {
  const std::vector<std::string_view> before = UnknownFormats(old);
  for (const std::string_view format : UnknownFormats(object)) {
    if (std::find(before.begin(), before.end(), format) != before.end()) continue;
    warnings.push_back(base::StrCat("unrecognized format ", base::GoQuote(format)));
  }
}

}  // namespace

void AddCustomResourceDefinitionStrategy(KindTable& table) {
  table.Add({.group = "apiextensions.k8s.io",
             .resource = "customresourcedefinitions",
             .validate = &ValidateCustomResourceDefinition,
             .validate_update = &ValidateCustomResourceDefinitionUpdate,
             .warn = &WarnOfFormats,
             .traits = {.counts_generation = true, .needs_version = true, .free_finalizers = true},
             .metadata = {.update = "u", .subresource = "u"},
             .make = &Make<CustomResourceDefinitions>});
}

}  // namespace portcullis::registry
