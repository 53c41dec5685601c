// SPDX-License-Identifier: Apache-2.0

#include "plugins/event_rate_limit/event_rate_limit_config.h"

#include "admission/config_format.h"
#include "api/field_error.h"
#include "api/field_path.h"
#include "api/named_value.h"

namespace portcullis::plugins::event_rate_limit {
namespace {

constexpr admission::ConfigKind kKinds[] = {
    {"eventratelimit.admission.k8s.io/v1alpha1", "Configuration"}};
// Kubernetes passes over unknown fields here; a limit that is misspelt would not be kept then.
constexpr admission::ConfigFormat kFormat = {
    .scheme = "k8s.io/kubernetes/plugin/pkg/admission/eventratelimit/config.go:31",
    .kinds = kKinds,
    .types = R"(
v1alpha1.Configuration: limits []v1alpha1.Limit
v1alpha1.Limit: type v1alpha1.LimitType=string, qps int32, burst int32, cacheSize int32)",
};

void Check(const EventLimit& limit, const api::FieldPath& path, api::FieldErrors& errors) {
  if (limit.type != "Server" && limit.type != "Namespace" && limit.type != "User" &&
      limit.type != "SourceAndObject") {
    errors.push_back(api::NotSupported(path.Child("type"), api::NamedValue(limit.type),
                                       {"Server", "Namespace", "User", "SourceAndObject"}));
  }
  if (limit.burst <= 0) {
    errors.push_back(api::Invalid(path.Child("burst"), limit.burst, "must be positive"));
  }
  if (limit.qps <= 0) {
    errors.push_back(api::Invalid(path.Child("qps"), limit.qps, "must be positive"));
  }
  if (limit.type != "Server" && limit.cache_size < 0) {
    errors.push_back(
        api::Invalid(path.Child("cacheSize"), limit.cache_size, "must not be negative"));
  }
}

}  // namespace

base::Result<std::vector<EventLimit>> ParseConfig(const admission::PluginContext& context) {
  std::vector<EventLimit> limits;
  api::FieldErrors errors;
  const api::FieldPath path("limits");
  json::Value given;
  if (context.config != nullptr) {
    TRY(admission::CheckConfig(*context.config, kFormat, *context.release));
    given = context.config->document["limits"];
  }
  for (const json::Value& element : given.elements()) {
    EventLimit limit;
    limit.type = element["type"].AsString();
    limit.qps = element["qps"].AsInt();
    limit.burst = element["burst"].AsInt();
    limit.cache_size = element["cacheSize"].AsInt();
    Check(limit, path.Index(limits.size()), errors);
    limits.push_back(limit);
  }
  if (limits.empty()) errors.push_back(api::Invalid(path, given, "must not be empty"));
  if (!errors.empty()) return base::ConfigError(api::AggregateText(errors));
  return limits;
}

}  // namespace portcullis::plugins::event_rate_limit
