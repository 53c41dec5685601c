// Call: one HTTP request on its way through the server, and Reply: what it is answered with.
//
// A Call belongs to the worker that handles it. Its arena holds every value made for the request;
// the snapshot of the catalog is taken at the start, so the whole request sees one set of kinds.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "admission/recorder.h"
#include "api/catalog/catalog.h"
#include "api/user_info.h"
#include "audit/event.h"
#include "base/clock.h"
#include "base/status.h"
#include "json/value.h"
#include "net/http.h"
#include "net/server.h"
#include "server/environment.h"
#include "server/negotiation.h"
#include "server/request_info.h"

namespace portcullis::server {

struct Reply {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::shared_ptr<const std::string> shared_body;  // instead of body
  net::Headers headers;
  bool streaming = false;  // the answer is (or will be) written by somebody else
};

struct Call {
  Call(const Environment& environment, std::shared_ptr<net::Exchange> its_exchange)
      : env(environment),
        exchange(std::move(its_exchange)),
        arena_owner(std::make_shared<json::Arena>()),
        arena(*arena_owner) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  const Environment& env;
  std::shared_ptr<net::Exchange> exchange;
  std::shared_ptr<json::Arena> arena_owner;
  json::Arena& arena;
  admission::Recorder recorder;
  RequestInfo info;
  api::UserInfo user;
  std::shared_ptr<const api::catalog::Catalog> catalog;
  // Set for resource requests that name something served.
  const api::catalog::ResourceInfo* resource = nullptr;
  const api::catalog::SubresourceInfo* subresource = nullptr;
  Accepted accepted;
  base::SteadyTime deadline;
  std::string body;
  std::optional<audit::Event> audit;
  std::string audit_id;
  bool dry_run = false;

  const net::Headers& headers() const { return exchange->request().headers; }
  api::GroupResource group_resource() const { return resource->resource.group_resource(); }
  // The kind of the objects this request reads and writes: the subresource's or the resource's.
  const api::GroupVersionKind& kind() const {
    return subresource != nullptr && !subresource->kind.kind.empty() ? subresource->kind
                                                                     : resource->kind;
  }
};

}  // namespace portcullis::server
