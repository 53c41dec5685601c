// SPDX-License-Identifier: Apache-2.0

// Keeps the status of ResourceQuotas true: what is in force, and what is really used.
//
// The plugin ResourceQuota charges a quota before it lets an object pass; only this controller
// takes something off again: for deleted objects, finished pods, and creates that failed after they
// had been charged.
#pragma once

#include "controllers/controller.h"

namespace portcullis::controllers {

extern const ControllerInfo kResourceQuota;

}  // namespace portcullis::controllers
