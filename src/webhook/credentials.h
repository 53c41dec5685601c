// Credentials with which webhooks are called: the users of a kubeconfig file, chosen by the host of
// the webhook (https://kubernetes.io/docs/reference/access-authn-authz/
// extensible-admission-controllers/#authenticate-apiservers).
//
// Immutable after construction.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "json/value.h"
#include "net/client.h"
#include "net/http.h"
#include "net/tls.h"
#include "webhook/exec_credentials.h"

namespace portcullis::webhook {

// One entry of `users`.
struct UserEntry {
  std::string token;
  std::string token_file;
  std::string username;
  std::string password;
  std::string certificate_pem;
  std::string key_pem;
  net::Headers impersonation;
  std::shared_ptr<ExecProgram> exec;  // null: no program is asked
  base::Status error;                 // what makes the entry unusable
};

class Credentials {
 public:
  Credentials() = default;  // nobody: anonymous everywhere

  // Reads a kubeconfig. Errors say what is wrong with the file.
  static base::Result<std::shared_ptr<const Credentials>> Load(const std::string& path);
  static base::Result<std::shared_ptr<const Credentials>> Parse(std::string_view text,
                                                                const std::string& directory);
  // From a document that ParseKubeconfig has found sound; relative paths start at `directory`.
  static std::shared_ptr<const Credentials> Read(json::Value config, const std::string& directory);

  // The user for a target "host:port", or null for an anonymous call.
  const UserEntry* Find(std::string_view host, int port) const;

 private:
  const UserEntry* FindName(std::string_view name) const;
  const UserEntry* FindHost(std::string_view target) const;

  std::map<std::string, UserEntry, std::less<>> users_;
  std::string current_user_;
};

// The headers by which `user` identifies itself; reads the token file, asks the program (`exec`,
// the user's for that server; may be null). An error is the text that follows "could not get REST
// client: "; of reason ServiceUnavailable, that of a program that gives no credentials: "getting
// credentials: exec: …".
base::Result<net::Headers> AuthorizationHeaders(const UserEntry& user, ExecCredentials* exec);

// Adds to the request those headers and, if the program has printed one, the client certificate:
// with it the request goes by `tls` from `cache`. Errors as above.
base::Status Identify(const UserEntry& user, ExecCredentials* exec,
                      const net::ClientTlsOptions& tls, net::ClientTlsCache& cache,
                      net::ClientRequest& request);

}  // namespace portcullis::webhook
