// SPDX-License-Identifier: Apache-2.0

// A step of a scenario as a request to the engine: a line of JSON, in which nothing is encoded as HTTP
// encodes it.
//
//   {"method": "POST", "path": "/api/v1/namespaces/a/pods", "query": [["dryRun", "All"]],
//    "headers": [["Content-Type", "application/json"]], "body": "{…}"}
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "authz/authorizer.h"
#include "base/status.h"
#include "engine/operation.h"
#include "engine/options.h"
#include "json/value.h"
#include "net/http.h"

namespace portcullis::conformance {

struct Request {
  std::string method;
  std::vector<std::string> parts;  // of the path, behind the version
  std::string group;
  std::string version;
  std::string ns;
  std::string resource;
  std::string name;
  std::string subresource;
  std::string rest;  // of the path of a connection: "/healthz"
  std::vector<std::pair<std::string, std::string>> query;
  net::Headers headers;
  std::string body;

  std::string_view Parameter(std::string_view name) const;  // the first of that name, or ""
  std::vector<std::string> Parameters(std::string_view name) const;
};

// Paths that are no resource's are an error.
base::Result<Request> ReadRequest(json::Value line);

authz::Attributes AttributesOf(const Request& request, const api::UserInfo& user);

// Names resource, subresource and verb in `op`. Errors as kube-apiserver's: 404, 405.
base::Status Resolve(engine::Operation& op, const Request& request);

engine::Input ReadInput(engine::Operation& op, const Request& request);
base::Result<engine::DeleteOptions> ReadDeleteOptions(engine::Operation& op,
                                                      const Request& request);
engine::ListOptions ReadListOptions(const Request& request);

}  // namespace portcullis::conformance
