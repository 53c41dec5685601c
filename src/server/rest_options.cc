// SPDX-License-Identifier: Apache-2.0

#include "server/rest_options.h"

#include <algorithm>

#include "api/api_status.h"
#include "api/catalog/catalog.h"
#include "api/field_error.h"
#include "api/named_value.h"
#include "api/patch/managed_fields.h"
#include "api/schema/decode.h"
#include "api/schema/type_meta.h"
#include "api/selector/field_selector.h"
#include "api/selector/label_selector.h"
#include "base/strings.h"
#include "engine/codec/body.h"
#include "golang/strconv.h"
#include "json/writer.h"
#include "registry/validation/object_meta.h"

namespace portcullis::server {

using engine::DeleteOptions;
using engine::FieldValidation;
using engine::ListOptions;
using engine::WriteOptions;

namespace {

constexpr std::string_view kMetaVersion = "meta.k8s.io/v1";

json::Value StringArray(json::Arena& arena, const std::vector<std::string>& values) {
  json::ArrayBuilder array(arena);
  for (const std::string& value : values) array.Add(value);
  return array.Build();
}

void CheckDryRun(json::Arena& arena, const std::vector<std::string>& values,
                 api::FieldErrors& errors) {
  for (const std::string& value : values) {
    if (value == "All") continue;
    errors.push_back(api::NotSupported(api::FieldPath("dryRun"),
                                       api::BadValue(StringArray(arena, values)), {"All"}));
    return;
  }
}

base::Status OptionsInvalid(std::string_view kind, const api::FieldErrors& errors) {
  return api::InvalidStatus({"meta.k8s.io", std::string(kind)}, "", errors);
}

base::Result<std::optional<std::int64_t>> ReadInt(const Query& query, std::string_view name) {
  if (!query.Has(name)) return std::optional<std::int64_t>();
  return std::optional<std::int64_t>(TRY(golang::ParseInt(query.Get(name))));
}

std::optional<bool> ReadBool(const Query& query, std::string_view name) {
  if (!query.Has(name)) return std::nullopt;
  return query.GetBool(name);
}

}  // namespace

base::Result<WriteOptions> ReadWriteOptions(Call& call, WriteKind kind) {
  const Query& query = call.info.query;
  WriteOptions options;
  api::FieldErrors errors;
  const auto dry_run = query.All("dryRun");
  options.field_manager = std::string(query.Get("fieldManager"));
  const bool apply =
      kind == WriteKind::kPatch &&
      BareMediaType(call.headers().Get("Content-Type")).substr(0, 23) == "application/apply-patch";
  if (kind == WriteKind::kPatch) {
    options.force = ReadBool(query, "force");
    if (apply && options.field_manager.empty()) {
      errors.push_back(
          api::Required(api::FieldPath("fieldManager"), "is required for apply patch"));
    } else if (!apply && options.force) {
      errors.push_back(
          api::Forbidden(api::FieldPath("force"), "may not be specified for non-apply patch"));
    }
  }
  registry::CheckFieldManager(options.field_manager, api::FieldPath("fieldManager"), errors);
  CheckDryRun(call.arena, dry_run, errors);
  const std::string_view given_validation = query.Get("fieldValidation");
  const auto validation = engine::FieldValidationNamed(given_validation);
  if (!validation) {
    errors.push_back(api::NotSupported(api::FieldPath("fieldValidation"), given_validation,
                                       {"", "Ignore", "Strict", "Warn"}));
  }
  if (!errors.empty()) {
    constexpr std::string_view kKinds[] = {"CreateOptions", "UpdateOptions", "PatchOptions"};
    return OptionsInvalid(kKinds[static_cast<std::size_t>(kind)], errors);
  }
  options.validation = *validation;
  engine::SetOptionsForAdmission(call.arena, {dry_run, options.field_manager, given_validation},
                                 options);
  if (options.field_manager.empty()) {
    options.field_manager = api::patch::ManagerFromUserAgent(call.headers().Get("User-Agent"));
  }
  options.dry_run = !dry_run.empty();
  call.dry_run = options.dry_run;
  if (kind == WriteKind::kCreate && call.env.initializers) {
    const std::string_view include = query.Get("includeUninitialized");
    options.include_uninitialized = call.env.release->Has("IncludeUninitializedIsOne")
                                        ? include == "1"
                                        : query.GetBool("includeUninitialized");
  }
  return options;
}

namespace {

// Any version will do, but nothing else than DeleteOptions.
base::Status CheckDeleteOptionsKind(const engine::TypeMeta& meta) {
  const std::string_view text = meta.api_version;
  auto parsed = api::ParseGroupVersion(text.empty() ? kMetaVersion : text);
  if (!parsed.ok()) return base::BadRequest(parsed.status().message());
  if (meta.kind.empty() || meta.kind == "DeleteOptions") return base::OkStatus();
  return base::BadRequest(api::schema::NotRegistered(
      meta.kind, parsed->ToString(),
      "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"));
}

// The body of a DELETE, by its type.
base::Result<json::Value> DecodeDeleteOptions(Call& call) {
  const MediaType type = TRY(NegotiateInput(call.headers().Get("Content-Type"), call.takes_cbor));
  const auto body =
      engine::ReadBody(call.arena, *call.catalog, call.body, type, {"", "v1", "DeleteOptions"});
  if (!body.ok()) return base::BadRequest(body.status().message());
  TRY(CheckDeleteOptionsKind(TRY(engine::ReadTypeMeta(body->value))));
  if (!body->message_error.empty()) return base::BadRequest(body->message_error);
  const auto* schema = call.catalog->FindSchema({"", "v1", "DeleteOptions"});
  if (schema == nullptr) return engine::Untyped(call.arena, *body);
  const json::Value merged = TRY(engine::Typed(call.arena, *body, *schema, nullptr));
  auto decoded = api::schema::Decode(call.arena, *schema, merged);
  if (!decoded.ok()) return base::BadRequest(decoded.status().message());
  return *decoded;
}

}  // namespace

base::Result<DeleteOptions> ReadDeleteOptions(Call& call) {
  DeleteOptions options;
  json::ObjectBuilder value(call.arena);
  value.Set("kind", "DeleteOptions").Set("apiVersion", kMetaVersion);
  std::vector<std::string> dry_run;
  if (!call.body.empty()) {
    const json::Value body = TRY(DecodeDeleteOptions(call));
    if (body["gracePeriodSeconds"].is_int()) {
      options.grace_period_seconds = body["gracePeriodSeconds"].AsInt();
    }
    if (body["orphanDependents"].is_bool()) {
      options.orphan_dependents = body["orphanDependents"].AsBool();
    }
    options.propagation_policy = std::string(body["propagationPolicy"].AsString());
    options.uid = std::string(body["preconditions"]["uid"].AsString());
    options.resource_version = std::string(body["preconditions"]["resourceVersion"].AsString());
    for (const json::Value& item : body["dryRun"].elements()) {
      dry_run.emplace_back(item.AsString());
    }
    options.ignores_read_errors = body[engine::kIgnoresReadErrors].AsBool();
    for (std::string_view name : {"gracePeriodSeconds", "preconditions", "orphanDependents",
                                  "propagationPolicy", "dryRun"}) {
      if (!body[name].is_null()) value.Set(name, body[name]);
    }
    // Audit shows what was sent, and not what stands in the query.
    call.request_object = json::With(call.arena, value.Build(), "apiVersion",
                                     json::Value::StringView("meta.k8s.io/__internal"));
  } else {
    const Query& query = call.info.query;
    dry_run = query.All("dryRun");
    options.grace_period_seconds = TRY(ReadInt(query, "gracePeriodSeconds"));
    options.orphan_dependents = ReadBool(query, "orphanDependents");
    options.ignores_read_errors = query.GetBool(engine::kIgnoresReadErrors);
    options.propagation_policy = std::string(query.Get("propagationPolicy"));
    options.uid = std::string(query.Get("uid"));
    options.resource_version = std::string(query.Get("resourceVersion"));
    if (options.grace_period_seconds) {
      value.Set("gracePeriodSeconds", *options.grace_period_seconds);
    }
    json::ObjectBuilder preconditions(call.arena);
    if (!options.uid.empty()) preconditions.Set("uid", options.uid);
    if (!options.resource_version.empty()) {
      preconditions.Set("resourceVersion", options.resource_version);
    }
    if (!options.uid.empty() || !options.resource_version.empty()) {
      value.Set("preconditions", preconditions.Build());
    }
    if (options.orphan_dependents) value.Set("orphanDependents", *options.orphan_dependents);
    if (!options.propagation_policy.empty()) {
      value.Set("propagationPolicy", options.propagation_policy);
    }
    if (!dry_run.empty()) value.Set("dryRun", StringArray(call.arena, dry_run));
  }
  options.ignores_read_errors = options.ignores_read_errors &&
                                call.env.release->GateEnabled("AllowUnsafeMalformedObjectDeletion");
  if (options.ignores_read_errors) value.Set(engine::kIgnoresReadErrors, true);
  options.value = value.Build();
  TRY(engine::CheckDeleteOptions(options));
  options.dry_run = !dry_run.empty();
  return options;
}

namespace {

// What cannot be read at all is told before what does not go together.
base::Status CheckSelectors(const ListOptions& options) {
  if (!options.label_selector.empty()) {
    const auto labels = api::LabelSelector::Parse(options.label_selector);
    if (!labels.ok()) return base::BadRequest(labels.status().message());
  }
  if (!options.field_selector.empty()) {
    const auto fields = api::FieldSelector::Parse(options.field_selector);
    if (!fields.ok()) return base::BadRequest(fields.status().message());
  }
  return base::OkStatus();
}

// apimachinery, internalversion/validation. `watch_list`: gate WatchList.
void CheckWatchOptions(const ListOptions& options, bool watch_list, api::FieldErrors& errors) {
  const api::FieldPath path("resourceVersionMatch");
  const std::string& match = options.resource_version_match;
  if (options.send_initial_events && match != "NotOlderThan") {
    errors.push_back(api::Forbidden(
        path, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"));
  }
  if (options.send_initial_events && !watch_list) {
    errors.push_back(api::Forbidden(
        api::FieldPath("sendInitialEvents"),
        "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"));
  }
  if (match.empty()) {
    // Kubernetes lets an old watch begin with what there is by setting both parameters itself.
    const std::string& version = options.resource_version;
    const bool from_start = version.empty() || version == "0";
    const bool fills_in = watch_list && !options.send_initial_events && from_start;
    if (fills_in && !options.continue_token.empty()) {
      errors.push_back(
          api::Forbidden(path, "resourceVersionMatch is forbidden when continue is provided"));
    }
    return;
  }
  if (!options.send_initial_events) {
    errors.push_back(api::Forbidden(
        path, "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"));
  }
  if (match != "NotOlderThan")
    errors.push_back(api::NotSupported(path, api::NamedValue(match), {"NotOlderThan"}));
  if (!options.continue_token.empty()) {
    errors.push_back(
        api::Forbidden(path, "resourceVersionMatch is forbidden when continue is provided"));
  }
}

void CheckPlainListOptions(const ListOptions& options, api::FieldErrors& errors) {
  const api::FieldPath path("resourceVersionMatch");
  const std::string& match = options.resource_version_match;
  if (!match.empty()) {
    if (options.resource_version.empty()) {
      errors.push_back(api::Forbidden(
          path, "resourceVersionMatch is forbidden unless resourceVersion is provided"));
    }
    if (!options.continue_token.empty()) {
      errors.push_back(
          api::Forbidden(path, "resourceVersionMatch is forbidden when continue is provided"));
    }
    if (match != "NotOlderThan" && match != "Exact") {
      errors.push_back(
          api::NotSupported(path, api::NamedValue(match), {"Exact", "NotOlderThan", ""}));
    }
    if (match == "Exact" && options.resource_version == "0") {
      errors.push_back(api::Forbidden(
          path, "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\""));
    }
  }
  if (options.send_initial_events) {
    errors.push_back(api::Forbidden(api::FieldPath("sendInitialEvents"),
                                    "sendInitialEvents is forbidden for list"));
  }
}

}  // namespace

base::Result<ListOptions> ReadListOptions(Call& call, bool forced_watch) {
  const Query& query = call.info.query;
  ListOptions options;
  options.label_selector = std::string(query.Get("labelSelector"));
  options.field_selector = std::string(query.Get("fieldSelector"));
  options.shard_selector = std::string(query.Get("shardSelector"));
  options.resource_version = std::string(query.Get("resourceVersion"));
  options.resource_version_match = std::string(query.Get("resourceVersionMatch"));
  options.continue_token = std::string(query.Get("continue"));
  options.watch = forced_watch || query.GetBool("watch");
  options.allow_bookmarks = query.GetBool("allowWatchBookmarks");
  options.include_uninitialized = query.GetBool("includeUninitialized");
  options.send_initial_events = ReadBool(query, "sendInitialEvents");
  // Only of the path: RequestInfo also takes a name from the field selector.
  if (call.info.parts.size() > 1) options.name = call.info.parts[1];
  options.timeout_seconds = TRY(ReadInt(query, "timeoutSeconds"));
  options.limit = TRY(ReadInt(query, "limit")).value_or(0);
  TRY(CheckSelectors(options));

  api::FieldErrors errors;
  if (options.watch) {
    CheckWatchOptions(options, call.env.release->GateEnabled("WatchList"), errors);
  } else {
    CheckPlainListOptions(options, errors);
  }
  if (!errors.empty()) return OptionsInvalid("ListOptions", errors);
  return options;
}

}  // namespace portcullis::server
