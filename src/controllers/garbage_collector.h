// SPDX-License-Identifier: Apache-2.0

// Deletes objects whose owners are gone, and carries out foreground and orphaning deletion.
#pragma once

#include "controllers/controller.h"

namespace portcullis::controllers {

extern const ControllerInfo kGarbageCollector;

}  // namespace portcullis::controllers
