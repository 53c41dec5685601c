// SPDX-License-Identifier: Apache-2.0

// Client calls the server of one ClientConfig as its user: audit and authorization webhooks, image
// policies (k8s.io/apiserver/pkg/util/webhook, GenericWebhook), `schema import`, and the watches of
// `portcullis webhook`.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"
#include "kubeconfig/client_config.h"
#include "kubeconfig/identity.h"
#include "net/client.h"
#include "net/tls.h"

namespace portcullis::kubeconfig {

struct ClientOptions {
  base::Duration timeout = std::chrono::seconds(30);           // of each try; the server is told
  base::Duration first_wait = std::chrono::milliseconds(500);  // before the second try, then 1.5×
  int tries = 5;                                               // of Post
};

// Thread-safe. Immutable after construction.
class Client {
 public:
  // `https` outlives the client; null: every call fails. Errors are client-go's.
  static base::Result<Client> Create(const ClientConfig& config, const ClientOptions& options,
                                     net::HttpsClient* https);
  // For the current context of the file at `path`; "": no configuration has been provided.
  static base::Result<Client> Load(const std::string& path, const ClientOptions& options,
                                   net::HttpsClient* https);

  // Posts the body to the server's URL and gives an answer with a good status to `read`; tries
  // again when the connection breaks, the server is overloaded or `read` finds an InternalError, until
  // `deadline`. An error is the client's (`Post "…": EOF`), the server's Status, or what `read` has said.
  base::Status Post(std::shared_ptr<const std::string> body,
                    const std::function<base::Status(const net::Response&)>& read,
                    base::SteadyTime deadline = base::SteadyTime::max()) const;

  // One GET of `path` below the server's URL ("/openapi/v3"). An error is of credentials; failures
  // of the call are in the result.
  base::Result<net::CallResult> Get(std::string_view path, std::string_view accept) const;
  // The same, whose body goes to `on_data` in pieces, not compressed: see net::ClientRequest.
  using OnData = std::function<void(const net::ResponseHead& head, std::string_view piece)>;
  base::Result<net::CallResult> Download(std::string_view path, OnData on_data) const;
  // Any method; `body` may be null.
  base::Result<net::CallResult> Send(std::string_view method, std::string_view path,
                                     net::Headers headers,
                                     std::shared_ptr<const std::string> body) const;
  // Begins a GET whose body comes in pieces as they arrive: a watch. Both functions are called on I/O
  // threads, `done` once, after the last piece. An error is of credentials.
  base::Result<std::shared_ptr<net::PendingCall>> Begin(
      std::string_view path, base::SteadyTime deadline,
      std::function<void(const net::ResponseHead& head, std::string_view piece)> on_data,
      net::HttpsClient::Done done) const;

  // Whether a call may run a program for credentials, for which it holds its thread; what else it
  // waits for, it waits for as a net::CallSet does.
  bool runs_program() const { return runs_program_; }

 private:
  Client() = default;
  base::Result<net::ClientRequest> RequestOf(std::string_view method, std::string_view path) const;
  net::CallResult Call(net::CallSet& calls, const net::SharedRequest& request,
                       base::SteadyTime deadline = base::SteadyTime::max()) const;

  net::HttpsClient* https_ = nullptr;
  ClientOptions options_;
  std::string url_;
  std::shared_ptr<const net::ProxyRules> proxies_;
  bool disable_compression_ = false;
  bool runs_program_ = false;
  std::shared_ptr<net::ClientTlsCache> tls_cache_;
  std::shared_ptr<const Identity> identity_;
};

}  // namespace portcullis::kubeconfig
