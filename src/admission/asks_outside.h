// SPDX-License-Identifier: Apache-2.0

// AsksOutside: what a plugin is besides Plugin if it may wait for an answer from outside the process
// (webhooks), for a write of its own (quota), or may calculate for long (CEL policies).
// Chain::MayWait asks it before a request starts, so that requests that do none of this need no
// thread of their own.
#pragma once

#include "admission/request.h"

namespace portcullis::admission {

// Thread-safe, as plugins are.
class AsksOutside {
 public:
  virtual ~AsksOutside() = default;
  // Whether Mutate or Validate may wait before such a request is judged. `request` has no objects
  // yet: true if it depends on them. What has changed when the request comes to the plugin does not
  // count: a plugin that would now ask outside asks Recorder::CheckMayWait() first.
  virtual bool MayWait(const Request& request) const = 0;
};

}  // namespace portcullis::admission
