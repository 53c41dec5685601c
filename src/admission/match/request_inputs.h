// SPDX-License-Identifier: Apache-2.0

// What expressions see of a request: the variables `request`, `object`, `oldObject`, `authorizer`
// and `authorizer.requestResource`. Shared by matchConditions of webhooks and by policies.
#pragma once

#include <map>
#include <string>

#include "admission/request.h"
#include "authz/authorizer.h"
#include "json/value.h"
#include "kube_cel/access.h"
#include "kube_cel/evaluation.h"

namespace portcullis::admission::match {

// Whether the expression mentions the variable; one that does not compile mentions none.
bool Mentions(const kube_cel::Expression& expression, kube_cel::Input input);

// The value of `request`: an AdmissionRequest without uid and objects; `resource` and `kind` are
// those given, `name` is the object's as far as it is known. Empty members are absent.
json::Value RequestAsJson(json::Arena& arena, const Request& request,
                          const api::GroupVersionResource& resource,
                          const api::GroupVersionKind& kind, const std::string& name);

// Asks an Authorizer what expressions ask, each distinct question once. Confined to one request.
class AuthorizerChecker final : public kube_cel::AccessChecker {
 public:
  // `authorizer` outlives it; null allows nothing.
  explicit AuthorizerChecker(const authz::Authorizer* authorizer) : authorizer_(authorizer) {}
  const kube_cel::AccessAnswer& Check(const kube_cel::AccessQuestion& question) override;

 private:
  const authz::Authorizer* const authorizer_;
  std::map<std::string, kube_cel::AccessAnswer> answers_;
};

// The question of `authorizer.requestResource`: the request's own resource.
kube_cel::AccessQuestion RequestResourceQuestion(const Request& request);

}  // namespace portcullis::admission::match
