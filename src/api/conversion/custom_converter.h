// SPDX-License-Identifier: Apache-2.0

// CustomConverter: how the objects of one CustomResourceDefinition get from one of its versions
// into another. The only seam for it: reading from the store, writing to it, admission and watches
// all convert through this interface, whatever spec.conversion says.
//
// Immutable, thread-safe.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "api/names.h"
#include "base/status.h"
#include "json/value.h"

namespace portcullis::api {

class CustomConverter {
 public:
  virtual ~CustomConverter() = default;

  // True if Convert may wait for somebody else: it must not be called on a thread that others wait
  // for, nor with a lock held.
  virtual bool blocks() const = 0;

  // The objects, whole custom resources of the definition's kind, in the version of `to`; in the
  // same order. Those that are of that version already come back as they are. Texts of errors are
  // Kubernetes'.
  virtual base::Result<std::vector<json::Value>> Convert(json::Arena& arena,
                                                         std::span<const json::Value> objects,
                                                         const GroupVersion& to) const = 0;
};

// Strategy None: the apiVersion is all that changes.
std::shared_ptr<const CustomConverter> MakeNoConversion();

}  // namespace portcullis::api
