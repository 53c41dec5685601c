// SPDX-License-Identifier: Apache-2.0

// ObjectInterfaces: what admission asks of the server about kinds of objects, built-in or custom:
// which resources are the same thing in another version, and how an object is converted, decoded
// and defaulted. The server implements it over the catalog and the CustomResourceDefinitions.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "api/names.h"
#include "base/status.h"
#include "json/value.h"

namespace portcullis::api::schema {
struct Schema;
}

namespace portcullis::admission {

// A resource that serves a kind.
struct ResourceOfKind {
  api::GroupVersionResource resource;
  bool namespaced = false;
};

// Thread-safe.
class ObjectInterfaces {
 public:
  virtual ~ObjectInterfaces() = default;

  // All resources (the given one included) that stand for the same stored objects and have the same
  // subresource, in the order in which they were installed.
  virtual std::vector<api::GroupVersionResource> Equivalents(
      const api::GroupVersionResource& resource, std::string_view subresource) const = 0;
  // The kind served there; an empty kind if unknown.
  virtual api::GroupVersionKind KindFor(const api::GroupVersionResource& resource,
                                        std::string_view subresource) const = 0;
  // The resources whose objects are of this kind; none if it is not served.
  virtual std::vector<ResourceOfKind> ResourcesOf(const api::GroupVersionKind& kind) const {
    static_cast<void>(kind);
    return {};
  }

  // What objects of the kind look like; null if it is unknown.
  virtual std::shared_ptr<const api::schema::Schema> SchemaOf(
      const api::GroupVersionKind& kind) const {
    static_cast<void>(kind);
    return nullptr;
  }

  // `object` as `kind`, with apiVersion and kind set. The object itself if it is of that kind.
  virtual base::Result<json::Value> Convert(json::Arena& arena, json::Value object,
                                            const api::GroupVersionKind& kind) const = 0;
  // Whether Convert() to the kind may wait for a webhook.
  virtual bool ConversionWaits(const api::GroupVersionKind& kind) const {
    static_cast<void>(kind);
    return false;
  }

  // Decodes JSON that a webhook or policy has produced, as kube-apiserver decodes the result of a
  // patch: by its own apiVersion and kind, unknown fields of built-in kinds dropped, Go's texts for
  // wrong types and for a kind other than `kind`. No defaulting. `repeats_keys`: the object has every
  // member of repeated keys (json/duplicates.h); the result has each once. `known`: an earlier state of
  // the object as admission has it: what both share is not looked at again.
  virtual base::Result<json::Value> Decode(json::Arena& arena, json::Value object,
                                           const api::GroupVersionKind& kind,
                                           bool repeats_keys = false,
                                           json::Value known = {}) const = 0;
  // Applies the version's defaults again. Fails if that makes the object too large to be stored. `known`:
  // an earlier state of the object that had its defaults: what both share is not looked at again.
  virtual base::Result<json::Value> Default(json::Arena& arena, json::Value object,
                                            const api::GroupVersionKind& kind,
                                            json::Value known = {}) const = 0;
  // Semantic equality: absent, null and empty collections are equal, quantities and times by value.
  virtual bool SemanticallyEqual(json::Value a, json::Value b,
                                 const api::GroupVersionKind& kind) const = 0;
};

}  // namespace portcullis::admission
