// SPDX-License-Identifier: Apache-2.0

// Keeps the numbered pods of a StatefulSet, with their claims, one after the other.
#pragma once

#include "controllers/controller.h"

namespace portcullis::controllers {

extern const ControllerInfo kStatefulSet;

}  // namespace portcullis::controllers
