#include "policy/cel_policy/request_inputs.h"

#include "admission/errors.h"
#include "base/strings.h"

namespace portcullis::policy {
namespace {

using cel::Value;
using kube_cel::Input;

json::Value KindJson(json::Arena& arena, const api::GroupVersionKind& kind) {
  json::ObjectBuilder builder(arena);
  builder.Set("group", kind.group).Set("version", kind.version).Set("kind", kind.kind);
  return builder.Build();
}

json::Value ResourceJson(json::Arena& arena, const api::GroupVersionResource& resource) {
  json::ObjectBuilder builder(arena);
  builder.Set("group", resource.group)
      .Set("version", resource.version)
      .Set("resource", resource.resource);
  return builder.Build();
}

}  // namespace

const kube_cel::AccessAnswer& RequestAccess::Check(const kube_cel::AccessQuestion& question) {
  std::string key = question.resource_request ? "r" : "p";
  for (const std::string* part :
       {&question.user->name, &question.verb, &question.path, &question.group, &question.resource,
        &question.subresource, &question.ns, &question.name, &question.field_selector,
        &question.label_selector}) {
    key += '\0';
    key += *part;
  }
  const auto known = answers_.find(key);
  if (known != answers_.end()) return known->second;
  kube_cel::AccessAnswer& answer = answers_[key];
  if (authorizer_ == nullptr) return answer;
  authz::Attributes attributes;
  attributes.user = question.user;
  attributes.verb = question.verb;
  attributes.resource_request = question.resource_request;
  attributes.path = question.path;
  if (question.resource_request) {
    attributes.group = question.group;
    attributes.version = "*";
    attributes.resource = question.resource;
    attributes.subresource = question.subresource;
    attributes.ns = question.ns;
    attributes.name = question.name;
    attributes.field_selector = question.field_selector;
    attributes.label_selector = question.label_selector;
  }
  const authz::Decision decision = authorizer_->Authorize(attributes);
  answer.allowed = decision.allowed();
  answer.reason = decision.reason;
  answer.error = decision.error;
  return answer;
}

json::Value RequestVariable(json::Arena& arena, const admission::Request& request,
                            const Matched& matched, std::string_view name) {
  json::ObjectBuilder builder(arena);
  builder.Set("kind", KindJson(arena, matched.kind))
      .Set("resource", ResourceJson(arena, matched.resource));
  if (!request.subresource().empty()) builder.Set("subResource", request.subresource());
  builder.Set("requestKind", KindJson(arena, request.kind()))
      .Set("requestResource", ResourceJson(arena, request.resource()));
  if (!request.subresource().empty()) builder.Set("requestSubResource", request.subresource());
  if (!name.empty()) builder.Set("name", name);
  if (!request.namespace_name().empty()) builder.Set("namespace", request.namespace_name());
  builder.Set("operation", admission::OperationText(request.operation()))
      .Set("userInfo", api::UserInfoToJson(arena, request.user()))
      .Set("dryRun", request.dry_run())
      .Set("options", request.options());
  return builder.Build();
}

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

kube_cel::Inputs RequestInputs::For(const Matched& matched, bool with_namespace) {
  json::Arena& memory = arena();
  if (authorizer_.is_unset()) {
    authorizer_ = kube_cel::MakeAuthorizer(memory, access_, request_.user());
    kube_cel::AccessQuestion question;
    question.user = &request_.user();
    question.group = request_.resource().group;
    question.resource = request_.resource().resource;
    question.subresource = request_.subresource();
    question.ns = request_.namespace_name();
    question.name = request_.name();
    request_resource_ = kube_cel::MakeResourceCheck(memory, access_, std::move(question));
  }
  if (request_value_.is_unset() || request_kind_ != matched.kind ||
      request_gvr_ != matched.resource) {
    request_kind_ = matched.kind;
    request_gvr_ = matched.resource;
    request_value_ = cel::MakeFromJson(memory, RequestVariable(memory, request_, matched, name_));
  }
  kube_cel::Inputs inputs;
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
