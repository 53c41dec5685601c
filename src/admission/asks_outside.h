// AsksOutside: what a plugin is besides Plugin if it may wait for somebody outside the process, as
// webhooks do. Chain::MayWait asks it before a request starts, so that requests that cannot wait
// need no thread of their own.
#pragma once

#include "admission/request.h"

namespace portcullis::admission {

// Thread-safe, as plugins are.
class AsksOutside {
 public:
  virtual ~AsksOutside() = default;
  // Whether Mutate or Validate may wait before such a request is judged. `request` has no objects
  // yet: true if it depends on them.
  virtual bool MayWait(const Request& request) const = 0;
};

}  // namespace portcullis::admission
