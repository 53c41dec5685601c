// What `portcullis schema import --server=…` asks a running API server for: the documents that the
// import reads from files otherwise.
#pragma once

#include <string>

#include "api/catalog/import.h"
#include "base/status.h"
#include "json/value.h"

namespace portcullis::cli {

struct LiveServer {
  std::string url;  // "https://127.0.0.1:6443"
  std::string ca_pem;
  std::string certificate_pem;
  std::string key_pem;
  std::string token;
  bool insecure = false;
};

// Fills in discovery, OpenAPI and columns; everything lives in `arena`. The user needs to be
// allowed to list what has columns; columns of other resources stay unknown.
base::Status FetchSchema(const LiveServer& server, json::Arena& arena,
                         api::catalog::ImportInput& input);

}  // namespace portcullis::cli
