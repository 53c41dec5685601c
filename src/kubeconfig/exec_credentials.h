// SPDX-License-Identifier: Apache-2.0

// Credentials that a program prints: `exec` of a kubeconfig user, client.authentication.k8s.io/v1
// (https://kubernetes.io/docs/reference/access-authn-authz/authentication/
// #client-go-credential-plugins).
//
// The program runs when its first credentials are needed and again when they have expired. It gets
// no input, may print a megabyte and has half a minute; then it is killed with what it has started.
// Thread-safe: one run at a time, outside of the lock; who comes meanwhile waits for its outcome.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "kubeconfig/config.h"

namespace portcullis::kubeconfig {

// The server that credentials are for, as the program is told it if it `provides_cluster_info`.
struct ExecCluster {
  std::string server;  // "https://hook.example:8443"
  std::string tls_server_name;
  bool insecure_skip_tls_verify = false;
  std::string certificate_authority_pem;
  std::string proxy_url;
  bool disable_compression = false;
  // JSON: what the cluster has for the extension client.authentication.k8s.io/exec.
  std::string config = "null";
};

struct ExecCredential {
  std::string token;
  std::string certificate_pem;
  std::string key_pem;
};

class ExecCredentials {
 public:
  // `cluster`: given to the program in its input; may be null.
  ExecCredentials(ExecConfig plugin, const base::Clock& clock,
                  const ExecCluster* cluster = nullptr);

  // Blocks while the program runs, so half a minute at most. Errors are client-go's: "exec:
  // executable x failed with exit code 1".
  base::Result<ExecCredential> Get();
  // The credentials have been refused: the next Get runs the program anew.
  void Forget();

 private:
  struct Printed {
    ExecCredential credential;
    base::WallTime expires = base::WallTime::max();
  };
  // Runs the program.
  base::Result<Printed> Ask() const;

  const ExecConfig plugin_;
  const std::string question_;  // what the program finds in its environment
  const base::Clock& clock_;
  base::Mutex mutex_;
  base::CondVar answered_;
  std::optional<Printed> current_ PC_GUARDED_BY(mutex_);  // unless forgotten
  bool is_running_ PC_GUARDED_BY(mutex_) = false;
  std::uint64_t runs_ PC_GUARDED_BY(mutex_) = 0;  // that have ended
  base::Result<ExecCredential> outcome_ PC_GUARDED_BY(mutex_) = ExecCredential();  // of the last
};

// The program of one user of a kubeconfig: its credentials are the same for all servers unless it
// is told which one they are for. Thread-safe.
class ExecProgram {
 public:
  ExecProgram(ExecConfig plugin, const base::Clock& clock);

  // Equal clusters share.
  std::shared_ptr<ExecCredentials> For(const ExecCluster& cluster);

 private:
  const ExecConfig plugin_;
  const base::Clock& clock_;
  base::Mutex mutex_;
  std::map<std::string, std::weak_ptr<ExecCredentials>> known_ PC_GUARDED_BY(mutex_);
};

}  // namespace portcullis::kubeconfig
