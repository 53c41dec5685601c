// SPDX-License-Identifier: Apache-2.0

#include "policy/cel_policy/request_inputs.h"

#include "admission/errors.h"
#include "admission/recorder.h"
#include "admission/survey.h"
#include "base/strings.h"
#include "policy/cel_policy/policy_set.h"

namespace portcullis::policy {
namespace {

using cel::Value;
using kube_cel::Input;

// What kube-apiserver copies of a Namespace for expressions (CreateNamespaceObject in
// apiserver/pkg/admission/plugin/cel/condition.go). dyn() would show the rest, too.
json::Value ShownNamespace(json::Arena& arena, json::Value object) {
  if (object.is_null()) return object;
  json::ObjectBuilder metadata(arena, object["metadata"]);
  metadata.Remove("managedFields");
  metadata.Remove("ownerReferences");
  json::ObjectBuilder shown(arena, object);
  shown.Remove("apiVersion");
  shown.Remove("kind");
  shown.Set("metadata", metadata.Build());
  return shown.Build();
}

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

const cel::Value& RequestInputs::RequestFor(const Matched& matched) {
  if (request_value_.is_unset() || request_kind_ != matched.kind ||
      request_gvr_ != matched.resource) {
    request_kind_ = matched.kind;
    request_gvr_ = matched.resource;
    request_value_ = cel::MakeFromJson(
        arena(),
        admission::match::RequestAsJson(arena(), request_, matched.resource, matched.kind, name_));
  }
  return request_value_;
}

const cel::Value& RequestInputs::NamespaceObject() {
  if (namespace_value_.is_unset()) {
    namespace_value_ = cel::MakeFromJson(arena(), ShownNamespace(arena(), namespace_));
  }
  return namespace_value_;
}

void RequestInputs::MakeAuthorizers() {
  if (!authorizer_.is_unset()) return;
  authorizer_ = kube_cel::MakeAuthorizer(arena(), access_, request_.user());
  request_resource_ = kube_cel::MakeResourceCheck(
      arena(), access_, admission::match::RequestResourceQuestion(request_));
}

kube_cel::Inputs RequestInputs::For(std::string_view plugin, const Policy& policy,
                                    const Matched& matched, bool with_namespace) {
  json::Arena& memory = arena();
  const admission::Survey* const survey = request_.recorder().survey();
  const auto uses = [&](Input input) { return survey != nullptr || policy.Uses(input); };
  kube_cel::Inputs inputs;
  if (survey != nullptr) inputs.watch = survey->watch();
  inputs.owner = {plugin, policy.name};
  inputs.Set(Input::kObject, cel::MakeFromJson(memory, matched.object));
  inputs.Set(Input::kOldObject, cel::MakeFromJson(memory, matched.old_object));
  if (uses(Input::kRequest)) inputs.Set(Input::kRequest, RequestFor(matched));
  inputs.Set(Input::kNamespaceObject,
             with_namespace && uses(Input::kNamespaceObject) ? NamespaceObject() : Value::Null());
  inputs.Set(Input::kParams, Value::Null());
  if (uses(Input::kAuthorizer) || uses(Input::kRequestResource)) {
    MakeAuthorizers();
    inputs.Set(Input::kAuthorizer, authorizer_);
    inputs.Set(Input::kRequestResource, request_resource_);
  }
  return inputs;
}

}  // namespace portcullis::policy
