// SPDX-License-Identifier: Apache-2.0

// The OpenAPI documents of the embedded catalog. They are kept compressed as recorded (without
// descriptions) and unpacked on demand; callers cache what they serve.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "api/catalog/catalog.h"
#include "base/status.h"

namespace portcullis::api::catalog {

// The openAPIV3Schema of a custom resource's version as its definition has it, descriptions and
// all, which the catalog does not keep; null if it is gone.
using SchemaText = std::function<json::Value(json::Arena& arena, const ResourceInfo& resource)>;

// The whole document of GET /openapi/v2, as JSON text; custom resources are added.
base::Result<std::string> OpenApiV2(const Catalog& catalog, const SchemaText& text);

struct OpenApiV3Path {
  std::string path;  // "apis/apps/v1"
  std::string url;   // "/openapi/v3/apis/apps/v1?hash=…"
};
// GET /openapi/v3: the served paths in order.
base::Result<std::vector<OpenApiV3Path>> OpenApiV3Paths(const Catalog& catalog);
// GET /openapi/v3/<path>; NotFound for others.
base::Result<std::string> OpenApiV3(const Catalog& catalog, std::string_view path,
                                    const SchemaText& text);

}  // namespace portcullis::api::catalog
