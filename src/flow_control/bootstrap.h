// SPDX-License-Identifier: Apache-2.0

// The FlowSchemas and PriorityLevelConfigurations that Kubernetes 1.36 maintains in every cluster
// (k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap; kubernetes/pkg/registry/flowcontrol/ensurer).
//
// The mandatory ones, "exempt" and "catch-all", are restored whatever is done to them. The
// suggested ones are the operator's once the annotation apf.kubernetes.io/autoupdate-spec says
// "false".
#pragma once

#include <string_view>
#include <vector>

#include "json/value.h"

namespace portcullis::flow_control {

inline constexpr std::string_view kAutoUpdate = "apf.kubernetes.io/autoupdate-spec";

struct BootstrapObject {
  json::Value object;  // apiVersion, kind, metadata with name and annotation, spec
  bool mandatory = false;
};

// In the order in which they are to be written: levels before the schemas that name them.
std::vector<BootstrapObject> BootstrapObjects(json::Arena& arena);

// What has to be stored instead of `current`, or null if it may stay as it is: the spec, and the
// annotation that tells whether the spec is kept up to date.
json::Value Revise(json::Arena& arena, const BootstrapObject& wanted, json::Value current);

// An object of this name that Kubernetes no longer maintains, but did: it is to be removed.
bool IsUnwanted(json::Value object, const std::vector<BootstrapObject>& wanted);

// The condition Dangling of a FlowSchema: whether there is no such level.
json::Value DanglingCondition(json::Arena& arena, std::string_view level, bool exists,
                              std::string_view now);

}  // namespace portcullis::flow_control
