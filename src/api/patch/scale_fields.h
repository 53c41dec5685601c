// SPDX-License-Identifier: Apache-2.0

// managedFields of a Scale: a Scale is a view of its parent's replicas, and the managers of those own
// spec.replicas of the view; what a write of the view changes in that goes back into the parent
// (k8s.io/apimachinery/pkg/util/managedfields, ScaleHandler).
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "api/patch/field_set.h"
#include "base/status.h"
#include "json/value.h"

namespace portcullis::api::patch {

// Where each version of the parent, "apps/v1", keeps the number of replicas; empty where a version
// has no scale. Who wrote in a version that is not here loses what they own.
using ReplicasPaths = std::map<std::string, FieldPathSteps, std::less<>>;

// metadata.managedFields of the scale of a parent that has `parent`; null if replicas have no owner.
base::Result<json::Value> ScaleManagedFields(json::Arena& arena, json::Value parent,
                                             const ReplicasPaths& paths);

// metadata.managedFields of the parent after a write, in its version `api_version`, has left
// `scale` on its scale; null if no field has an owner.
base::Result<json::Value> ParentManagedFields(json::Arena& arena, json::Value parent,
                                              json::Value scale, const ReplicasPaths& paths,
                                              std::string_view api_version);

}  // namespace portcullis::api::patch
