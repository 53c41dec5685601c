// SPDX-License-Identifier: Apache-2.0

// The built-in part of a catalog, shared by all snapshots made from it.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api/catalog/catalog.h"

namespace portcullis::api::catalog {

// Immutable after construction.
struct CatalogBase {
  std::string_view file;  // the catalog file; lives as long as the program or `owned_file`
  std::string owned_file;
  schema::SchemaPool pool;
  std::deque<ResourceInfo> resources;  // all, also those that are not served
  std::vector<const ResourceInfo*> served;
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;  // in discovery order
  std::unordered_map<GroupVersionKind, const schema::Schema*> kinds;
  std::unordered_map<std::string_view, const schema::Schema*> definitions;
};

// Reads the `catalog` section of a catalog file; ObjectMeta gets the field `initializers` if asked, as
// the release has it.
base::Result<std::shared_ptr<CatalogBase>> LoadBase(std::string_view file,
                                                    const LegacyOptions& legacy);

}  // namespace portcullis::api::catalog
