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
#include "golang/strings.h"
#include "metrics/access_metrics.h"
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

using metrics::Authenticated;
using metrics::Authorized;
using metrics::Filter;

// Ends the filter that the call is in, and begins the next one; in seconds, what it took.
double EndFilter(Call& call, Filter filter) {
  const base::SteadyTime now = call.env.clock->Steady();
  const double seconds = std::chrono::duration<double>(now - call.entered).count();
  call.env.access_metrics->Took(filter, seconds);
  call.entered = now;
  return seconds;
}

void CountAuthentication(Call& call, Authenticated result) {
  const metrics::AccessMetrics& metrics = *call.env.access_metrics;
  const auto index = static_cast<std::size_t>(result);
  metrics.authentications[index].Increment();
  metrics.authentication_duration[index].Observe(EndFilter(call, Filter::kAuthentication));
}

void CountAuthorization(Call& call, const authz::Decision& decision) {
  const Authorized result = decision.allowed()                            ? Authorized::kAllowed
                            : !decision.error.empty()                     ? Authorized::kError
                            : decision.verdict == authz::Verdict::kDenied ? Authorized::kDenied
                                                                          : Authorized::kNoOpinion;
  const metrics::AccessMetrics& metrics = *call.env.access_metrics;
  const auto index = static_cast<std::size_t>(result);
  metrics.authorizations[index].Increment();
  metrics.authorization_duration[index].Observe(EndFilter(call, Filter::kAuthorization));
}

// "Bearer  x" has an empty token, which is none; what stands behind it is lost.
bool HasSpaceBeforeToken(std::string_view authorization) {
  const auto parts = base::Cut(golang::TrimSpace(authorization), " ");
  return parts && base::EqualsIgnoreCase(parts->first, "bearer") && parts->second.starts_with(' ');
}

