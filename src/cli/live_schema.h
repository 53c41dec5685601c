// SPDX-License-Identifier: Apache-2.0

// What `portcullis schema import --server=…` asks a running API server for: the documents that the
// import reads from files otherwise.
#pragma once

#include "api/catalog/import.h"
#include "base/status.h"
#include "json/value.h"
#include "kubeconfig/client_config.h"

namespace portcullis::cli {

// Fills in discovery, OpenAPI and columns; everything lives in `arena`. The user needs to be
// allowed to list what has columns; columns of other resources stay unknown.
base::Status FetchSchema(const kubeconfig::ClientConfig& server, json::Arena& arena,
                         api::catalog::ImportInput& input);

}  // namespace portcullis::cli
