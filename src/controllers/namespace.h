// SPDX-License-Identifier: Apache-2.0

// Empties namespaces that are being deleted, then lets go of them.
#pragma once

#include "controllers/controller.h"

namespace portcullis::controllers {

extern const ControllerInfo kNamespace;

}  // namespace portcullis::controllers
