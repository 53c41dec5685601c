// SPDX-License-Identifier: Apache-2.0

// The values of the variables that expressions see of one request, made when first needed.
//
// Confined to the thread that runs the chain; lives for one dispatch.
#pragma once

#include <string>
#include <string_view>

#include "admission/match/request_inputs.h"
#include "admission/request.h"
#include "api/names.h"
#include "authz/authorizer.h"
#include "kube_cel/evaluation.h"
#include "store/store.h"

namespace portcullis::policy {

struct Policy;

// What a policy is evaluated on: the kind and resource its rule has matched, and the objects as
// that kind.
struct Matched {
  api::GroupVersionKind kind;
  api::GroupVersionResource resource;
  json::Value object;
  json::Value old_object;
};

class RequestInputs {
 public:
  // All of them outlive the inputs. `reader` may be null.
  RequestInputs(const admission::Request& request, const authz::Authorizer* authorizer,
                const store::Reader* reader);

  // Everything but params and variables that expressions of the policy mention; in a survey all of it.
  // `with_namespace` binds namespaceObject, else it is null; REQUIRES then: FetchNamespace() was OK.
  kube_cel::Inputs For(std::string_view plugin, const Policy& policy, const Matched& matched,
                       bool with_namespace);

  // The request's namespace, if it has one other than itself. 404 if it does not exist.
  base::Status FetchNamespace();
  json::Value namespace_object() const { return namespace_; }

  json::Arena& arena() const { return request_.arena(); }
  const admission::Request& request() const { return request_; }
  // The name of the object, generated or given.
  const std::string& name() const { return name_; }

 private:
  const cel::Value& RequestFor(const Matched& matched);
  const cel::Value& NamespaceObject();
  void MakeAuthorizers();

  const admission::Request& request_;
  const store::Reader* reader_;
  admission::match::AuthorizerChecker access_;
  std::string name_;
  cel::Value authorizer_;
  cel::Value request_resource_;
  bool namespace_fetched_ = false;
  json::Value namespace_;
  cel::Value namespace_value_;

  // The `request` value last made, and for what.
  api::GroupVersionKind request_kind_;
  api::GroupVersionResource request_gvr_;
  cel::Value request_value_;
};

}  // namespace portcullis::policy
