// Requests that the server sends to itself without a socket: controllers are clients like all
// others, under the service account they run as. What they do is authorized, admitted and audited.
#pragma once

#include <memory>
#include <string>

#include "controllers/controller.h"
#include "net/server.h"

namespace portcullis::server {

// `handle` is where the network hands its requests too; it outlives the client. `account` is the
// name of a service account in kube-system. Thread-safe; Do() blocks until the answer is there.
std::unique_ptr<controllers::ApiClient> MakeLoopbackClient(net::Handler handle, std::string account,
                                                           const base::Clock& clock);

}  // namespace portcullis::server
