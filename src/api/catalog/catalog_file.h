// SPDX-License-Identifier: Apache-2.0

// The container of a catalog file: named sections, each compressed on its own
// (docs/internals/catalog.md).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace portcullis::api::catalog {

inline constexpr std::string_view kCatalogSection = "catalog";
inline constexpr std::string_view kOpenApiV2Section = "openapi/v2";
inline constexpr std::string_view kOpenApiV3Section = "openapi/v3";

std::string PackSections(const std::vector<std::pair<std::string, std::string>>& sections);
// The unpacked text of a section. NotFound if the file has none of this name, ConfigError if the
// bytes are no catalog file.
base::Result<std::string> UnpackSection(std::string_view file, std::string_view name);

}  // namespace portcullis::api::catalog
