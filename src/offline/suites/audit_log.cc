// SPDX-License-Identifier: Apache-2.0

// Audit logs (audit.k8s.io/v1): the writes that a server has answered, carried out anew in their order,
// each expected to end with the same code. Events without the object of the request (level Metadata) are
// counted and not run.
#include <utility>

#include "base/strings.h"
#include "json/writer.h"
#include "offline/suites/reading.h"
#include "offline/suites/suite_format.h"

namespace portcullis::offline {
namespace {

constexpr std::pair<std::string_view, std::string_view> kMethods[] = {
    {"create", "POST"},
    {"update", "PUT"},
    {"patch", "PATCH"},
    {"delete", "DELETE"},
    {"deletecollection", "DELETE"},
};

std::string_view MethodOf(std::string_view verb) {
  for (const auto& [name, method] : kMethods) {
    if (name == verb) return method;
  }
  return {};
}

// An event does not say how its patch is to be read. An array is a JSON patch; a whole object of a named
// field manager an apply; else it is a strategic merge patch, where the kind has those.
std::string_view PatchTypeOf(json::Value patch, const HttpRequest& request) {
  if (patch.is_array()) return "application/json-patch+json";
  const bool is_object = patch.Has("apiVersion") && patch.Has("kind");
  if (is_object && !request.Parameter("fieldManager").empty()) {
    return "application/apply-patch+yaml";
  }
  const bool built_in =
      request.group.find('.') == std::string::npos || request.group.ends_with(".k8s.io");
  return built_in ? "application/strategic-merge-patch+json" : "application/merge-patch+json";
}

class AuditReader {
 public:
  explicit AuditReader(Suite& suite) : suite_(suite) {}

  void Add(const Manifest& document) {
    const json::Value items = document.object["items"];
    if (!items.is_array()) return AddEvent(document, document.object, {});
    for (std::size_t i = 0; i < items.size(); ++i) {
      AddEvent(document, items[i], {"items", std::to_string(i)});
    }
  }

 private:
  // The versions and uids of another server's objects are not those of the objects here.
  json::Value WithoutVersion(json::Value body, std::string_view method, json::Value event) {
    const bool accepted = event["responseStatus"]["code"].AsInt() < 300;
    if (method == "POST" || !accepted || !body.is_object()) return body;
    json::Arena& arena = *suite_.arena;
    body = json::RemovePath(arena, body, {"metadata", "resourceVersion"});
    return json::RemovePath(arena, body, {"metadata", "uid"});
  }

  void AddEvent(const Manifest& document, json::Value event, const Steps& steps) {
    const std::string_view method = MethodOf(event["verb"].AsString());
    const std::string_view stage = event["stage"].AsString("ResponseComplete");
    if (method.empty() || stage != "ResponseComplete") return;
    Location unused;
    const Reading reading(document, unused);
    const std::string_view uri = event["requestURI"].AsString();
    Case one = reading.NewCase(base::StrCat(event["verb"].AsString(), " ", uri), steps);
    HttpRequest request;
    request.method = method;
    const json::Value body = event["requestObject"];
    if (!ReadUri(request, uri).ok()) {
      one.not_ours = "requests that are about no resource";
    } else if (!body.is_object() && !body.is_array() && method != "DELETE") {
      one.not_ours = "events of level Metadata have no object";
    }
    request.body = body.is_null() ? "" : json::ToString(WithoutVersion(body, method, event));
    request.user_agent = event["userAgent"].AsString();
    if (method == "PATCH") request.content_type = PatchTypeOf(body, request);
    const json::Value user =
        event.Has("impersonatedUser") ? event["impersonatedUser"] : event["user"];
    one.review.user = ReadUserInfo(user);
    // A webhook records no answer: what it has let pass is expected to be allowed.
    if (event["responseStatus"]["code"].is_int()) {
      one.expect.verdict = Expected::kAny;
      one.expect.code = static_cast<int>(event["responseStatus"]["code"].AsInt());
    }
    one.review.old_object = event["oldObject"];
    one.may_lack_object = method != "POST" && one.expect.code.value_or(200) != 404;
    one.may_meet_own = method == "POST" && one.expect.code.value_or(201) != 409;
    one.request = std::move(request);
    suite_.cases.push_back(std::move(one));
  }

  Suite& suite_;
};

}  // namespace

bool IsAuditEvent(const Manifest& document) {
  return document.group() == "audit.k8s.io" &&
         (document.kind == "Event" || document.kind == "EventList");
}

base::Status ReadAuditLog(std::span<const Manifest> documents, Location& wrong, Suites& suites) {
  Suite suite;
  suite.name = documents.front().source->path();
  suite.steps = true;
  AuditReader reader(suite);
  for (const Manifest& document : documents) reader.Add(document);
  if (suite.cases.empty()) {
    wrong = documents.front().Find({});
    return base::ConfigError("none of the events is a write that has been answered");
  }
  suites.suites.push_back(std::move(suite));
  return base::OkStatus();
}

}  // namespace portcullis::offline
