// SPDX-License-Identifier: Apache-2.0

// AsksOutside: what a plugin is besides Plugin if it may wait for an answer from outside the process
// (webhooks), for a write of its own (quota), or may calculate for long (CEL policies).
// Chain::WaitsOf asks it before a request starts, so that requests that do none of this need no
// thread of their own.
#pragma once

#include <cstdint>

#include "admission/recorder.h"
#include "admission/request.h"
#include "base/status.h"

namespace portcullis::admission {

// What a request may wait for; the larger includes the smaller.
enum class Waits : std::uint8_t {
  kForNothing,
  kOnFiber,  // for calls of net::HttpsClient, or for a thread to go on with what takes long: it runs
             // on a fiber (base/fiber.h), which holds no thread then
  kOnThread,  // for anything: it holds its thread, by waiting or by calculating
};

// Thread-safe, as plugins are.
class AsksOutside {
 public:
  virtual ~AsksOutside() = default;
  // What Mutate or Validate may wait for before such a request is judged. `request` has no objects
  // yet: the most if it depends on them. What has changed when the request comes to the plugin does
  // not count: a plugin that would now wait asks CheckMayCall() or Recorder::CheckMayWait() first.
  virtual Waits WaitsOf(const Request& request) const = 0;
};

// Recorder::CheckMayWait() for waits for calls, which are allowed on a fiber as well.
base::Status CheckMayCall(const Recorder& recorder);

}  // namespace portcullis::admission
