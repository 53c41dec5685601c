#include "server/router.h"

#include "api/api_status.h"
#include "base/strings.h"
#include "server/discovery/documents.h"
#include "server/reply.h"
#include "server/rest/admit.h"
#include "server/rest/verbs.h"

namespace portcullis::server {
namespace {

using Verb = rest::VerbResult (*)(Call&);

Reply PageNotFound() { return TextReply(404, "404 page not found\n"); }

// Subresources that are more than a read or write of the stored object.
Verb FindSubresourceVerb(const Call& call, bool& known) {
  const std::string& sub = call.info.subresource;
  const std::string& method = call.info.method;
  const bool reads = method == "GET" || method == "HEAD";
  known = true;
  if (sub == "proxy") return &rest::Connect;
  if (sub == "exec" || sub == "attach" || sub == "portforward") {
    return method == "GET" || method == "POST" ? &rest::Connect : nullptr;
  }
  if (sub == "scale") {
    if (reads) return &rest::GetScale;
    return method == "PUT" || method == "PATCH" ? &rest::UpdateScale : nullptr;
  }
  if (sub == "eviction") return method == "POST" ? &rest::CreateEviction : nullptr;
  if (sub == "binding") return method == "POST" ? &rest::CreateBinding : nullptr;
  if (sub == "token") return method == "POST" ? &rest::CreateToken : nullptr;
  if (sub == "log") return reads ? &rest::GetLog : nullptr;
  known = false;
  return nullptr;
}

bool IsReview(const api::catalog::ResourceInfo& resource) {
  return resource.resource.group == "authorization.k8s.io" ||
         resource.resource.group == "authentication.k8s.io";
}

Verb FindVerb(const Call& call) {
  if (call.subresource != nullptr) {
    bool known = false;
    const Verb verb = FindSubresourceVerb(call, known);
    if (known) return verb;
  }
  const std::string& verb = call.info.verb;
  if (verb == "create") {
    if (call.subresource == nullptr && IsReview(*call.resource)) return &rest::CreateReview;
    if (call.resource->resource.resource == "bindings") return &rest::CreateBinding;
    return &rest::Create;
  }
  if (verb == "get") return &rest::Get;
  if (verb == "list") return &rest::List;
  if (verb == "watch") return &rest::Watch;
  if (verb == "update") return &rest::Update;
  if (verb == "patch") return &rest::Patch;
  if (verb == "delete") return &rest::Delete;
  if (verb == "deletecollection") return &rest::DeleteCollection;
  return nullptr;
}

// Whether the path has the shape of a route of this resource at all.
bool FitsScope(const Call& call) {
  const RequestInfo& info = call.info;
  const bool is_namespaces = info.resource == "namespaces" && info.api_group.empty();
  if (!call.resource->namespaced) return info.name_space.empty() || is_namespaces;
  // One object needs its namespace; the collection of all namespaces can be listed.
  return !info.name_space.empty() || info.parts.size() == 1;
}

bool Allows(const Call& call) {
  const RequestInfo& info = call.info;
  if (call.subresource != nullptr) {
    const std::string& sub = info.subresource;
    if (sub == "exec" || sub == "attach" || sub == "portforward" || sub == "proxy") return true;
    return call.subresource->HasVerb(info.verb);
  }
  if (info.parts.size() == 1 && (info.verb == "update" || info.verb == "patch")) return false;
  if (info.verb == "create" &&
      (info.parts.size() > 1 || (call.resource->namespaced && info.name_space.empty()))) {
    return false;
  }
  if (info.verb == "deletecollection" && call.resource->namespaced && info.name_space.empty()) {
    return false;
  }
  return call.resource->HasVerb(info.verb);
}

bool IsKnownGroup(const Call& call) {
  const api::catalog::GroupInfo* group = call.catalog->FindGroup(call.info.api_group);
  if (group == nullptr) return false;
  for (const auto& version : group->versions) {
    for (const auto* resource : version.resources) {
      if (!resource->custom) return true;
    }
  }
  return false;
}

// A write that failed when its time was up failed for that reason, whatever stood in its way.
bool TimedOut(const Call& call) {
  const std::string& verb = call.info.verb;
  const bool writes = verb == "create" || verb == "update" || verb == "patch" || verb == "delete" ||
                      verb == "deletecollection";
  return writes && call.env.clock->Steady() >= rest::TimeLimit(call);
}

base::Status LateAnswer() {
  return api::TimeoutStatus(
      "request did not complete within requested timeout - context deadline exceeded", 0);
}

Reply RouteResource(Call& call) {
  RequestInfo& info = call.info;
  call.resource = call.catalog->Find(info.api_group, info.api_version, info.resource);
  if (call.resource == nullptr) {
    return IsKnownGroup(call) ? ErrorReply(call, UnknownResource()) : PageNotFound();
  }
  // GET /api/v1/watch/…, the form of old.
  if (info.verb == "watch" && info.parts.size() > 2) return ErrorReply(call, UnknownResource());
  if (!info.subresource.empty()) {
    call.subresource = call.resource->FindSubresource(info.subresource);
    const bool deep = info.parts.size() > 3 && info.subresource != "proxy";
    if (call.subresource == nullptr || deep) return ErrorReply(call, UnknownResource());
  }
  if (!FitsScope(call)) return ErrorReply(call, UnknownResource());
  // HEAD reads by the rules of access, but no route takes it, except those that pass everything on.
  const bool unrouted = info.method == "HEAD" && info.subresource != "proxy";
  if (!Allows(call) || unrouted) return ErrorReply(call, MethodNotAllowed());
  const Verb verb = FindVerb(call);
  if (verb == nullptr) return ErrorReply(call, MethodNotAllowed());

  const bool shown = call.subresource == nullptr || call.subresource->name == "status" ||
                     call.subresource->name == "scale";
  auto accepted = NegotiateOutput(call.headers().Get("Accept"), info.query.Get("pretty"),
                                  call.headers().Get("User-Agent"),
                                  shown ? Offers::kTableAndMetadata : Offers::kObjectOnly);
  if (!accepted.ok()) {
    if (verb != &rest::GetLog && verb != &rest::Connect) {
      return ErrorReply(call, accepted.status());
    }
  } else {
    call.accepted = *accepted;
  }
  if (call.exchange->body_too_large()) {
    return ErrorReply(call, api::RequestEntityTooLargeStatus("limit is 3145728"));
  }
  if (!call.resource->deprecation_warning.empty()) {
    call.recorder.Warn(call.resource->deprecation_warning);
  }
  auto reply = verb(call);
  if (!reply.ok()) {
    call.accepted.form = Form::kObject;
    const bool late = verb != &rest::Connect && TimedOut(call);
    return ErrorReply(call, late ? LateAnswer() : reply.status());
  }
  return *std::move(reply);
}

}  // namespace

Reply Route(Call& call) {
  if (call.info.is_resource) return RouteResource(call);
  return call.env.documents->Serve(call);
}

}  // namespace portcullis::server
