// SPDX-License-Identifier: Apache-2.0

// What exists in the cluster before anything is measured: objects that make the plugins work.
#pragma once

#include "base/status.h"
#include "subject.h"

namespace portcullis::cost_law {

base::Status MakeWorld(Subject& subject);

}  // namespace portcullis::cost_law
