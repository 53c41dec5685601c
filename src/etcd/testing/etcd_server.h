// SPDX-License-Identifier: Apache-2.0

// Real etcd for tests: the program `etcd` of the machine, with data in a folder of its own below the
// system's temporary folder, on free ports of 127.0.0.1.
//
//   if (!EtcdServer::Available()) GTEST_SKIP() << "there is no program etcd";
//   EtcdServer etcd;
//   ASSERT_TRUE(etcd.Start());
//   … etcd.endpoint() …
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace portcullis::etcd::testing {

// Files of PEM for a server that wants client certificates.
struct EtcdTls {
  std::string ca_file;
  std::string certificate_file;
  std::string key_file;
};

// One member. Confined to one thread. Killed, and its folder removed, when destroyed; killed also if
// the test ends in another way.
class EtcdServer {
 public:
  struct Options {
    std::string name = "one";
    std::vector<std::string> arguments;  // further flags of etcd
    std::string initial_cluster;         // "": it is alone
    int peer_port = 0;                   // 0: any free one
    EtcdTls tls;                         // of clients; empty: none
  };

  static bool Available();
  static int FreePort();  // no other socket gets it before the program ends

  EtcdServer();
  explicit EtcdServer(Options options);
  ~EtcdServer();
  EtcdServer(const EtcdServer&) = delete;
  EtcdServer& operator=(const EtcdServer&) = delete;

  // Starts the program, again with the same data and ports after Stop. With `wait` it returns when
  // etcd is ready to serve; false if it has ended before.
  bool Start(bool wait = true);
  bool WaitUntilReady();
  void Kill() { Stop(9); }
  void Stop(int signal);
  // SIGSTOP and SIGCONT: connected, but not answering.
  void Pause();
  void Resume();

  std::string endpoint() const;
  int port() const { return port_; }

 private:
  struct Output;
  std::vector<std::string> CommandLine() const;

  const Options options_;
  std::string folder_;
  int port_ = 0;
  int peer_port_ = 0;
  pid_t pid_ = -1;
  std::shared_ptr<Output> output_;  // of the run under way
  std::thread reader_;
};

// Several members of one cluster.
class EtcdCluster {
 public:
  explicit EtcdCluster(int size = 3, std::vector<std::string> arguments = {});
  // All are started and ready.
  bool Start();
  EtcdServer& member(int index) { return *members_[static_cast<std::size_t>(index)]; }
  std::vector<std::string> endpoints() const;

 private:
  std::vector<std::unique_ptr<EtcdServer>> members_;
};

}  // namespace portcullis::etcd::testing
