// SPDX-License-Identifier: Apache-2.0

// The conditions in the status of a CustomResourceDefinition (apiextensions-apiserver: naming,
// establishing, approval and finalizing controllers).
#pragma once

#include <string_view>

#include "engine/definitions/custom_resource_names.h"
#include "json/value.h"

namespace portcullis::engine {

struct DefinitionCondition {
  std::string_view type;
  bool status = false;
  std::string_view reason;
  std::string_view message;
};

inline constexpr DefinitionCondition kDeletingInstances{
    "Terminating", true, "InstanceDeletionInProgress", "CustomResource deletion is in progress"};
inline constexpr DefinitionCondition kInstancesDeleted{
    "Terminating", false, "InstanceDeletionCompleted", "removed all instances"};
inline constexpr DefinitionCondition kNeverEstablished{"Terminating", false, "NeverEstablished",
                                                       "resource was never established"};

// The definition with the condition in the place of one of its type; the time of transition stays
// if the status does.
json::Value WithCondition(json::Arena& arena, json::Value definition,
                          const DefinitionCondition& condition, std::string_view now);

// The definition with accepted names and the conditions that follow from them.
json::Value WithVerdict(json::Arena& arena, json::Value definition, const NamesVerdict& verdict,
                        std::string_view now);

}  // namespace portcullis::engine
