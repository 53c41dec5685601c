// SPDX-License-Identifier: Apache-2.0

// What the kinds that configure admission share: their row, and names that are reserved for files.
#pragma once

#include "registry/admission/static_names.h"
#include "registry/kind_table.h"

namespace portcullis::registry {

class Configurations : public DefaultStrategy {
 public:
  using DefaultStrategy::DefaultStrategy;

  void Warnings(const Context& ctx, json::Value object,
                std::vector<std::string>& warnings) const override {
    WarnOfStaticName(ctx, object, warnings);
  }

  void UpdateWarnings(const Context& ctx, json::Value object, json::Value,
                      std::vector<std::string>& warnings) const override {
    WarnOfStaticName(ctx, object, warnings);
  }
};

// The row of a kind whose strategy derives from Configurations. `counts_empty`: see Traits.
template <typename StrategyOfKind>
Kind ConfigurationRow(std::string_view resource, bool counts_empty = false) {
  return {.group = "admissionregistration.k8s.io",
          .resource = resource,
          .traits = {.counts_generation = true,
                     .needs_version = true,
                     .status_keeps = StatusKeeps::kMetadata,
                     .free_finalizers = true,
                     .counts_empty = counts_empty},
          .metadata = {.update = "f", .subresource = ""},
          .make = &Make<StrategyOfKind>};
}

}  // namespace portcullis::registry
