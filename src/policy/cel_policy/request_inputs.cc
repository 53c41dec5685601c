// SPDX-License-Identifier: Apache-2.0

#include "policy/cel_policy/request_inputs.h"

#include "admission/errors.h"
#include "admission/recorder.h"
#include "admission/survey.h"
#include "base/strings.h"

namespace portcullis::policy {
namespace {

using cel::Value;
using kube_cel::Input;

}  // namespace

RequestInputs::RequestInputs(const admission::Request& request, const authz::Authorizer* authorizer,
                             const store::Reader* reader)
    : request_(request), reader_(reader), access_(authorizer), name_(request.name()) {
  if (name_.empty() && request.operation() == admission::kCreate) {
    name_ = request.object()["metadata"]["name"].AsString();
  }
}

base::Status RequestInputs::FetchNamespace() {
  if (namespace_fetched_) return base::OkStatus();
  const std::string& name = request_.namespace_name();
  if (name.empty() ||
      (request_.resource().group.empty() && request_.resource().resource == "namespaces")) {
    namespace_fetched_ = true;
    return base::OkStatus();
  }
  const store::ObjectPtr found =
      reader_ == nullptr ? nullptr : reader_->Get({"", "namespaces", "", name});
  if (found == nullptr) return admission::NotFound("", "namespaces", name);
  namespace_ = found->document().root();
  arena().Retain(found);
  namespace_fetched_ = true;
  return base::OkStatus();
}

kube_cel::Inputs RequestInputs::For(const kube_cel::Owner& owner, const Matched& matched,
                                    bool with_namespace) {
  json::Arena& memory = arena();
  if (authorizer_.is_unset()) {
    authorizer_ = kube_cel::MakeAuthorizer(memory, access_, request_.user());
    request_resource_ = kube_cel::MakeResourceCheck(
        memory, access_, admission::match::RequestResourceQuestion(request_));
  }
  if (request_value_.is_unset() || request_kind_ != matched.kind ||
      request_gvr_ != matched.resource) {
    request_kind_ = matched.kind;
    request_gvr_ = matched.resource;
    request_value_ = cel::MakeFromJson(
        memory,
        admission::match::RequestAsJson(memory, request_, matched.resource, matched.kind, name_));
  }
  kube_cel::Inputs inputs;
  if (const admission::Survey* survey = request_.recorder().survey())
    inputs.watch = survey->watch();
  inputs.owner = owner;
  inputs.Set(Input::kObject, cel::MakeFromJson(memory, matched.object));
  inputs.Set(Input::kOldObject, cel::MakeFromJson(memory, matched.old_object));
  inputs.Set(Input::kRequest, request_value_);
  inputs.Set(Input::kNamespaceObject,
             with_namespace ? cel::MakeFromJson(memory, namespace_) : Value::Null());
  inputs.Set(Input::kParams, Value::Null());
  inputs.Set(Input::kAuthorizer, authorizer_);
  inputs.Set(Input::kRequestResource, request_resource_);
  return inputs;
}

}  // namespace portcullis::policy
