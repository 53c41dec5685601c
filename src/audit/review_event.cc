// SPDX-License-Identifier: Apache-2.0

#include "audit/review_event.h"

#include <string_view>

#include "base/strings.h"
#include "golang/url.h"
#include "json/writer.h"

namespace portcullis::audit {
namespace {

// Of requests that can be carried out again: a connection has no object.
std::string_view VerbOf(std::string_view operation, bool has_name) {
  if (operation == "CREATE") return "create";
  if (operation == "UPDATE") return "update";
  if (operation == "DELETE") return has_name ? "delete" : "deletecollection";
  return {};
}

std::string UriOf(json::Value request, std::string_view verb) {
  const json::Value resource = request["resource"];
  const std::string_view group = resource["group"].AsString();
  std::string uri = group.empty() ? "/api" : base::StrCat("/apis/", group);
  uri += base::StrCat("/", resource["version"].AsString());
  const std::string_view ns = request["namespace"].AsString();
  const std::string_view name = request["name"].AsString();
  const std::string_view subresource = request["subResource"].AsString();
  // The namespace of a Namespace is its own name.
  const bool is_namespace = group.empty() && resource["resource"].AsString() == "namespaces";
  if (!ns.empty() && !is_namespace) uri += base::StrCat("/namespaces/", ns);
  uri += base::StrCat("/", resource["resource"].AsString());
  const bool names_object = verb != "create" || !subresource.empty();
  if (!name.empty() && names_object) uri += base::StrCat("/", golang::PathEscape(name));
  if (!subresource.empty()) uri += base::StrCat("/", subresource);
  const std::string_view manager = request["options"]["fieldManager"].AsString();
  if (!manager.empty()) uri += base::StrCat("?fieldManager=", golang::QueryEscape(manager));
  return uri;
}

}  // namespace

std::optional<std::string> EventOfReview(json::Value request, base::WallTime now) {
  const std::string_view name = request["name"].AsString();
  const std::string_view verb = VerbOf(request["operation"].AsString(), !name.empty());
  const json::Value resource = request["resource"];
  if (verb.empty() || resource["resource"].AsString().empty()) return std::nullopt;
  if (request["dryRun"].AsBool()) return std::nullopt;
  json::Arena arena;
  const std::string time = base::FormatMicroTime(now);
  json::ObjectBuilder reference(arena);
  const auto add = [&reference](std::string_view field, json::Value value) {
    if (!value.AsString().empty()) reference.Set(field, value);
  };
  add("resource", resource["resource"]);
  add("namespace", request["namespace"]);
  add("name", request["name"]);
  add("apiGroup", resource["group"]);
  add("apiVersion", resource["version"]);
  add("subresource", request["subResource"]);
  const bool deletes = verb.starts_with("delete");
  const std::string uri = UriOf(request, verb);
  json::ObjectBuilder event(arena);
  event.Set("kind", "Event")
      .Set("apiVersion", "audit.k8s.io/v1")
      .Set("level", "Request")
      .Set("auditID", request["uid"])
      .Set("stage", "ResponseComplete")
      .Set("requestURI", std::string_view(uri))
      .Set("verb", verb)
      .Set("user", request["userInfo"])
      .Set("objectRef", reference.Build())
      .Set("requestObject", deletes ? request["options"] : request["object"]);
  if (request["oldObject"].is_object()) event.Set("oldObject", request["oldObject"]);
  event.Set("requestReceivedTimestamp", std::string_view(time))
      .Set("stageTimestamp", std::string_view(time));
  return json::ToString(event.Build(), {.escape_html = false});
}

}  // namespace portcullis::audit
