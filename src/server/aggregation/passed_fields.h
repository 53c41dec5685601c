// SPDX-License-Identifier: Apache-2.0

// The header fields of requests that are passed on to an aggregated API server, and of its answers.
#pragma once

#include <string>
#include <string_view>

#include "net/http.h"
#include "server/call.h"

namespace portcullis::server {

// url.Values.Encode: by keys.
std::string EncodeQuery(std::string_view query);
// Who a request is from.
void AddUser(const api::UserInfo& user, net::Headers& out);
// What is sent to `host`; `path` is that of the request, escaped.
net::Headers RequestFields(const Call& call, const std::string& host, const std::string& path);
// Of a request for an upgrade, which goes as it came but for who sends it.
net::Headers UpgradeFields(const Call& call);
// Whether a field of an answer, in lower case, is not passed back.
bool StaysBehind(const net::Headers& all, std::string_view name);

}  // namespace portcullis::server
