// SPDX-License-Identifier: Apache-2.0

#include "admission/asks_outside.h"

#include "base/fiber.h"

namespace portcullis::admission {

base::Status CheckMayCall(const Recorder& recorder) {
  if (base::Fiber::Current() != nullptr) return base::OkStatus();
  return recorder.CheckMayWait();
}

}  // namespace portcullis::admission
