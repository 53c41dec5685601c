// SPDX-License-Identifier: Apache-2.0

// Content that clients keep and ask for in parts: ETag, Last-Modified, conditions and ranges of bytes (RFC 9110 §13
// and §14), as Go's http.ServeContent serves it. Pure functions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "net/http.h"
#include "server/call.h"

namespace portcullis::server {

struct Content {
  std::shared_ptr<const std::string> bytes;
  std::string type;           // "application/json"
  std::string etag;           // with its quotes; "": it has none
  std::int64_t modified = 0;  // seconds since 1970
};

// `reply` has the headers that each answer gets. An answer with content has `Accept-Ranges`.
Reply ServeContent(const net::Request& request, Content content, Reply reply);

}  // namespace portcullis::server
