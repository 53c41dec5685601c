// SPDX-License-Identifier: Apache-2.0

// ApiServer: the composition root. It makes every part by the options, wires them together, and
// serves until it is stopped.
//
//   auto server = TRY(server::ApiServer::Create(options, base::SystemClock()));
//   TRY(server->Start());                      // listens; server->port() is known
//   …
//   server->Stop();
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "server/options.h"

namespace portcullis::server {

// Thread-safe after Start(). Destroying it stops it.
class ApiServer {
 public:
  virtual ~ApiServer() = default;

  // Opens the store and builds everything; nothing listens yet. Errors are the operator's: a flag,
  // a file, a folder, each named.
  static base::Result<std::unique_ptr<ApiServer>> Create(const Options& options,
                                                         const base::Clock& clock);

  // Binds the port, makes the boot objects, writes the kubeconfig. When it returns the server is
  // ready.
  virtual base::Status Start() = 0;
  // From now on /readyz says that the server is stopping; it goes on serving.
  virtual void AnnounceStop() = 0;
  // Gives back what only the start has needed: documents of objects that were read then, and what the
  // allocator keeps. Requests may be under way.
  virtual void ForgetStart() = 0;
  // Lets requests under way finish for at most `grace`.
  virtual void Stop(std::chrono::milliseconds grace) = 0;

  virtual int port() const = 0;
  virtual const std::string& url() const = 0;              // "https://127.0.0.1:6443"
  virtual const std::string& kubeconfig_path() const = 0;  // "" if none was written
};

}  // namespace portcullis::server
