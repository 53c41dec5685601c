// SPDX-License-Identifier: Apache-2.0

// Makes Jobs when the schedule of a CronJob is due, and clears old ones away.
#pragma once

#include "controllers/controller.h"

namespace portcullis::controllers {

extern const ControllerInfo kCronJob;

}  // namespace portcullis::controllers
