// SPDX-License-Identifier: Apache-2.0

#include "server/filters/access.h"

#include <utility>

#include "api/api_status.h"
#include "audit/policy.h"
#include "audit/sink.h"
#include "authn/authenticator.h"
#include "authz/authorizer.h"
#include "authz/impersonation.h"
#include "base/gotext.h"
#include "base/log.h"
#include "base/strings.h"
#include "metrics/apiserver_metrics.h"
#include "server/admission_traces.h"
#include "server/filters/answer_headers.h"
#include "server/reply.h"
#include "server/seats.h"

namespace portcullis::server::filters {
namespace {

constexpr std::string_view kOwnAddress = "127.0.0.1:0";  // of the server's own requests

// Users are counted by what they are: names would be without limit.
void CountUser(const metrics::RequestMetrics& metrics, std::string_view name) {
  for (const std::string_view known :
       {"admin", "client", "kube_proxy", "kubelet", "system:serviceaccount:kube-system:default"}) {
    if (name == known) return metrics.authenticated_users.With({known}).Increment();
  }
  const bool is_address = name.find('@') != std::string_view::npos;
  (is_address ? metrics.authenticated_users.With({"email_id"}) : metrics.requests_of_other_users)
      .Increment();
}

void CountAuthorization(const Call& call, const authz::Decision& decision) {
  const metrics::RequestMetrics& metrics = *call.env.request_metrics;
  if (decision.allowed()) return metrics.allowed_authorizations.Increment();
  const std::string_view result = !decision.error.empty()                       ? "error"
                                  : decision.verdict == authz::Verdict::kDenied ? "denied"
                                                                                : "no-opinion";
  metrics.authorization_attempts.With({result}).Increment();
}

base::Status Authenticate(Call& call) {
  const auto certificate = call.exchange->client_certificate();
  authn::RequestView view{call.headers(), certificate.get(), call.exchange->remote_address()};
  view.path = call.info.path;
  if (!IsLongRunning(call.info)) view.deadline = call.deadline;
  const bool may_wait = std::exchange(call.would_wait, false);
  if (!may_wait) view.would_wait = &call.would_wait;
  const auto identity = call.env.authenticator->Authenticate(view);
  if (call.would_wait) return base::OkStatus();
  const metrics::RequestMetrics& metrics = *call.env.request_metrics;
  if (!identity.ok() || !*identity) {
    metrics.authentication_attempts.With({identity.ok() ? "failure" : "error"}).Increment();
    if (call.env.clock->Steady() >= view.deadline) {
      return api::TimeoutStatus("request did not complete within the allotted timeout", 0);
    }
    return api::UnauthorizedStatus();
  }
  metrics.authentication_successes.Increment();
  call.user = (*identity)->user;
  CountUser(metrics, call.user.name);
  call.notes = (*identity)->notes;
  NoteIdentity(call);
  return base::OkStatus();
}

// As http.Error writes what the audit or an authorizer has stumbled over.
Reply Stumbled(const Call& call, std::string_view error) {
  std::string text;
  for (char c : base::StrCat("Internal Server Error: ", base::GoQuote(call.request().target), ": ",
                             error, "\n")) {
    if (c == '&') {
      text += "&amp;";
    } else if (c == '<') {
      text += "&lt;";
    } else if (c == '>') {
      text += "&gt;";
    } else {
      text += c;
    }
  }
  return TextReply(500, std::move(text));
}

// What the audit policy and authorizers look at.
template <typename Attributes>
Attributes AttributesOf(const Call& call) {
  const RequestInfo& info = call.info;
  Attributes attributes;
  attributes.user = &call.user;
  attributes.verb = info.verb;
  attributes.resource_request = info.is_resource;
  attributes.group = info.api_group;
  attributes.version = info.api_version;
  attributes.resource = info.resource;
  attributes.subresource = info.subresource;
  attributes.ns = info.name_space;
  attributes.name = info.name;
  attributes.path = info.path;
  return attributes;
}

// The event of the request, if the policy wants one.
void MakeEvent(Call& call) {
  if (call.env.audit_policy == nullptr) return;
  const RequestInfo& info = call.info;
  const audit::Depth depth =
      call.env.audit_policy->For(AttributesOf<audit::RequestAttributes>(call));
  if (depth.level == audit::Level::kNone) return;
  audit::Event& event = call.audit.emplace(depth, call.audit_id, call.env.clock->Now());
  event.request_uri = call.request().target;
  event.verb = info.verb;
  event.user = call.user;
  std::string_view peer = kOwnAddress;
  if (call.exchange != nullptr) peer = call.exchange->remote_address();
  event.source_ips = audit::SourceIps(call.headers().Get("X-Forwarded-For"),
                                      call.headers().Get("X-Real-Ip"), peer);
  event.user_agent = call.headers().Get("User-Agent");
  if (info.is_resource) {
    audit::ObjectReference reference;
    reference.resource = info.resource;
    reference.ns = info.name_space;
    reference.name = info.name;
    reference.api_group = info.api_group;
    reference.api_version = info.api_version;
    reference.subresource = info.subresource;
    event.object_ref = std::move(reference);
  }
}

// Only sinks in the mode blocking-strict fail: then the request is refused.
void BeginAudit(Call& call, std::optional<Reply>& instead) {
  const bool is_noted = call.audit.has_value();
  MakeEvent(call);
  if (is_noted || !call.audit) return;
  if (const auto line = call.audit->Encode(audit::Stage::kRequestReceived, call.env.clock->Now())) {
    call.env.request_metrics->audit_events.With({}).Increment();
    const base::Status written = call.env.audit_sink->Write(*line);
    if (!written.ok()) {
      call.env.request_metrics->audit_requests_rejected.With({}).Increment();
      base::LogError("audit event lost", {{"error", written.message()}});
      instead = Stumbled(call, "failed to store audit event");
      call.audit.reset();
    }
  }
}

authz::Attributes AuthorizationAttributes(const Call& call) {
  auto attributes = AttributesOf<authz::Attributes>(call);
  if (!call.info.selectors.empty()) attributes.selectors = &call.info.selectors;
  return attributes;
}

base::Status Impersonate(Call& call) {
  auto other = authz::Impersonate(call.headers(), AuthorizationAttributes(call),
                                  *call.env.authorizer, call.env.impersonation_modes);
  if (!other.ok()) return std::move(other).status();
  if (!*other) return base::OkStatus();
  call.user = std::move((*other)->user);
  if (call.audit) {
    call.audit->impersonated_user = call.user;
    call.audit->impersonation_constraint = (*other)->constraint;
  }
  return base::OkStatus();
}

}  // namespace

void NoteIdentity(Call& call) {
  for (const std::string& warning : call.notes.warnings) call.recorder.Warn(warning);
  for (const auto& [key, value] : call.notes.audit_annotations) {
    // Refuses only what is there already.
    (void)call.recorder.Annotate(key, value, admission::AuditLevel::kMetadata);
  }
}

base::Status Identify(Call& call, std::optional<Reply>& instead) {
  if (!call.info.error.empty()) {
    instead = Stumbled(call, base::StrCat("failed to create RequestInfo: ", call.info.error));
    return base::OkStatus();
  }
  if (call.audit_id.empty()) call.audit_id = audit::AuditId(call.headers().Get("Audit-ID"));
  if (call.env.answer_headers != nullptr) {
    call.allows_origin = call.env.answer_headers->AllowsOrigin(call.headers());
    if (call.allows_origin && call.info.method == "OPTIONS") {  // a preflight request
      instead.emplace().status = 204;
      instead->content_type.clear();
      return base::OkStatus();
    }
  }
  if (base::Status refused = Authenticate(call); !refused.ok()) {
    if (refused.reason() == base::Reason::kUnauthorized) MakeEvent(call);
    return refused;
  }
  if (call.would_wait) return base::OkStatus();
  BeginAudit(call, instead);
  if (instead) return base::OkStatus();
  return Impersonate(call);
}

void IdentifyOwn(Call& call, const api::UserInfo& user, std::optional<Reply>& instead) {
  call.audit_id = audit::AuditId("");
  call.user = user;
  call.env.request_metrics->authentication_successes.Increment();
  BeginAudit(call, instead);
}

base::Status Authorize(Call& call, std::optional<Reply>& instead) {
  const authz::Attributes attributes = AuthorizationAttributes(call);
  const authz::Decision decision = call.env.authorizer->Authorize(attributes);
  CountAuthorization(call, decision);
  if (!decision.allowed() && !decision.error.empty()) {
    if (call.audit) call.audit->Annotate("authorization.k8s.io/reason", "internal error");
    instead = Stumbled(call, decision.error);
    return base::OkStatus();
  }
  if (call.audit) {
    call.audit->Annotate("authorization.k8s.io/decision", decision.allowed() ? "allow" : "forbid");
    call.audit->Annotate("authorization.k8s.io/reason", decision.reason);
  }
  if (decision.allowed()) return call.env.traces->Begin(call);
  return authz::Denied(attributes, decision.reason);
}

}  // namespace portcullis::server::filters
