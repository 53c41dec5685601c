// SPDX-License-Identifier: Apache-2.0

// The paths of custom resources in OpenAPI: operations with their parameters, bodies and responses
// (apiextensions-apiserver, pkg/controller/openapi/builder).
#pragma once

#include <string>

#include "api/catalog/catalog.h"
#include "json/value.h"

namespace portcullis::api::catalog {

// "stable.example.com", v1, CronTab: com.example.stable.v1.CronTab; with "_v2" behind it if this is one of the
// definitions `taken`, those of Kubernetes in OpenAPI v2. Null: none is.
std::string CustomDefinitionName(const GroupVersionKind& kind, json::Value taken);

enum class OpenApi { kV2, kV3 };

void AddCustomPaths(json::Arena& arena, const ResourceInfo& info, OpenApi version,
                    json::Value taken, json::ObjectBuilder& paths);

}  // namespace portcullis::api::catalog
