// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "api/catalog/catalog.h"

namespace portcullis::api::catalog {

struct CatalogBase;

// Makes the types of versions that kube-apiserver still reads and serves no more out of those of later
// versions (bygone_kinds.h), as definitions by the names of their kinds. REQUIRES: `base` has all its kinds.
void AddBygoneTypes(CatalogBase& base);

// Catalog::FindSchema(), and the types of kinds in such versions.
const schema::Schema* FindReadable(const Catalog& catalog, const GroupVersionKind& kind);

}  // namespace portcullis::api::catalog
