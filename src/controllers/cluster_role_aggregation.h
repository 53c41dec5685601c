// SPDX-License-Identifier: Apache-2.0

// Writes the rules of ClusterRoles that are put together from others by labels (Kubernetes docs,
// "Aggregated ClusterRoles"). Authorization does not wait for it; it is for who reads the roles.
#pragma once

#include "controllers/controller.h"

namespace portcullis::controllers {

extern const ControllerInfo kClusterRoleAggregation;

}  // namespace portcullis::controllers
