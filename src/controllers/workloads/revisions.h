// SPDX-License-Identifier: Apache-2.0

// The history of a StatefulSet's or a DaemonSet's template: one ControllerRevision for each
// template that the owner has had (pkg/controller/history).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "api/names.h"
#include "controllers/workloads/workload.h"
#include "json/value.h"

namespace portcullis::controllers::workloads {

inline const api::GroupVersionResource kRevisions{"apps", "v1", "controllerrevisions"};
inline constexpr std::string_view kRevisionHash = "controller-revision-hash";

// What a revision keeps of a template: a patch that brings it back.
json::Value DataOf(json::Arena& arena, json::Value template_);

// The revision of `data` among `revisions`; null if there is none.
json::Value RevisionWith(const std::vector<json::Value>& revisions, json::Value data);
// The greatest number of the revisions, 0 if there are none.
std::int64_t NewestNumber(const std::vector<json::Value>& revisions);

// A new revision; `metadata` has the owner and namespace, and gets name and labels.
json::Value MakeRevision(json::Arena& arena, json::ObjectBuilder metadata,
                         std::string_view owner_name, json::Value labels, json::Value data,
                         std::int64_t number, std::string_view hash);

// Those that may go: the oldest beyond `limit` that are not named in `live`.
std::vector<json::Value> Surplus(std::vector<json::Value> revisions,
                                 const std::vector<std::string_view>& live, std::int64_t limit);

}  // namespace portcullis::controllers::workloads
