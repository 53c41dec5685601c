// SPDX-License-Identifier: Apache-2.0

// Replies: how outcomes are written in the form a client asked for.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "json/value.h"
#include "server/call.h"

namespace portcullis::server {

// The Status object of a failure, in the form that the client accepts. REQUIRES: !status.ok().
Reply ErrorReply(Call& call, const base::Status& status);
// What a request gets whose time is up: the answer of kube-apiserver's timeout filter, which writes before
// any handler does, a Status without kind and as text, whatever the client accepts. The audit log has `cause`, which
// is what the handlers came to. REQUIRES: !cause.ok().
Reply TimeoutReply(Call& call, const base::Status& cause);
// An object in the form that the call accepts; pretty if asked for.
Reply ValueReply(Call& call, int http_status, json::Value value);
// JSON text that stands already, e.g. spliced of stored bytes.
Reply JsonTextReply(Call& call, int http_status, std::string text);
// The text that `source` makes, in the form that the call wants; what is larger than a piece is
// left for when it is sent.
base::Result<Reply> SourceReply(Call& call, std::unique_ptr<TextSource> source);
// Makes the rest of the body at once.
base::Status CompleteBody(Reply& reply);
Reply TextReply(int http_status, std::string text);
// By which FlowSchema and priority level the call was classified, if it was.
void SetFlowHeaders(const Call& call, net::Headers& headers);

}  // namespace portcullis::server
