// SPDX-License-Identifier: Apache-2.0

// The data files of this module inside the program.
#pragma once

#include <string_view>

namespace portcullis::api {

std::string_view EmbeddedCatalogFile();      // src/api/data/kubernetes-1.36.catalog
std::string_view EmbeddedDefaultRules();     // src/api/data/defaults.rules
std::string_view EmbeddedConversionRules();  // src/api/data/conversions.rules

}  // namespace portcullis::api
