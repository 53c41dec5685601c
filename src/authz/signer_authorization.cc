// SPDX-License-Identifier: Apache-2.0

#include "authz/signer_authorization.h"

#include <string>

namespace portcullis::authz {

bool MayUseSigner(const Authorizer* authorizer, const api::UserInfo& user, std::string_view verb,
                  std::string_view signer_name) {
  if (authorizer == nullptr) return false;
  Attributes attributes;
  attributes.user = &user;
  attributes.verb = verb;
  attributes.group = "certificates.k8s.io";
  attributes.version = "*";
  attributes.resource = "signers";
  attributes.name = signer_name;
  if (authorizer->Authorize(attributes).allowed()) return true;
  const std::string whole_domain(signer_name.substr(0, signer_name.find('/')));
  const std::string wildcard = whole_domain + "/*";
  attributes.name = wildcard;
  return authorizer->Authorize(attributes).allowed();
}

}  // namespace portcullis::authz
