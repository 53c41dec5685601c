// SPDX-License-Identifier: Apache-2.0

// Domains that names of labels, groups and signers belong to. Pure functions; case counts.
#pragma once

#include <string_view>

namespace portcullis::api {

// Whether it is the domain or one below it, as apps.kubernetes.io is below kubernetes.io.
inline bool IsInDomain(std::string_view name, std::string_view domain) {
  if (!name.ends_with(domain)) return false;
  name.remove_suffix(domain.size());
  return name.empty() || name.ends_with('.');
}

// Whether Kubernetes keeps it for itself.
inline bool IsInDomainOfKubernetes(std::string_view name) {
  return IsInDomain(name, "kubernetes.io") || IsInDomain(name, "k8s.io");
}

}  // namespace portcullis::api
