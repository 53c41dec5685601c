// SPDX-License-Identifier: Apache-2.0

// The lowest level that the log writes, changed while the program runs. Thread-safe.
#pragma once

#include "base/log.h"

namespace portcullis::base {

void SetLowestLogLevel(LogLevel lowest);

}  // namespace portcullis::base
