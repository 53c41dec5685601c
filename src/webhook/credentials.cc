// SPDX-License-Identifier: Apache-2.0

#include "webhook/credentials.h"

#include "base/clock.h"
#include "base/strings.h"

namespace portcullis::webhook {

Credentials::Credentials(const kubeconfig::Config& config) {
  for (const auto& [name, user] : config.users) {
    UserEntry& entry = users_[name];
    entry.user = user;
    if (!user.exec) continue;
    has_programs_ = true;
    entry.exec = std::make_shared<kubeconfig::ExecProgram>(*user.exec, base::SystemClock());
  }
  const auto context = config.contexts.find(config.current_context);
  if (context != config.contexts.end()) current_user_ = context->second.user;
}

base::Result<std::shared_ptr<const Credentials>> Credentials::Load(const std::string& path) {
  return std::shared_ptr<const Credentials>(
      std::make_shared<Credentials>(TRY(kubeconfig::Load(path))));
}

const UserEntry* Credentials::FindName(std::string_view name) const {
  const auto found = users_.find(name);
  return found == users_.end() ? nullptr : &found->second;
}

// The target itself, then its parent domains with a star, the longest first.
const UserEntry* Credentials::FindHost(std::string_view target) const {
  if (const UserEntry* user = FindName(target)) return user;
  for (auto dot = target.find('.'); dot != std::string_view::npos;
       dot = target.find('.', dot + 1)) {
    if (const UserEntry* user = FindName(base::StrCat("*", target.substr(dot)))) return user;
  }
  return nullptr;
}

const UserEntry* Credentials::Find(std::string_view host, int port) const {
  if (const UserEntry* user = FindHost(base::StrCat(host, ":", std::to_string(port)))) return user;
  if (port == 443) {
    if (const UserEntry* user = FindHost(host)) return user;
  }
  if (const UserEntry* user = FindName("*")) return user;
  return current_user_.empty() ? nullptr : FindName(current_user_);
}

}  // namespace portcullis::webhook
