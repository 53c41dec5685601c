// Credentials that a program prints: `exec` of a kubeconfig user, client.authentication.k8s.io/v1
// (https://kubernetes.io/docs/reference/access-authn-authz/authentication/
// #client-go-credential-plugins).
//
// The program runs when its first credentials are needed and again when they have expired; it is
// never asked for input and has half a minute. Thread-safe: one run at a time, others wait for it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"

namespace portcullis::webhook {

struct ExecPlugin {
  std::string command;
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> environment;  // besides the server's own
  std::string api_version;
};

struct ExecCredential {
  std::string token;
  std::string certificate_pem;
  std::string key_pem;
};

class ExecCredentials {
 public:
  ExecCredentials(ExecPlugin plugin, const base::Clock& clock);

  // Blocks while the program runs. Errors are client-go's: "exec: executable x failed with exit
  // code 1".
  base::Result<ExecCredential> Get();
  // The credentials have been refused: the next Get runs the program anew.
  void Forget();

 private:
  base::Status Renew() PC_REQUIRES(mutex_);

  const ExecPlugin plugin_;
  const base::Clock& clock_;
  base::Mutex mutex_;
  bool has_ PC_GUARDED_BY(mutex_) = false;
  ExecCredential credential_ PC_GUARDED_BY(mutex_);
  base::WallTime expires_ PC_GUARDED_BY(mutex_) = base::WallTime::max();
};

}  // namespace portcullis::webhook
