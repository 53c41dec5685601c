// SPDX-License-Identifier: Apache-2.0

// TlsReloader keeps a server's certificates in step with the files they came from, as
// kube-apiserver does: replace the files, and new connections get the new certificate.
//
//   TlsReloader reloader(threads, *server, tls_options, {"tls.crt", "tls.key", "ca.crt"});
//
// Thread-safe. Must be destroyed before the server and the threads.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "net/io_threads.h"
#include "net/server.h"
#include "net/tls.h"

namespace portcullis::net {

// Where parts of ServerTlsOptions come from; an empty name leaves the part as it is.
struct TlsFiles {
  std::string certificate;
  std::string key;
  std::string client_ca;
  std::string more_client_cas_pem;  // certificates that stand in no file, after those of client_ca
  // Certificate and key of each of ServerTlsOptions::sni; empty leaves all of them as they are.
  std::vector<std::pair<std::string, std::string>> sni;
};

class TlsReloader {
 public:
  // `options` is what the server was started with. Looks at the files every `interval`.
  TlsReloader(IoThreads& threads, HttpsServer& server, ServerTlsOptions options, TlsFiles files,
              std::chrono::milliseconds interval = std::chrono::seconds(10));
  ~TlsReloader();

  enum class Outcome { kUnchanged, kReloaded, kFailed };
  // Looks now. On failure (files half written, a key that does not fit) the server keeps what it
  // has and the log says why, once for each cause.
  Outcome Check();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace portcullis::net
