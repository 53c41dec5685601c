// SPDX-License-Identifier: Apache-2.0

// Peers for tests that say exactly the bytes they are told to: a client (RawPeer) and a server
// (RawServer), both blocking, with or without TLS.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "pki/certificates.h"

namespace portcullis::net::testing {

// One blocking connection. Reads give up after ten seconds. Confined to one thread at a time.
class RawPeer {
 public:
  struct Tls {
    std::string alpn;     // "", "h2" or "http/1.1"
    pki::KeyPair client;  // client certificate, optional
    int max_version = 0;  // OpenSSL's number; 0: any
    int min_version = 0;
    std::string server_name;  // SNI
  };

  // Plain TCP to 127.0.0.1:port.
  static std::unique_ptr<RawPeer> Connect(int port);
  // TLS without verification; null and `error` filled if the handshake fails, "timed out" if the
  // server says nothing.
  static std::unique_ptr<RawPeer> ConnectTls(int port, const Tls& tls,
                                             std::string* error = nullptr);
  ~RawPeer();

  bool Send(std::string_view bytes);  // all of it
  std::string Read();                 // what comes next, "" at the end
  std::string ReadUntil(std::string_view mark);
  std::string ReadToEnd();
  bool timed_out() const { return timed_out_; }  // the last read has given up
  // Carries what comes from one to the other until either ends.
  static void Relay(RawPeer& a, RawPeer& b);
  void ShutdownWrite();
  void Reset();                         // closes so that the other side sees a reset
  std::string PeerCertificate() const;  // PEM of the server's leaf

 private:
  friend class RawServer;
  bool HasPending() const;
  explicit RawPeer(int fd);
  int fd_ = -1;
  bool timed_out_ = false;
  void* ssl_ = nullptr;
  void* context_ = nullptr;
};

// Runs `script` for each connection, on a thread of its own. The destructor shuts the connections
// down and waits for the scripts.
class RawServer {
 public:
  using Script = std::function<void(RawPeer& peer, int number)>;  // number counts from 1

  explicit RawServer(Script script);
  // `alpn`: the protocol it chooses ("h2") if the client offers that, and none otherwise.
  RawServer(Script script, pki::KeyPair serving, int max_tls_version = 0, std::string alpn = "");
  ~RawServer();
  int port() const { return port_; }
  int connections() const { return connections_; }

 private:
  void Run();
  void Serve(int fd, int number);
  Script script_;
  pki::KeyPair serving_;
  int max_tls_version_ = 0;
  std::string alpn_;
  int fd_ = -1;
  int port_ = 0;
  std::atomic<int> connections_{0};
  std::thread thread_;
  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::set<int> open_;  // sockets that the destructor must shut down
};

// A certificate authority with a serving certificate for 127.0.0.1 and localhost, and one of a client.
struct TestCertificates {
  pki::KeyPair authority;
  pki::KeyPair serving;
  pki::KeyPair client;
  // The names that the serving one is for besides 127.0.0.1.
  static TestCertificates Make(const std::vector<std::string>& dns_names = {"localhost"});
};

}  // namespace portcullis::net::testing
