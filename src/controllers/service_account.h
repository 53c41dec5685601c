// SPDX-License-Identifier: Apache-2.0

// Makes the ServiceAccount default in each namespace.
#pragma once

#include "controllers/controller.h"

namespace portcullis::controllers {

extern const ControllerInfo kServiceAccount;

}  // namespace portcullis::controllers
