// SPDX-License-Identifier: Apache-2.0

#include "server/router.h"

#include "api/api_status.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "engine/subresources/subresources.h"
#include "engine/write/admit.h"
#include "engine/write/preconditions.h"
#include "metrics/access_metrics.h"
#include "server/discovery/documents.h"
#include "server/reply.h"
#include "server/rest/verbs.h"
#include "server/routes.h"
#include "server/table/table.h"

namespace portcullis::server {
namespace {

using rest::Verb;

Reply PageNotFound() { return TextReply(404, "404 page not found\n"); }

bool GetsLog(const Call& call) {
  return call.verb == engine::Verb::kGet && call.subresource_name() == "log";
}

Verb FindVerb(const Call& call) {
  switch (call.verb) {
    case engine::Verb::kCreate:
    case engine::Verb::kUpdate:
    case engine::Verb::kPatch:
    case engine::Verb::kDelete:
      return &rest::Write;
    case engine::Verb::kGet:
      return GetsLog(call) ? &rest::GetLog : &rest::Get;
    case engine::Verb::kList:
      return &rest::List;
    case engine::Verb::kWatch:
      return &rest::Watch;
    case engine::Verb::kDeleteCollection:
      return &rest::DeleteCollection;
    case engine::Verb::kConnect:
      return &rest::Connect;
    case engine::Verb::kNone:
      break;
  }
  return nullptr;
}

// Parts of a path may be empty ("nodes//status", "namespaces//pods/p"), and the route is found
// still.
base::Status CheckNamed(const Call& call, std::string_view verb) {
  const std::string& name = call.info.name;
  const bool reads_all = verb == "list" || verb == "watch";
  const bool one = call.subresource != nullptr || verb == "get" || verb == "update" ||
                   verb == "patch" || verb == "delete";
  if (one && name.empty()) return base::BadRequest("name must be provided");
  const bool stored = call.resource->HasVerb("get");
  if (stored && call.resource->namespaced && call.info.name_space.empty() && !reads_all) {
    return base::BadRequest("Namespace parameter required.");
  }
  if (!one || verb == "connect") return base::OkStatus();
  return engine::CheckNameParameter(name);
}

base::Status UnknownPath(const Call& call) {
  if (!call.resource->custom) return api::UnknownResourceStatus();  // else it is a subresource
  return api::NotFoundStatus(call.group_resource(), call.info.name);
}

base::Status UnknownMethod(const Call& call) {
  if (!call.resource->custom) return api::MethodNotAllowedStatus();
  const std::string kind = base::StrCat(call.info.resource, ".", call.info.api_group);
  base::StatusDetails details;
  details.group = call.info.api_group;
  details.kind = call.info.resource;
  return base::Status(
      base::Reason::kMethodNotAllowed,
      base::StrCat(call.info.verb, " is not supported on resources of kind ", base::GoQuote(kind)),
      std::move(details));
}

// A write that failed when its time was up failed for that reason, whatever stood in its way.
bool TimedOut(const Call& call) {
  using engine::Verb;
  const Verb verb = call.verb;
  const bool writes = verb == Verb::kCreate || verb == Verb::kUpdate || verb == Verb::kPatch ||
                      verb == Verb::kDelete || verb == Verb::kDeleteCollection;
  return writes && call.env.clock->Steady() >= engine::TimeLimit(call);
}

base::Status OutOfTime() {
  return api::TimeoutStatus(
      "request did not complete within requested timeout - context deadline exceeded", 0);
}

// What the route of a built-in resource produces.
std::string TypesOf(const Call& call) {
  const bool streams = call.verb == engine::Verb::kList || call.verb == engine::Verb::kWatch;
  const bool cbor = call.env.cbor;
  return base::StrCat(GetsLog(call) ? "text/plain, " : "", OutputTypes(cbor), streams ? ", " : "",
                      streams ? StreamTypes(cbor) : "");
}

constexpr std::string_view kPatchTypes =
    "application/json-patch+json, application/merge-patch+json, "
    "application/strategic-merge-patch+json, application/apply-patch+yaml, "
    "application/apply-patch+cbor";

// What go-restful checks, which serves the built-in resources.
base::Status CheckMediaTypes(const Call& call) {
  if (call.resource->custom || call.verb == engine::Verb::kConnect) return base::OkStatus();
  if (call.verb == engine::Verb::kPatch) {
    TRY(CheckContentType(call.headers().Get("Content-Type"),
                         OfferedTypes(kPatchTypes, call.env.cbor)));
  }
  const std::string_view accept = call.headers().Get("Accept");
  if (CheckAcceptedTypes(accept, OutputTypes(call.env.cbor)).ok()) return base::OkStatus();
  return CheckAcceptedTypes(accept, TypesOf(call));
}

Offers OffersOf(const Call& call) {
  if (call.resource->custom) return Offers::kCustomResource;
  const std::string_view subresource = call.subresource_name();
  const bool shown = (subresource == "status" && table::ShowsStatus(*call.resource)) ||
                     subresource == "scale" ||
                     (subresource.empty() && call.resource->HasVerb("get"));
  return shown ? Offers::kTableAndMetadata : Offers::kMetadata;
}

Destination Answered(Reply reply) { return {nullptr, std::move(reply)}; }

// The warning says when the version goes: "…, unavailable in v1.25+".
void NoteDeprecated(const Call& call) {
  const auto& [group, version, resource] = call.resource->resource;
  const auto cut = base::Cut(call.resource->deprecation_warning, "unavailable in v");
  const std::string_view until = cut ? cut->second.substr(0, cut->second.find('+')) : "";
  call.env.access_metrics->deprecated_apis
      .With({group, version, resource, call.info.subresource, until})
      .Set(1);
}

Destination FindResource(Call& call) {
  RequestInfo& info = call.info;
  call.resource = call.catalog->Find(info.api_group, info.api_version, info.resource);
  if (call.resource == nullptr) {
    const bool in_group = info.api_prefix == "api" ||
                          (!info.api_group.empty() && ServesBuiltIn(*call.catalog, info.api_group));
    return Answered(in_group ? ErrorReply(call, api::UnknownResourceStatus()) : PageNotFound());
  }
  if (!info.subresource.empty()) {
    call.subresource = call.resource->FindSubresource(info.subresource);
  }
  const RouteMatch route = FindRoute(info, *call.resource, call.subresource);
  if (route.path == RouteMatch::Path::kNoServer) return Answered(PageNotFound());
  if (route.path == RouteMatch::Path::kNoPath) return Answered(ErrorReply(call, UnknownPath(call)));
  if (route.path == RouteMatch::Path::kNoMethod)
    return Answered(ErrorReply(call, UnknownMethod(call)));
  call.verb = engine::VerbNamed(route.verb);
  call.is_routed = true;
  const base::Status acceptable = CheckMediaTypes(call);
  if (!acceptable.ok()) return Answered(ErrorReply(call, acceptable));
  call.takes_cbor = call.env.cbor;
  // Handlers are wrapped by what warns, so their refusals come with the warning.
  if (!call.resource->deprecation_warning.empty()) {
    call.recorder.Warn(call.resource->deprecation_warning);
    NoteDeprecated(call);
  }
  const base::Status named = CheckNamed(call, route.verb);
  if (!named.ok()) return Answered(ErrorReply(call, named));
  call.ns = info.name_space;
  call.name = info.name;
  const Verb verb = FindVerb(call);
  if (verb == nullptr) return Answered(ErrorReply(call, api::MethodNotAllowedStatus()));

  auto accepted =
      NegotiateOutput(call.headers().Get("Accept"), info.query.Get("pretty"),
                      call.headers().Get("User-Agent"), OffersOf(call), call.takes_cbor);
  if (!accepted.ok()) {
    if (verb != &rest::Connect) return Answered(ErrorReply(call, accepted.status()));
  } else {
    call.accepted = *accepted;
  }
  if (call.exchange->body_too_large()) {
    return Answered(ErrorReply(call, api::RequestEntityTooLargeStatus("limit is 3145728")));
  }
  return {verb, std::nullopt};
}

}  // namespace

base::Status WriteFailure(const Call& call, base::Status failure) {
  return TimedOut(call) ? OutOfTime() : failure;
}

Destination FindDestination(Call& call) {
  if (call.info.is_resource) return FindResource(call);
  return Answered(call.env.documents->Serve(call));
}

Reply ReplyOf(Call& call, rest::VerbResult result) {
  if (result.ok()) return *std::move(result);
  call.accepted.form = Form::kObject;
  return TimedOut(call) ? TimeoutReply(call, OutOfTime())
                        : ErrorReply(call, std::move(result).status());
}

}  // namespace portcullis::server
