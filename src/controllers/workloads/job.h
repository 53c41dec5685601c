// SPDX-License-Identifier: Apache-2.0

// Makes pods until a Job has as many successful ones as it asks for.
#pragma once

#include "controllers/controller.h"

namespace portcullis::controllers {

extern const ControllerInfo kJob;

}  // namespace portcullis::controllers
