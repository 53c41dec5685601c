// SPDX-License-Identifier: Apache-2.0

// Users with which webhooks are called: those of a kubeconfig file, chosen by the host of the
// webhook (https://kubernetes.io/docs/reference/access-authn-authz/
// extensible-admission-controllers/#authenticate-apiservers).
//
// Immutable after construction.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "kubeconfig/config.h"
#include "kubeconfig/exec_credentials.h"

namespace portcullis::webhook {

// One entry of `users`.
struct UserEntry {
  kubeconfig::User user;
  std::shared_ptr<kubeconfig::ExecProgram> exec;  // null: it has none
};

class Credentials {
 public:
  Credentials() = default;  // anonymous everywhere
  explicit Credentials(const kubeconfig::Config& config);

  // Reads a kubeconfig. Errors are those of kubeconfig::Load.
  static base::Result<std::shared_ptr<const Credentials>> Load(const std::string& path);

  // The user for a target "host:port", or null for an anonymous call.
  const UserEntry* Find(std::string_view host, int port) const;

  // Whether a user's credentials come from a program, for which a call waits.
  bool has_programs() const { return has_programs_; }

 private:
  const UserEntry* FindName(std::string_view name) const;
  const UserEntry* FindHost(std::string_view target) const;

  std::map<std::string, UserEntry, std::less<>> users_;
  std::string current_user_;
  bool has_programs_ = false;
};

}  // namespace portcullis::webhook
