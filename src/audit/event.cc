// SPDX-License-Identifier: Apache-2.0

#include "audit/event.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/random.h"
#include "base/strings.h"
#include "golang/netip.h"
#include "json/writer.h"

namespace portcullis::audit {
namespace {

// Members one after the other; those with an empty value are left out, as Go's omitempty does.
class MemberWriter {
 public:
  explicit MemberWriter(std::string& out) : out_(out) {}

  void Raw(std::string_view name, std::string_view json) {
    if (!first_) out_ += ',';
    first_ = false;
    json::WriteString(name, out_);
    out_ += ':';
    out_ += json;
  }
  void Always(std::string_view name, std::string_view text) {
    std::string json;
    json::WriteString(text, json);
    Raw(name, json);
  }
  void Text(std::string_view name, std::string_view text) {
    if (!text.empty()) Always(name, text);
  }

 private:
  std::string& out_;
  bool first_ = true;
};

std::string UserJson(const api::UserInfo& user) {
  json::Arena arena;
  return json::ToString(api::UserInfoToJson(arena, user), {.splice_source = false});
}

std::string ListJson(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (const std::string& text : texts) {
    if (out.size() > 1) out += ',';
    json::WriteString(text, out);
  }
  return out + "]";
}

std::string ReferenceJson(const ObjectReference& ref) {
  std::string out = "{";
  MemberWriter members(out);
  members.Text("resource", ref.resource);
  members.Text("namespace", ref.ns);
  members.Text("name", ref.name);
  members.Text("uid", ref.uid);
  members.Text("apiGroup", ref.api_group);
  members.Text("apiVersion", ref.api_version);
  members.Text("resourceVersion", ref.resource_version);
  members.Text("subresource", ref.subresource);
  return out + "}";
}

std::string ObjectJson(json::Value object, bool omit_managed_fields) {
  json::Arena arena;
  if (omit_managed_fields) {
    object = json::RemovePath(arena, object, {"metadata", "managedFields"});
    // The items of a list have managed fields as well, and the objects of a table.
    json::ArrayBuilder items(arena);
    json::ArrayBuilder rows(arena);
    for (json::Value item : object["items"].elements()) {
      items.Add(json::RemovePath(arena, item, {"metadata", "managedFields"}));
    }
    for (json::Value row : object["rows"].elements()) {
      rows.Add(json::RemovePath(arena, row, {"object", "metadata", "managedFields"}));
    }
    if (items.size() > 0) object = json::With(arena, object, "items", items.Build());
    if (rows.size() > 0) object = json::With(arena, object, "rows", rows.Build());
  }
  return json::ToString(object);
}

}  // namespace

Event::Event(Depth depth, std::string audit_id, base::WallTime received)
    : depth_(depth), id_(std::move(audit_id)), received_(received) {}

namespace {

// Takes name, namespace and the like from the object where the path of a create lacks them.
void CompleteReference(ObjectReference& reference, json::Value object) {
  const json::Value metadata = object["metadata"];
  const auto complete = [&](std::string& member, std::string_view name) {
    if (member.empty()) member = metadata[name].AsString();
  };
  complete(reference.ns, "namespace");
  complete(reference.name, "name");
  complete(reference.uid, "uid");
  complete(reference.resource_version, "resourceVersion");
}

}  // namespace

void Event::SetRequestObject(json::Value object) {
  if (object_ref && depth_.level >= Level::kMetadata) CompleteReference(*object_ref, object);
  if (!wants_request_object() || object.is_null()) return;
  request_object_ = ObjectJson(object, depth_.omit_managed_fields);
}

void Event::SetRequestPatch(json::Value patch) {
  if (wants_request_object()) request_object_ = json::ToString(patch);
}

void Event::SetResponseObject(json::Value object) {
  if (off() || object.is_null()) return;
  if (object["kind"].AsString() == "Status" && object["apiVersion"].AsString() == "v1") {
    status_members_.clear();
    for (std::string_view name : {"status", "message", "reason", "details"}) {
      if (const json::Value* value = object.Find(name)) {
        status_members_ += base::StrCat("\"", name, "\":", json::ToString(*value), ",");
      }
    }
    code_ = static_cast<int>(object["code"].AsInt(code_));
  }
  if (wants_response_object()) response_object_ = ObjectJson(object, depth_.omit_managed_fields);
}

void Event::SetResponseCode(int code) { code_ = code; }

void Event::Annotate(std::string_view key, std::string_view value) {
  AnnotateAt(Level::kMetadata, key, value);
}

void Event::AnnotateAt(Level least, std::string_view key, std::string_view value) {
  if (off() || depth_.level < least) return;
  auto [it, added] = annotations_.try_emplace(std::string(key), value);
  if (!added && it->second != value) {
    base::LogWarning(
        "audit annotation is already set",
        {{"annotation", std::string(key)}, {"kept", it->second}, {"dropped", std::string(value)}});
  }
}

std::optional<std::string> Event::Encode(Stage stage, base::WallTime now) const {
  if (off() || depth_.Omits(stage)) return std::nullopt;
  std::string out = "{";
  out.reserve(1024 + request_object_.size() + response_object_.size());
  MemberWriter members(out);
  members.Always("kind", "Event");
  members.Always("apiVersion", "audit.k8s.io/v1");
  members.Always("level", LevelText(depth_.level));
  members.Always("auditID", id_);
  members.Always("stage", StageText(stage));
  members.Always("requestURI", request_uri);
  members.Always("verb", verb);
  members.Raw("user", UserJson(user));
  if (impersonated_user) members.Raw("impersonatedUser", UserJson(*impersonated_user));
  if (!impersonation_constraint.empty()) {
    members.Raw("authenticationMetadata",
                base::StrCat("{\"impersonationConstraint\":\"", impersonation_constraint, "\"}"));
  }
  if (!source_ips.empty()) members.Raw("sourceIPs", ListJson(source_ips));
  members.Text("userAgent", user_agent);
  if (object_ref) members.Raw("objectRef", ReferenceJson(*object_ref));
  if (stage != Stage::kRequestReceived) {
    members.Raw("responseStatus", base::StrCat("{\"metadata\":{},", status_members_,
                                               "\"code\":", std::to_string(code_), "}"));
    if (!request_object_.empty()) members.Raw("requestObject", request_object_);
    if (!response_object_.empty()) members.Raw("responseObject", response_object_);
  }
  members.Always("requestReceivedTimestamp", base::FormatMicroTime(received_));
  members.Always("stageTimestamp",
                 base::FormatMicroTime(stage == Stage::kRequestReceived ? received_ : now));
  if (!annotations_.empty()) {
    std::string map = "{";
    MemberWriter pairs(map);
    for (const auto& [key, value] : annotations_) pairs.Always(key, value);
    members.Raw("annotations", map + "}");
  }
  out += '}';
  return out;
}

std::string AuditId(std::string_view header) {
  return header.empty() ? base::Uuid() : std::string(header);
}

std::vector<std::string> SourceIps(std::string_view forwarded_for, std::string_view real_ip,
                                   std::string_view remote_address) {
  std::vector<std::string> ips;
  const auto add = [&](std::string_view text, const auto& repeats) {
    const auto ip = golang::ParseIpSloppy(base::Trim(text));
    if (!ip) return;
    std::string canonical = ip->Unmap().ToString();
    if (!repeats(canonical)) ips.push_back(std::move(canonical));
  };
  for (std::string_view ip : base::Split(forwarded_for, ',')) {
    add(ip, [](const std::string&) { return false; });
  }
  add(real_ip,
      [&](const std::string& ip) { return std::find(ips.begin(), ips.end(), ip) != ips.end(); });
  const auto peer = golang::SplitHostPort(remote_address);
  add(peer.ok() ? peer->first : "",
      [&](const std::string& ip) { return !ips.empty() && ips.back() == ip; });
  return ips;
}

}  // namespace portcullis::audit
