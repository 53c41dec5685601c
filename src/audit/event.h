// SPDX-License-Identifier: Apache-2.0

// Event gathers what the audit log tells of one request, and writes it for each stage
// (audit.k8s.io/v1 Event). Confined to the thread that handles the request.
//
//   audit::Event event(policy.For(attributes), id, clock.Now());
//   event.verb = "create"; …
//   if (auto line = event.Encode(audit::Stage::kResponseComplete, clock.Now())) sink.Write(*line);
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/user_info.h"
#include "audit/policy.h"
#include "base/clock.h"
#include "base/status.h"
#include "json/value.h"

namespace portcullis::audit {

struct ObjectReference {
  std::string resource, ns, name, uid, api_group, api_version, resource_version, subresource;
};

class Event {
 public:
  Event(Depth depth, std::string audit_id, base::WallTime received);

  const Depth& depth() const { return depth_; }
  // Nothing of this request is recorded; the rest of the calls may be skipped.
  bool off() const { return depth_.level == Level::kNone; }
  bool wants_request_object() const { return depth_.level >= Level::kRequest; }
  bool wants_response_object() const { return depth_.level >= Level::kRequestResponse; }

  std::string request_uri;
  std::string verb;
  api::UserInfo user;
  std::optional<api::UserInfo> impersonated_user;
  std::string impersonation_constraint;  // by which constrained mode; "" if by none
  std::vector<std::string> source_ips;
  std::string user_agent;
  std::optional<ObjectReference> object_ref;

  // Kept if the level asks for it; managedFields are left out if the policy says so. Of a response
  // that is a Status, status, message, reason and details are recorded at every level.
  void SetRequestObject(json::Value object);
  // A patch is kept as it is, and tells nothing about the object.
  void SetRequestPatch(json::Value patch);
  void SetResponseObject(json::Value object);
  // The HTTP code of the response.
  void SetResponseCode(int code);

  // The first value of a key stays; a second one is ignored (and logged), as in Kubernetes.
  void Annotate(std::string_view key, std::string_view value);
  // The same, if the event is recorded at `least` or deeper.
  void AnnotateAt(Level least, std::string_view key, std::string_view value);
  const std::map<std::string, std::string, std::less<>>& annotations() const {
    return annotations_;
  }

  // One line of JSON without newline, or no value if level or stage is not recorded.
  std::optional<std::string> Encode(Stage stage, base::WallTime now) const;

 private:
  Depth depth_;
  std::string id_;
  base::WallTime received_;
  std::string request_object_;
  std::string response_object_;
  std::string status_members_;  // of a Status response: `"status":…,"message":…,`
  int code_ = 0;
  std::map<std::string, std::string, std::less<>> annotations_;
};

// The audit id of a request: what the client sent in Audit-ID, else a new uuid.
std::string AuditId(std::string_view header);

// The addresses a request came through, as kube-apiserver records them: X-Forwarded-For, then
// X-Real-Ip, then the peer ("10.0.0.1:5000"), each in its canonical form. What is no address is left
// out.
std::vector<std::string> SourceIps(std::string_view forwarded_for, std::string_view real_ip,
                                   std::string_view remote_address);

}  // namespace portcullis::audit
