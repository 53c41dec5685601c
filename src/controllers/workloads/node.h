// SPDX-License-Identifier: Apache-2.0

// A Node that is ready, and what a kubelet would say of the pods of all nodes: they run as soon as
// they are bound, those of Jobs succeed then, and those that are being deleted go.
#pragma once

#include "controllers/controller.h"

namespace portcullis::controllers {

extern const ControllerInfo kWorkloadNode;

}  // namespace portcullis::controllers
