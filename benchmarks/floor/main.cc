// SPDX-License-Identifier: Apache-2.0

// The least that an acknowledged write over HTTPS can cost: a POST is appended to a file, which is
// synchronised, and sent back. Nothing is decoded or checked. benchmarks/side_by_side.py measures it beside
// API servers with the same load.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>

#include "base/file.h"
#include "loopback_tls.h"
#include "net/server.h"

namespace portcullis {
namespace {

// Called on I/O threads, each of which waits for its own writes.
void Answer(int file, const std::shared_ptr<net::Exchange>& exchange) {
  const net::Request& request = exchange->request();
  net::Response response;
  response.headers.Add("Content-Type", "application/json");
  response.body = request.body.empty() ? "{}" : request.body;
  if (request.method == "POST") {
    response.status = 201;
    const auto size = static_cast<ssize_t>(request.body.size());
    if (write(file, request.body.data(), request.body.size()) != size || fdatasync(file) != 0) {
      response.status = 500;
    }
  }
  exchange->Respond(std::move(response));
}

base::Status Run(const std::string& folder) {
  const LoopbackTls identity = TRY(MakeLoopbackTls("portcullis-floor"));
  const int file = open((folder + "/writes").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (file < 0) return base::ConfigError("cannot write to " + folder);
  net::IoThreads threads(static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
  net::ServerOptions options;
  options.tls = identity.tls;
  const auto server = TRY(net::HttpsServer::Listen(
      threads, std::move(options),
      [file](const std::shared_ptr<net::Exchange>& exchange) { Answer(file, exchange); }));
  TRY(base::WriteSharedFile(folder + "/ca.crt", identity.ca_pem));
  std::printf("https://%s\n", server->address().c_str());
  std::fflush(stdout);
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  int signal = 0;
  sigwait(&ends, &signal);
  return base::OkStatus();
}

}  // namespace
}  // namespace portcullis

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr,
                 "usage: portcullis-floor DIRECTORY   (for the file and ca.crt; prints its URL)\n");
    return 2;
  }
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  const auto status = portcullis::Run(argv[1]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "portcullis-floor: %s\n", status.message().c_str());
  return 1;
}
