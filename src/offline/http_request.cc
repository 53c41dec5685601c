// SPDX-License-Identifier: Apache-2.0

#include "offline/http_request.h"

#include <cstdint>
#include <span>

#include "api/api_status.h"
#include "api/patch/managed_fields.h"
#include "base/strings.h"
#include "engine/codec/codec.h"
#include "engine/engine.h"
#include "engine/subresources/subresources.h"
#include "golang/url.h"
#include "json/reader.h"

namespace portcullis::offline {
namespace {

using engine::Verb;

constexpr std::string_view kMetaVersion = "meta.k8s.io/v1";

// The rest of a path behind its version: [namespaces/<ns>/]<resource>[/<name>[/<subresource>…]].
void ReadParts(HttpRequest& request, std::span<const std::string> parts) {
  const bool in_namespace = parts.size() > 2 && parts[0] == "namespaces" && parts[2] != "status" &&
                            parts[2] != "finalize";
  if (in_namespace) {
    request.ns = parts[1];
    parts = parts.subspan(2);
  }
  request.resource = parts[0];
  if (parts.size() > 1) request.name = parts[1];
  if (parts.size() > 2) request.subresource = parts[2];
  for (std::size_t i = 3; i < parts.size(); ++i) request.rest += base::StrCat("/", parts[i]);
  // A Namespace counts as being in itself.
  if (request.resource == "namespaces" && request.group.empty()) request.ns = request.name;
}

Verb VerbOf(const HttpRequest& request) {
  if (request.method == "POST") return Verb::kCreate;
  if (request.method == "PUT") return Verb::kUpdate;
  if (request.method == "PATCH") return Verb::kPatch;
  if (request.method == "DELETE") {
    return request.name.empty() ? Verb::kDeleteCollection : Verb::kDelete;
  }
  return request.name.empty() ? Verb::kList : Verb::kGet;
}

json::Value Texts(json::Arena& arena, const std::vector<std::string>& texts) {
  json::ArrayBuilder array(arena);
  for (const std::string& text : texts) array.Add(text);
  return array.Build();
}

engine::PatchType PatchTypeOf(const HttpRequest& request) {
  const std::string_view type = request.content_type;
  if (type == "application/json-patch+json") return engine::PatchType::kJson;
  if (type == "application/apply-patch+yaml") return engine::PatchType::kApply;
  if (type == "application/strategic-merge-patch+json") return engine::PatchType::kStrategic;
  return engine::PatchType::kMerge;
}

engine::WriteOptions ReadWriteOptions(engine::Operation& op, const HttpRequest& request) {
  const auto dry_run = request.Parameters("dryRun");
  engine::WriteOptions options;
  options.dry_run = !dry_run.empty();
  options.field_manager = request.Parameter("fieldManager");
  if (options.field_manager.empty()) {
    options.field_manager = api::patch::ManagerFromUserAgent(request.user_agent);
  }
  const std::string_view validation = request.Parameter("fieldValidation");
  options.validation =
      engine::FieldValidationNamed(validation).value_or(engine::FieldValidation::kWarn);
  if (!request.Parameters("force").empty()) options.force = request.Parameter("force") != "false";
  engine::SetOptionsForAdmission(op.arena, {dry_run, request.Parameter("fieldManager"), validation},
                                 options);
  return options;
}

// What a connection is asked for: PodExecOptions and the like.
json::Value ReadParameters(engine::Operation& op, const HttpRequest& request) {
  json::ObjectBuilder options(op.arena);
  options.Set("kind", op.kind().kind).Set("apiVersion", engine::ApiVersion(op.kind()));
  if (request.subresource == "proxy") {
    if (!request.rest.empty()) options.Set("path", request.rest);
    return options.Build();
  }
  if (request.subresource == "portforward") {
    json::ArrayBuilder ports(op.arena);
    for (const std::string& port : request.Parameters("ports")) {
      ports.Add(json::Value::Int(base::ParseInt(port).value_or(0)));
    }
    if (ports.size() > 0) options.Set("ports", ports.Build());
    return options.Build();
  }
  for (std::string_view name : {"stdin", "stdout", "stderr", "tty"}) {
    if (request.Parameter(name) == "true") options.Set(name, true);
  }
  if (!request.Parameter("container").empty()) {
    options.Set("container", request.Parameter("container"));
  }
  if (request.subresource == "exec") {
    const auto command = request.Parameters("command");
    options.Set("command", command.empty() ? json::Value() : Texts(op.arena, command));
  }
  return options.Build();
}

// What a webhook's Status holds and base::Status does not.
json::Value WithForeignParts(engine::Operation& op, json::Value status) {
  const auto foreign = op.recorder.foreign_status();
  if (!foreign) return status;
  if (!foreign->status.empty()) {
    status = json::With(op.arena, status, "status", json::String(op.arena, foreign->status));
  }
  const auto metadata = json::Parse(op.arena, op.arena.Copy(foreign->metadata_json));
  return metadata.ok() ? json::With(op.arena, status, "metadata", *metadata) : status;
}

// The items of lists of built-in kinds name neither kind nor version.
json::Value ItemOf(const engine::Operation& op, json::Value object) {
  if (op.resource->custom) return object;
  json::ObjectBuilder item(op.arena, object);
  item.Remove("kind").Remove("apiVersion");
  return item.Build();
}

}  // namespace

std::string_view HttpRequest::Parameter(std::string_view parameter) const {
  for (const auto& [key, value] : query) {
    if (key == parameter) return value;
  }
  return {};
}

std::vector<std::string> HttpRequest::Parameters(std::string_view parameter) const {
  std::vector<std::string> values;
  for (const auto& [key, value] : query) {
    if (key == parameter) values.push_back(value);
  }
  return values;
}

base::Status ReadPath(HttpRequest& request, std::string_view path) {
  std::vector<std::string> parts;
  for (std::string_view part : base::Split(path, '/')) {
    if (!part.empty()) parts.emplace_back(part);
  }
  const std::size_t own = !parts.empty() && parts[0] == "apis" ? 3 : 2;
  if (parts.size() <= own || (parts[0] != "api" && parts[0] != "apis")) {
    return base::BadRequest(base::StrCat(path, " is no resource"));
  }
  if (own == 3) request.group = parts[1];
  request.version = parts[own - 1];
  ReadParts(request, std::span(parts).subspan(own));
  return base::OkStatus();
}

base::Status ReadUri(HttpRequest& request, std::string_view uri) {
  const golang::Url url = TRY(golang::ParseRequestUri(uri));
  request.query = golang::ParseQuery(url.raw_query);
  return ReadPath(request, url.path);
}

authz::Attributes AttributesOf(const HttpRequest& request, const api::UserInfo& user) {
  authz::Attributes attributes;
  attributes.user = &user;
  attributes.verb = engine::VerbName(VerbOf(request));
  attributes.group = request.group;
  attributes.version = request.version;
  attributes.resource = request.resource;
  attributes.subresource = request.subresource;
  attributes.ns = request.ns;
  attributes.name = request.name;
  return attributes;
}

base::Status Resolve(engine::Operation& op, const HttpRequest& request) {
  TRY(engine::Resolve(op, {request.group, request.version, request.resource, request.subresource,
                           request.ns, request.name}));
  const bool connects = engine::FindFunction(op, Verb::kConnect) != nullptr;
  op.verb = connects ? Verb::kConnect : VerbOf(request);
  const std::string_view verb = engine::VerbName(VerbOf(request));
  const bool allowed =
      connects || (op.subresource ? op.subresource->HasVerb(verb) : op.resource->HasVerb(verb));
  if (allowed) return base::OkStatus();
  return api::MethodNotAllowedStatus();
}

engine::Input ReadInput(engine::Operation& op, const HttpRequest& request) {
  engine::Input input;
  input.body = request.body;
  if (request.content_type == "application/yaml") {
    input.type = engine::MediaType::kYaml;
  }
  input.patch = PatchTypeOf(request);
  input.options = ReadWriteOptions(op, request);
  op.dry_run = input.options.dry_run;
  if (op.verb == Verb::kConnect) input.parameters = ReadParameters(op, request);
  return input;
}

base::Result<engine::DeleteOptions> ReadDeleteOptions(engine::Operation& op,
                                                      const HttpRequest& request) {
  engine::DeleteOptions options;
  json::Value body = json::MakeObject(op.arena, {});
  if (!request.body.empty()) body = TRY(json::Parse(op.arena, request.body));
  json::ObjectBuilder value(op.arena);
  value.Set("kind", "DeleteOptions").Set("apiVersion", kMetaVersion);
  // With a body the query counts for nothing, not even for a dry run.
  const bool by_query = request.body.empty();
  if (body["gracePeriodSeconds"].is_int()) {
    options.grace_period_seconds = body["gracePeriodSeconds"].AsInt();
  } else if (by_query && !request.Parameter("gracePeriodSeconds").empty()) {
    options.grace_period_seconds = base::ParseInt(request.Parameter("gracePeriodSeconds"));
  }
  if (options.grace_period_seconds) value.Set("gracePeriodSeconds", *options.grace_period_seconds);
  options.uid = body["preconditions"]["uid"].AsString();
  options.resource_version = body["preconditions"]["resourceVersion"].AsString();
  if (body.Has("preconditions")) value.Set("preconditions", body["preconditions"]);
  options.propagation_policy = body["propagationPolicy"].AsString();
  if (by_query) {
    options.propagation_policy = request.Parameter("propagationPolicy");
  }
  if (!options.propagation_policy.empty()) {
    value.Set("propagationPolicy", options.propagation_policy);
  }
  auto dry_run = by_query ? request.Parameters("dryRun") : std::vector<std::string>();
  for (const json::Value& item : body["dryRun"].elements()) dry_run.emplace_back(item.AsString());
  if (!dry_run.empty()) value.Set("dryRun", Texts(op.arena, dry_run));
  options.dry_run = !dry_run.empty();
  options.value = value.Build();
  op.dry_run = options.dry_run;
  return options;
}

engine::ListOptions ReadListOptions(const HttpRequest& request) {
  engine::ListOptions options;
  options.label_selector = request.Parameter("labelSelector");
  options.field_selector = request.Parameter("fieldSelector");
  options.resource_version = request.Parameter("resourceVersion");
  options.continue_token = request.Parameter("continue");
  options.limit = base::ParseInt(request.Parameter("limit")).value_or(0);
  return options;
}

json::Value StatusValue(engine::Operation& op, const base::Status& status) {
  return WithForeignParts(op, api::StatusToJson(op.arena, status));
}

base::Result<json::Value> ListValue(engine::Operation& op, const engine::Listing& listing) {
  json::ArrayBuilder items(op.arena);
  for (const store::ObjectPtr& object : listing.objects) {
    items.Add(ItemOf(op, TRY(engine::FromStore(op, object))));
  }
  json::ObjectBuilder metadata(op.arena);
  metadata.Set("resourceVersion", listing.meta.resource_version);
  // Lists of custom resources have no type that would leave out an empty one.
  if (!listing.meta.continue_token.empty() || op.resource->custom) {
    metadata.Set("continue", listing.meta.continue_token);
  }
  if (listing.meta.remaining > 0) {
    metadata.Set("remainingItemCount", static_cast<std::int64_t>(listing.meta.remaining));
  }
  return json::ObjectBuilder(op.arena)
      .Set("kind", op.resource->list_kind)
      .Set("apiVersion", engine::ApiVersion(op.resource->kind))
      .Set("metadata", metadata.Build())
      .Set("items", items.Build())
      .Build();
}

}  // namespace portcullis::offline
