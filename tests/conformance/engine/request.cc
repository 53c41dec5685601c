// SPDX-License-Identifier: Apache-2.0

#include "request.h"

#include <span>

#include "api/api_status.h"
#include "api/patch/managed_fields.h"
#include "base/strings.h"
#include "engine/codec/codec.h"
#include "engine/subresources/subresources.h"
#include "json/reader.h"

namespace portcullis::conformance {
namespace {

using engine::Verb;

constexpr std::string_view kMetaVersion = "meta.k8s.io/v1";

// The rest of a path behind its version: [namespaces/<ns>/]<resource>[/<name>[/<subresource>…]].
void ReadParts(Request& request, std::span<const std::string> parts) {
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

base::Status ReadPath(Request& request, std::string_view path) {
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

Verb VerbOf(const Request& request) {
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

engine::PatchType PatchTypeOf(const Request& request) {
  const std::string_view type = request.headers.Get("Content-Type");
  if (type == "application/json-patch+json") return engine::PatchType::kJson;
  if (type == "application/apply-patch+yaml") return engine::PatchType::kApply;
  if (type == "application/strategic-merge-patch+json") return engine::PatchType::kStrategic;
  return engine::PatchType::kMerge;
}

engine::WriteOptions ReadWriteOptions(engine::Operation& op, const Request& request) {
  const auto dry_run = request.Parameters("dryRun");
  engine::WriteOptions options;
  options.dry_run = !dry_run.empty();
  options.field_manager = request.Parameter("fieldManager");
  if (options.field_manager.empty()) {
    options.field_manager = api::patch::ManagerFromUserAgent(request.headers.Get("User-Agent"));
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
json::Value ReadParameters(engine::Operation& op, const Request& request) {
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

}  // namespace

std::string_view Request::Parameter(std::string_view parameter) const {
  for (const auto& [key, value] : query) {
    if (key == parameter) return value;
  }
  return {};
}

std::vector<std::string> Request::Parameters(std::string_view parameter) const {
  std::vector<std::string> values;
  for (const auto& [key, value] : query) {
    if (key == parameter) values.push_back(value);
  }
  return values;
}

base::Result<Request> ReadRequest(json::Value line) {
  Request request;
  request.method = line["method"].AsString();
  for (const json::Value& pair : line["query"].elements()) {
    request.query.emplace_back(pair[std::size_t{0}].AsString(), pair[1].AsString());
  }
  for (const json::Value& pair : line["headers"].elements()) {
    request.headers.Add(pair[std::size_t{0}].AsString(), pair[1].AsString());
  }
  request.body = line["body"].AsString();
  TRY(ReadPath(request, line["path"].AsString()));
  return request;
}

authz::Attributes AttributesOf(const Request& request, const api::UserInfo& user) {
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

base::Status Resolve(engine::Operation& op, const Request& request) {
  op.resource = op.catalog->Find(request.group, request.version, request.resource);
  if (op.resource == nullptr) return api::UnknownResourceStatus();
  if (!request.subresource.empty()) {
    op.subresource = op.resource->FindSubresource(request.subresource);
    if (op.subresource == nullptr) return api::UnknownResourceStatus();
  }
  op.ns = request.ns;
  op.name = request.name;
  const bool connects = engine::FindFunction(op, Verb::kConnect) != nullptr;
  op.verb = connects ? Verb::kConnect : VerbOf(request);
  const std::string_view verb = engine::VerbName(VerbOf(request));
  const bool allowed =
      connects || (op.subresource ? op.subresource->HasVerb(verb) : op.resource->HasVerb(verb));
  if (allowed) return base::OkStatus();
  return api::MethodNotAllowedStatus();
}

engine::Input ReadInput(engine::Operation& op, const Request& request) {
  engine::Input input;
  input.body = request.body;
  if (request.headers.Get("Content-Type") == "application/yaml") {
    input.type = engine::MediaType::kYaml;
  }
  input.patch = PatchTypeOf(request);
  input.options = ReadWriteOptions(op, request);
  op.dry_run = input.options.dry_run;
  if (op.verb == Verb::kConnect) input.parameters = ReadParameters(op, request);
  return input;
}

base::Result<engine::DeleteOptions> ReadDeleteOptions(engine::Operation& op,
                                                      const Request& request) {
  engine::DeleteOptions options;
  json::Value body = json::MakeObject(op.arena, {});
  if (!request.body.empty()) body = TRY(json::Parse(op.arena, request.body));
  json::ObjectBuilder value(op.arena);
  value.Set("kind", "DeleteOptions").Set("apiVersion", kMetaVersion);
  if (body["gracePeriodSeconds"].is_int()) {
    options.grace_period_seconds = body["gracePeriodSeconds"].AsInt();
  } else if (!request.Parameter("gracePeriodSeconds").empty()) {
    options.grace_period_seconds = base::ParseInt(request.Parameter("gracePeriodSeconds"));
  }
  if (options.grace_period_seconds) value.Set("gracePeriodSeconds", *options.grace_period_seconds);
  options.uid = body["preconditions"]["uid"].AsString();
  options.resource_version = body["preconditions"]["resourceVersion"].AsString();
  if (body.Has("preconditions")) value.Set("preconditions", body["preconditions"]);
  options.propagation_policy = body["propagationPolicy"].AsString();
  if (options.propagation_policy.empty()) {
    options.propagation_policy = request.Parameter("propagationPolicy");
  }
  if (!options.propagation_policy.empty()) {
    value.Set("propagationPolicy", options.propagation_policy);
  }
  auto dry_run = request.Parameters("dryRun");
  for (const json::Value& item : body["dryRun"].elements()) dry_run.emplace_back(item.AsString());
  if (!dry_run.empty()) value.Set("dryRun", Texts(op.arena, dry_run));
  options.dry_run = !dry_run.empty();
  options.value = value.Build();
  op.dry_run = options.dry_run;
  return options;
}

engine::ListOptions ReadListOptions(const Request& request) {
  engine::ListOptions options;
  options.label_selector = request.Parameter("labelSelector");
  options.field_selector = request.Parameter("fieldSelector");
  options.resource_version = request.Parameter("resourceVersion");
  options.continue_token = request.Parameter("continue");
  options.limit = base::ParseInt(request.Parameter("limit")).value_or(0);
  return options;
}

}  // namespace portcullis::conformance
