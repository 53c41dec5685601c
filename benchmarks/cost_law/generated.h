// SPDX-License-Identifier: Apache-2.0

// Families of every list, map and text of every kind that discovery has, from their schemas.
#pragma once

#include <vector>

#include "api/catalog/catalog.h"
#include "base/status.h"
#include "family.h"

namespace portcullis::cost_law {

struct GeneratedOptions {
  // Each field of each Go type once; else once in every kind that has it.
  bool once = true;
};

// `catalog` must outlive the families.
base::Result<std::vector<Family>> GeneratedFamilies(const api::catalog::Catalog& catalog,
                                                    const GeneratedOptions& options);

}  // namespace portcullis::cost_law
