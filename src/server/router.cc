#include "server/router.h"

#include "api/api_status.h"
#include "base/strings.h"
#include "engine/subresources/subresources.h"
#include "engine/write/admit.h"
#include "server/discovery/documents.h"
#include "server/reply.h"
#include "server/rest/verbs.h"

namespace portcullis::server {
namespace {

using Verb = rest::VerbResult (*)(Call&);

Reply PageNotFound() { return TextReply(404, "404 page not found\n"); }

// What the request asks the engine for; kNone if its method does nothing here.
engine::Verb VerbOf(const Call& call) {
  using engine::Verb;
  const RequestInfo& info = call.info;
  if (call.subresource != nullptr && engine::FindFunction(call, Verb::kConnect) != nullptr) {
    const bool connects =
        info.subresource == "proxy" || info.method == "GET" || info.method == "POST";
    return connects ? Verb::kConnect : Verb::kNone;
  }
  constexpr std::pair<std::string_view, Verb> kVerbs[] = {
      {"create", Verb::kCreate}, {"get", Verb::kGet},
      {"list", Verb::kList},     {"update", Verb::kUpdate},
      {"patch", Verb::kPatch},   {"watch", Verb::kWatch},
      {"delete", Verb::kDelete}, {"deletecollection", Verb::kDeleteCollection},
  };
  for (const auto& [name, verb] : kVerbs) {
    if (info.verb == name) return verb;
  }
  return Verb::kNone;
}

Verb FindVerb(const Call& call) {
  switch (call.verb) {
    case engine::Verb::kCreate:
      return &rest::Create;
    case engine::Verb::kGet:
      return call.subresource_name() == "log" ? &rest::GetLog : &rest::Get;
    case engine::Verb::kList:
      return &rest::List;
    case engine::Verb::kWatch:
      return &rest::Watch;
    case engine::Verb::kUpdate:
      return &rest::Update;
    case engine::Verb::kPatch:
      return &rest::Patch;
    case engine::Verb::kDelete:
      return &rest::Delete;
    case engine::Verb::kDeleteCollection:
      return &rest::DeleteCollection;
    case engine::Verb::kConnect:
      return &rest::Connect;
    case engine::Verb::kNone:
      break;
  }
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
  using engine::Verb;
  const Verb verb = call.verb;
  const bool writes = verb == Verb::kCreate || verb == Verb::kUpdate || verb == Verb::kPatch ||
                      verb == Verb::kDelete || verb == Verb::kDeleteCollection;
  return writes && call.env.clock->Steady() >= engine::TimeLimit(call);
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
  call.verb = VerbOf(call);
  call.ns = info.name_space;
  call.name = info.name;
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
