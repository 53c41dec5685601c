// SPDX-License-Identifier: Apache-2.0

// CatalogObjects answers ObjectInterfaces from a catalog: built-in kinds by their schemas and
// rules, custom resources as they stand, converted as their definition says (which may wait for a
// webhook). Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "admission/object_interfaces.h"
#include "api/catalog/catalog.h"
#include "api/schema/defaulting.h"

namespace portcullis::admission {

class CatalogObjects : public ObjectInterfaces {
 public:
  using CatalogSource = std::function<std::shared_ptr<const api::catalog::Catalog>()>;

  // `defaulter` outlives it; null: built-in kinds are not defaulted.
  CatalogObjects(CatalogSource catalog, const api::schema::Defaulter* defaulter);

  std::vector<api::GroupVersionResource> Equivalents(const api::GroupVersionResource& resource,
                                                     std::string_view subresource) const override;
  std::vector<ResourceOfKind> ResourcesOf(const api::GroupVersionKind& kind) const override;
  api::GroupVersionKind KindFor(const api::GroupVersionResource& resource,
                                std::string_view subresource) const override;
  std::shared_ptr<const api::schema::Schema> SchemaOf(
      const api::GroupVersionKind& kind) const override;
  base::Result<json::Value> Convert(json::Arena& arena, json::Value object,
                                    const api::GroupVersionKind& kind) const override;
  bool ConversionWaits(const api::GroupVersionKind& kind) const override;
  base::Result<json::Value> Decode(json::Arena& arena, json::Value object,
                                   const api::GroupVersionKind& kind, bool repeats_keys = false,
                                   json::Value known = {}) const override;
  base::Result<json::Value> Default(json::Arena& arena, json::Value object,
                                    const api::GroupVersionKind& kind,
                                    json::Value known = {}) const override;
  bool SemanticallyEqual(json::Value a, json::Value b,
                         const api::GroupVersionKind& kind) const override;

 private:
  const CatalogSource catalog_;
  const api::schema::Defaulter* const defaulter_;
};

}  // namespace portcullis::admission
