// SPDX-License-Identifier: Apache-2.0

// /openapi/v2 with what aggregated API servers serve (k8s.io/kube-aggregator/pkg/controllers/openapi/aggregator).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "json/value.h"

namespace portcullis::server {

// Of a document of OpenAPI v2 what is merged of an APIService: paths below `prefix`, and all definitions and
// parameters. "" if there are no such paths.
std::string OpenApiV2Of(json::Value document, std::string_view prefix);
// The document with such parts. A definition that is another one here gets another name there.
base::Result<std::string> MergedOpenApiV2(std::string_view document,
                                          const std::vector<std::string>& parts);

}  // namespace portcullis::server
