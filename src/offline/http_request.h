// SPDX-License-Identifier: Apache-2.0

// HttpRequest: a write as the HTTP API names it, by method, path and query, and the options of the
// engine that follow from it. Test files, audit logs and recordings have requests in this form.
//
//   HttpRequest request;
//   request.method = "PATCH";
//   TRY(ReadUri(request, "/api/v1/namespaces/a/pods/b?fieldManager=kubectl"));
//   TRY(Resolve(op, request));                    // resource, subresource, verb, namespace, name
//   const engine::Input input = ReadInput(op, request);
//
// What a client does wrong with a query is not found here: server/rest_options.h does that.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "authz/authorizer.h"
#include "base/status.h"
#include "engine/operation.h"
#include "engine/options.h"
#include "engine/read/listing.h"
#include "json/value.h"

namespace portcullis::offline {

struct HttpRequest {
  std::string method;
  std::string group;
  std::string version;
  std::string ns;
  std::string resource;
  std::string name;
  std::string subresource;
  std::string rest;  // of the path of a connection: "/healthz"
  std::vector<std::pair<std::string, std::string>> query;
  std::string content_type;
  std::string user_agent;
  std::string body;

  std::string_view Parameter(std::string_view parameter) const;  // the first of that name, or ""
  std::vector<std::string> Parameters(std::string_view parameter) const;
};

// A path without a query, nothing in it escaped. One that is no resource's is an error.
base::Status ReadPath(HttpRequest& request, std::string_view path);
// A path with its query, both escaped as HTTP has them.
base::Status ReadUri(HttpRequest& request, std::string_view uri);

authz::Attributes AttributesOf(const HttpRequest& request, const api::UserInfo& user);

// Names resource, subresource and verb in `op`. Errors as kube-apiserver's: 404, 405.
base::Status Resolve(engine::Operation& op, const HttpRequest& request);

// `op` has been resolved; whether it is a dry run is set in it.
engine::Input ReadInput(engine::Operation& op, const HttpRequest& request);
base::Result<engine::DeleteOptions> ReadDeleteOptions(engine::Operation& op,
                                                      const HttpRequest& request);
engine::ListOptions ReadListOptions(const HttpRequest& request);

// What is answered: a Status with all that a webhook has said in it, and a list.
json::Value StatusValue(engine::Operation& op, const base::Status& status);
base::Result<json::Value> ListValue(engine::Operation& op, const engine::Listing& listing);

}  // namespace portcullis::offline
