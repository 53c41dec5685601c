// SPDX-License-Identifier: Apache-2.0

// Events, which two groups serve (pkg/apis/core/validation/events.go). Those of the old one are
// taken nearly as they come; events.k8s.io asks for more.

#include "base/strings.h"
#include "golang/time.h"
#include "registry/default_strategy.h"
#include "registry/kind_table.h"
#include "registry/validation/checks.h"
#include "registry/validation/object_meta.h"

namespace portcullis::registry {
namespace {

constexpr std::size_t kLongestName = 128;
constexpr std::size_t kLongestMessage = 1024;

bool IsStrict(const Context& ctx) { return ctx.resource.group == "events.k8s.io"; }

// A field by its name in events.k8s.io: the old group calls some of them otherwise.
json::Value Get(const Context& ctx, json::Value event, std::string_view name) {
  if (IsStrict(ctx)) return event[name];
  constexpr std::pair<std::string_view, std::string_view> kOldNames[] = {
      {"regarding", "involvedObject"},
      {"note", "message"},
      {"reportingController", "reportingComponent"}};
  for (const auto& [now, before] : kOldNames) {
    if (now == name) return event[before];
  }
  return event[name];
}

void CheckText(json::Value value, std::string_view field, std::size_t longest, bool required,
               FieldErrors& errors) {
  const std::string_view text = value.AsString();
  if (required && text.empty()) errors.push_back(api::Required(FieldPath(field), ""));
  if (text.size() > longest) {
    errors.push_back(
        api::Invalid(FieldPath(field), "",
                     base::StrCat("can have at most ", std::to_string(longest), " characters")));
  }
}

// What holds in both groups. Events with an eventTime are "new" ones, whichever group made them.
void CheckEvent(const Context& ctx, json::Value event, FieldErrors& errors) {
  const std::string_view place = event["metadata"]["namespace"].AsString();
  const std::string_view about = Get(ctx, event, "regarding")["namespace"].AsString();
  const auto elsewhere = [&] {
    errors.push_back(api::Invalid(FieldPath("involvedObject", "namespace"), about,
                                  "does not match event.namespace"));
  };
  if (event["eventTime"].is_null()) {
    if (about.empty() ? !place.empty() && place != "default" : about != place) elsewhere();
  } else {
    if (about.empty() && place != "default" && place != "kube-system") elsewhere();
    const FieldPath reporter(IsStrict(ctx) ? "reportingController" : "reportingComponent");
    const std::string_view name = Get(ctx, event, "reportingController").AsString();
    if (name.empty()) errors.push_back(api::Required(reporter, ""));
    AddInvalid(reporter, name, api::IsQualifiedName(name), errors);
    CheckText(event["reportingInstance"], "reportingInstance", kLongestName, true, errors);
    CheckText(event["action"], "action", kLongestName, true, errors);
    CheckText(event["reason"], "reason", kLongestName, true, errors);
    CheckText(Get(ctx, event, "note"), "message", kLongestMessage, false, errors);
  }
  CheckSubdomain(place, FieldPath("namespace"), errors);
}

void CheckSeries(json::Value series, FieldErrors& errors) {
  if (series.is_null()) return;
  if (series["count"].AsInt() < 2) {
    errors.push_back(api::Invalid(FieldPath("series.count"), "", "should be at least 2"));
  }
  if (series["lastObservedTime"].is_null()) {
    errors.push_back(api::Required(FieldPath("series.lastObservedTime"), ""));
  }
}

void ValidateEvent(const Context& ctx, json::Value event, FieldErrors& errors) {
  CheckEvent(ctx, event, errors);
  if (!IsStrict(ctx)) return;
  static const Kind kNamedBySubdomain = {};
  ValidateObjectMeta(ctx, event, true, DefaultStrategy(kNamedBySubdomain), errors);
  CheckFinalizersQualified(event, errors);
  CheckSeries(event["series"], errors);
  if (event["eventTime"].is_null()) errors.push_back(api::Required(FieldPath("eventTime"), ""));
  const std::string_view type = event["type"].AsString();
  if (type != "Normal" && type != "Warning") {
    errors.push_back(
        api::Invalid(FieldPath("type"), "", base::StrCat("has invalid value: ", type)));
  }
  const auto must_be_unset = [&](std::string_view field, bool is_set) {
    if (is_set) errors.push_back(api::Invalid(FieldPath(field), "", "needs to be unset"));
  };
  must_be_unset("firstTimestamp", !event["deprecatedFirstTimestamp"].is_null());
  must_be_unset("lastTimestamp", !event["deprecatedLastTimestamp"].is_null());
  must_be_unset("count", event["deprecatedCount"].AsInt() != 0);
  must_be_unset("source", !event["deprecatedSource"]["component"].AsString().empty() ||
                              !event["deprecatedSource"]["host"].AsString().empty());
}

// References are shown as the type without names of JSON.
std::string ReferenceJson(json::Value reference) {
  if (reference.is_null()) return "null";
  const auto field = [&](std::string_view name) { return Quoted(reference[name].AsString()); };
  return StructJson({{"Kind", field("kind")},
                     {"Namespace", field("namespace")},
                     {"Name", field("name")},
                     {"UID", field("uid")},
                     {"APIVersion", field("apiVersion")},
                     {"ResourceVersion", field("resourceVersion")},
                     {"FieldPath", field("fieldPath")}});
}

void CheckFixedReference(json::Value reference, json::Value old, std::string_view field,
                         FieldErrors& errors) {
  if (reference == old) return;
  errors.push_back(api::Invalid(FieldPath(field), api::BadValue::Raw(ReferenceJson(reference)),
                                "field is immutable"));
}

// Who has sent it: nothing and a source without names are the same.
void CheckFixedSource(json::Value source, json::Value old, FieldErrors& errors) {
  const std::string_view component = source["component"].AsString();
  const std::string_view host = source["host"].AsString();
  if (component == old["component"].AsString() && host == old["host"].AsString()) return;
  const std::string shown = StructJson({{"Component", Quoted(component)}, {"Host", Quoted(host)}});
  errors.push_back(
      api::Invalid(FieldPath("source"), api::BadValue::Raw(shown), "field is immutable"));
}

// A text that is left out is quoted as "", which Go's string is then.
void CheckFixedText(json::Value text, json::Value old, std::string_view field,
                    FieldErrors& errors) {
  const auto shown = [](json::Value value) {
    return value.is_null() ? json::Value::StringView("") : value;
  };
  CheckImmutable(shown(text), shown(old), FieldPath(field), errors);
}

void ValidateEventUpdate(const Context& ctx, json::Value event, json::Value old,
                         FieldErrors& errors) {
  CheckEvent(ctx, event, errors);
  if (!IsStrict(ctx)) return;
  CheckMetadataUpdate(event, old, errors);
  CheckFinalizersQualified(event, errors);
  if (!(event["series"] == old["series"])) CheckSeries(event["series"], errors);
  CheckFixedReference(event["regarding"], old["regarding"], "involvedObject", errors);
  CheckFixedText(event["reason"], old["reason"], "reason", errors);
  CheckFixedText(event["note"], old["note"], "message", errors);
  CheckFixedSource(event["deprecatedSource"], old["deprecatedSource"], errors);
  constexpr std::pair<std::string_view, std::string_view> kFixed[] = {
      {"deprecatedFirstTimestamp", "firstTimestamp"},
      {"deprecatedLastTimestamp", "lastTimestamp"},
      {"deprecatedCount", "count"},
      {"reason", "reason"},
      {"type", "type"},
      {"eventTime", "eventTime"},
      {"action", "action"}};
  for (const auto& [name, shown] : kFixed) {
    if (name == shown && name != "eventTime") {
      CheckFixedText(event[name], old[name], shown, errors);
    } else {
      CheckImmutable(event[name], old[name], FieldPath(shown), errors);
    }
  }
  CheckFixedReference(event["related"], old["related"], "related", errors);
  for (const std::string_view name : {"reportingController", "reportingInstance"}) {
    CheckFixedText(event[name], old[name], name, errors);
  }
}

class Events final : public DefaultStrategy {
 public:
  using DefaultStrategy::DefaultStrategy;

  Dependents DependentsByDefault() const override { return Dependents::kUnsupported; }
};

}  // namespace

void AddEventStrategy(KindTable& table) {
  table.Add({.group = "",
             .resource = "events",
             .validate = &ValidateEvent,
             .validate_update = &ValidateEventUpdate,
             .traits = {.created_by_put = true,
                        .free_finalizers = true,
                        .metadata_last = true,
                        .names = NameStyle::kPathSegment},
             .metadata = {.update = ""},
             .make = &Make<Events>});
}

}  // namespace portcullis::registry
