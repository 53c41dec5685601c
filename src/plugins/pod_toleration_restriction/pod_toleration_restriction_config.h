// SPDX-License-Identifier: Apache-2.0

// The configuration of PodTolerationRestriction: tolerations for all namespaces that say nothing.
#pragma once

#include "admission/plugin.h"
#include "base/status.h"
#include "json/value.h"

namespace portcullis::plugins::pod_toleration_restriction {

// Value type.
class PodTolerationRestrictionConfig {
 public:
  PodTolerationRestrictionConfig() = default;
  explicit PodTolerationRestrictionConfig(json::Document document)
      : document_(std::move(document)) {}
  json::Value default_tolerations() const { return document_["default"]; }
  json::Value whitelist() const { return document_["whitelist"]; }

 private:
  json::Document document_;
};

// Without a configuration there are none. Errors: `invalid config: …` with the field's path.
base::Result<PodTolerationRestrictionConfig> ParseConfig(const admission::PluginContext& context);

}  // namespace portcullis::plugins::pod_toleration_restriction
