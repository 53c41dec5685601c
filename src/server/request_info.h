// SPDX-License-Identifier: Apache-2.0

// RequestInfo: what a method and a path ask for, before anything is known about resources
// (k8s.io/apiserver/pkg/endpoints/request, RequestInfoFactory). Value type.
//
//   GET /apis/apps/v1/namespaces/default/deployments/web/scale
//   -> verb get, group apps, version v1, namespace default, resource deployments, name web,
//      subresource scale
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "authz/selectors.h"
#include "server/query.h"

namespace portcullis::server {

struct RequestInfo {
  bool is_resource = false;
  std::string path;    // decoded, without the query
  std::string method;  // as sent
  std::string verb;    // get, list, watch, create, update, patch, delete, deletecollection; else
                       // the method in lower case
  std::string api_prefix;  // "api" or "apis"
  std::string api_group;
  std::string api_version;
  std::string name_space;
  std::string resource;
  std::string subresource;
  std::string name;
  std::vector<std::string> parts;  // resource, name, subresource, and what follows
  Query query;
  // Of list, watch and deletecollection, but not of watches by their path (/watch/…), which do not
  // all heed selectors.
  authz::Selectors selectors;
  std::string error;  // why the path cannot be understood at all; mostly empty
};

// `target` is the request target as it came ("/api/v1/pods?limit=1").
RequestInfo ParseRequestInfo(std::string_view method, std::string_view target);

}  // namespace portcullis::server