base::Status Authenticate(Call& call) {
  const auto certificate = call.exchange->client_certificate();
  authn::RequestView view{call.headers(), certificate.get(), call.exchange->remote_address()};
  view.path = call.info.path;
  if (!IsLongRunning(call.info)) view.deadline = call.deadline;
  const bool may_wait = std::exchange(call.would_wait, false);
  if (!may_wait) view.would_wait = &call.would_wait;
  call.entered = call.env.clock->Steady();
  const auto identity = call.env.authenticator->Authenticate(view);
  if (call.would_wait) return base::OkStatus();
  if (certificate != nullptr && !certificate->chain.empty()) {
    const base::WallTime ends{std::chrono::seconds(certificate->not_after)};
    const std::chrono::duration<double> rest = ends - call.env.clock->Now();
    call.env.access_metrics->certificate_expiration.Observe(rest.count());
  }
  if (identity.ok() && *identity) call.notes = (*identity)->notes;
  // A client certificate is looked at before.
  if (HasSpaceBeforeToken(call.headers().Get("Authorization")) &&
      (certificate == nullptr || certificate->chain.empty())) {
    call.notes.warnings.emplace_back(
        "the provided Authorization header contains extra space before the bearer token, and is "
        "ignored");
  }
  NoteIdentity(call);
  if (!identity.ok() || !*identity) {
    CountAuthentication(call, identity.ok() ? Authenticated::kFailure : Authenticated::kError);
    if (call.env.clock->Steady() >= view.deadline) {
      return api::TimeoutStatus("request did not complete within the allotted timeout", 0);
    }
    return api::UnauthorizedStatus();
  }
  CountAuthentication(call, Authenticated::kSuccess);
  call.user = (*identity)->user;
  CountUser(*call.env.request_metrics, call.user.name);
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
  if (!call.audit) {
    call.env.access_metrics->audit_levels[static_cast<std::size_t>(depth.level)].Increment();
  }
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

// The mode of a verb, as metrics name it: that of "impersonate-on:<mode>:<verb>" and
// "impersonate:<mode>"; nothing stands for the old way.
std::string_view ModeOf(std::string_view verb) {
  const std::size_t colon = verb.find(':');
  if (colon == std::string_view::npos) return "legacy";
  verb.remove_prefix(colon + 1);
  return verb.substr(0, verb.find(':'));
}

// Counts what is asked on the way to another user.
class CountingAuthorizer final : public authz::Authorizer {
 public:
  explicit CountingAuthorizer(const Environment& env) : env_(env) {}

  authz::Decision Authorize(const authz::Attributes& attributes) const override {
    const base::SteadyTime begun = env_.clock->Steady();
    authz::Decision decision = env_.authorizer->Authorize(attributes);
    const std::chrono::duration<double> took = env_.clock->Steady() - begun;
    const std::string_view mode = ModeOf(attributes.verb);
    const std::string_view text = decision.allowed() ? "allowed" : "denied";
    env_.access_metrics->impersonation_authorizations.With({mode, text}).Increment();
    env_.access_metrics->impersonation_authorization_duration.With({mode, text})
        .Observe(took.count());
    return decision;
  }
  authz::Rules RulesFor(const api::UserInfo& user, std::string_view ns) const override {
    return env_.authorizer->RulesFor(user, ns);
  }

 private:
  const Environment& env_;
};

void CountImpersonation(const Call& call, double seconds, std::string_view mode,
                        std::string_view decision) {
  const metrics::AccessMetrics& metrics = *call.env.access_metrics;
  metrics.impersonations.With({mode, decision}).Increment();
  metrics.impersonation_duration.With({mode, decision}).Observe(seconds);
}

base::Status Impersonate(Call& call) {
  const CountingAuthorizer counting(call.env);
  // Without modes kube-apiserver counts nothing.
  const bool counts = call.env.impersonation_modes != nullptr;
  const authz::Authorizer& authorizer =
      counts ? static_cast<const authz::Authorizer&>(counting) : *call.env.authorizer;
  auto other = authz::Impersonate(call.headers(), AuthorizationAttributes(call), authorizer,
                                  call.env.impersonation_modes);
  const double took =
      EndFilter(call, counts ? Filter::kConstrainedImpersonation : Filter::kImpersonation);
  if (!other.ok()) {
    // A request that asks for somebody without a name has not tried.
    const bool tried = other.status().reason() != base::Reason::kBadRequest;
    if (counts && tried) CountImpersonation(call, took, "", "denied");
    return std::move(other).status();
  }
  if (!*other) return base::OkStatus();
  if (counts) CountImpersonation(call, took, ModeOf((*other)->constraint), "allowed");
  call.user = std::move((*other)->user);
  if (call.audit) {
    call.audit->impersonated_user = call.user;
    call.audit->impersonation_constraint = (*other)->constraint;
  }
  return base::OkStatus();
}

}  // namespace

authz::Attributes AuthorizationAttributes(const Call& call) {
  auto attributes = AttributesOf<authz::Attributes>(call);
  if (!call.info.selectors.empty()) attributes.selectors = &call.info.selectors;
  return attributes;
}

void NoteIdentity(Call& call) {
  for (const std::string& warning : call.notes.warnings) call.recorder.Warn(warning);
  for (const auto& [key, value] : call.notes.audit_annotations) {
    // Refuses only what is there already.
    (void)call.recorder.Annotate(key, value, admission::AuditLevel::kMetadata);
  }
}

base::Status Identify(Call& call, std::optional<Reply>& instead) {
  if (call.audit_id.empty()) call.audit_id = audit::AuditId(call.headers().Get("Audit-ID"));
  if (!call.info.error.empty()) {
    instead = Stumbled(call, base::StrCat("failed to create RequestInfo: ", call.info.error));
    return base::OkStatus();
  }
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
  EndFilter(call, Filter::kAudit);
  return Impersonate(call);
}

void IdentifyOwn(Call& call, const api::UserInfo& user, std::optional<Reply>& instead) {
  call.audit_id = audit::AuditId("");
  call.user = user;
  call.entered = call.env.clock->Steady();
  CountAuthentication(call, Authenticated::kSuccess);
  BeginAudit(call, instead);
  EndFilter(call, Filter::kAudit);
}

base::Status Authorize(Call& call, std::optional<Reply>& instead) {
  const authz::Attributes attributes = AuthorizationAttributes(call);
  if (call.env.seats->flow_control() != nullptr) {
    EndFilter(call, Filter::kPriorityAndFairness);
  } else {
    call.entered = call.env.clock->Steady();
  }
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
