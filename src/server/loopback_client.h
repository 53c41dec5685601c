// Requests that the server sends to itself without a socket: controllers are clients like all
// others, under the service account they run as. What they do is authorized, admitted and audited.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/controller.h"
#include "net/server.h"

namespace portcullis::server {

// Whom the server takes the client for.
struct LoopbackUser {
  std::string name;
  std::vector<std::string> groups;
  std::string agent;  // the User-Agent, which names the owner of fields
};

// A service account in kube-system; and the server itself, as what it keeps about itself shows.
LoopbackUser ControllerUser(std::string_view account);
LoopbackUser ServerItself();

// `handle` is where the network hands its requests too; it outlives the client. Thread-safe; Do()
// blocks until the answer is there.
std::unique_ptr<controllers::ApiClient> MakeLoopbackClient(net::Handler handle,
                                                           const LoopbackUser& user,
                                                           const base::Clock& clock);

}  // namespace portcullis::server
