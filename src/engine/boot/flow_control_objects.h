// The FlowSchemas and PriorityLevelConfigurations of a new cluster, as Kubernetes 1.36 makes them
// (k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap). Clients look them up and refer to them; this
// server sets its limits otherwise (filters/).
#pragma once

#include <vector>

#include "json/value.h"

namespace portcullis::engine {

// Levels before the schemas that name them.
std::vector<json::Value> FlowControlObjects(json::Arena& arena);

// The status of a FlowSchema whose level exists.
json::Value FoundLevelStatus(json::Arena& arena, std::string_view level, std::string_view now);

}  // namespace portcullis::engine
