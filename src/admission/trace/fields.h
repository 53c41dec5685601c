// SPDX-License-Identifier: Apache-2.0

// Who has set each field of the object that a traced operation has made: the client, defaulting, a
// plugin, a webhook, a policy, the server; or that it was stored like that before.
#pragma once

#include <string>
#include <vector>

#include "admission/trace/trace.h"

namespace portcullis::admission {

struct FieldOrigin {
  std::string path;  // JSON Pointer (RFC 6901); "" is the whole object
  std::string set_by;
};

// "client", "stored", "defaulting", "server", "strategy", "plugin/LimitRanger",
// "webhook/<configuration>/<webhook>", "policy/<policy>/<binding>".
std::string SetByText(const TraceActor& actor);

// In the order of the object; a path stands for all that is below it. Changes that several webhooks
// have made in another version than the request's name each of them, separated by ", ".
std::vector<FieldOrigin> FieldOrigins(const Trace& trace);

}  // namespace portcullis::admission
