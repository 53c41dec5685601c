// SPDX-License-Identifier: Apache-2.0

#include "admission/match/request_inputs.h"

namespace portcullis::admission::match {
namespace {

json::Value Triple(json::Arena& arena, const std::string& group, const std::string& version,
                   std::string_view last_name, const std::string& last) {
  return json::MakeObject(arena, {{"group", json::String(arena, group)},
                                  {"version", json::String(arena, version)},
                                  {last_name, json::String(arena, last)}});
}

json::Value KindAsJson(json::Arena& arena, const api::GroupVersionKind& kind) {
  return Triple(arena, kind.group, kind.version, "kind", kind.kind);
}

json::Value ResourceAsJson(json::Arena& arena, const api::GroupVersionResource& resource) {
  return Triple(arena, resource.group, resource.version, "resource", resource.resource);
}

}  // namespace

bool Mentions(const kube_cel::Expression& expression, kube_cel::Input input) {
  return expression.ok() &&
         expression.program().Uses(expression.scope().indices[static_cast<std::size_t>(input)]);
}

json::Value RequestAsJson(json::Arena& arena, const Request& request,
                          const api::GroupVersionResource& resource,
                          const api::GroupVersionKind& kind, const std::string& name) {
  json::ObjectBuilder out(arena);
  const auto set = [&](std::string_view member, const std::string& text) {
    if (!text.empty()) out.Add(member, json::String(arena, text));
  };
  out.Add("kind", KindAsJson(arena, kind));
  out.Add("resource", ResourceAsJson(arena, resource));
  set("subResource", request.subresource());
  out.Add("requestKind", KindAsJson(arena, request.kind()));
  out.Add("requestResource", ResourceAsJson(arena, request.resource()));
  set("requestSubResource", request.subresource());
  set("name", name);
  set("namespace", request.namespace_name());
  out.Add("operation", json::Value::StringView(OperationText(request.operation())));
  out.Add("userInfo", api::UserInfoToJson(arena, request.user()));
  out.Add("dryRun", json::Value::Bool(request.dry_run()));
  out.Add("options", request.options());
  return out.Build();
}

const kube_cel::AccessAnswer& AuthorizerChecker::Check(const kube_cel::AccessQuestion& question) {
  std::string key = question.resource_request ? "r" : "p";
  for (const std::string* part :
       {&question.user->name, &question.verb, &question.path, &question.group, &question.resource,
        &question.subresource, &question.ns, &question.name, &question.field_selector,
        &question.label_selector}) {
    key += '\0';
    key += *part;
  }
  const auto [known, added] = answers_.try_emplace(std::move(key));
  kube_cel::AccessAnswer& answer = known->second;
  if (!added || authorizer_ == nullptr) return answer;
  const authz::Selectors selectors =
      authz::ReadSelectors(question.field_selector, question.label_selector);
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
    if (!selectors.empty()) attributes.selectors = &selectors;
  }
  authz::Decision decision = authorizer_->Authorize(attributes);
  answer.allowed = decision.allowed();
  answer.reason = std::move(decision.reason);
  answer.error = std::move(decision.error);
  return answer;
}

kube_cel::AccessQuestion RequestResourceQuestion(const Request& request) {
  kube_cel::AccessQuestion question;
  question.user = &request.user();
  question.group = request.resource().group;
  question.resource = request.resource().resource;
  question.subresource = request.subresource();
  question.ns = request.namespace_name();
  question.name = request.name();
  return question;
}

}  // namespace portcullis::admission::match
