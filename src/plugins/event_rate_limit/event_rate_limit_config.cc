#include "plugins/event_rate_limit/event_rate_limit_config.h"

#include "api/field_error.h"
#include "api/field_path.h"
#include "plugins/common/config_reader.h"

namespace portcullis::plugins::event_rate_limit {
namespace {

using common::ConfigKind;
using common::ConfigReader;

constexpr ConfigKind kKinds[] = {{"eventratelimit.admission.k8s.io/v1alpha1", "Configuration"}};

void Check(const EventLimit& limit, const api::FieldPath& path, api::FieldErrors& errors) {
  if (limit.type != "Server" && limit.type != "Namespace" && limit.type != "User" &&
      limit.type != "SourceAndObject") {
    errors.push_back(api::NotSupported(path.Child("type"), limit.type,
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

base::Result<std::vector<EventLimit>> ParseConfig(const admission::PluginConfig* config) {
  std::vector<EventLimit> limits;
  api::FieldErrors errors;
  const api::FieldPath path("limits");
  json::Value given;
  if (config != nullptr) {
    ConfigReader root(TRY(common::DecodeConfig(*config, kKinds)));
    given = root.value()["limits"];
    for (ConfigReader& reader : root.Children("limits")) {
      EventLimit limit;
      limit.type = reader.String("type");
      limit.qps = reader.Int("qps");
      limit.burst = reader.Int("burst");
      limit.cache_size = reader.Int("cacheSize");
      reader.RefuseOthers();
      Check(limit, path.Index(limits.size()), errors);
      limits.push_back(limit);
    }
    root.RefuseOthers();
    TRY(root.Finish());
  }
  if (limits.empty()) errors.push_back(api::Invalid(path, given, "must not be empty"));
  if (!errors.empty()) return base::ConfigError(api::AggregateText(errors));
  return limits;
}

}  // namespace portcullis::plugins::event_rate_limit
