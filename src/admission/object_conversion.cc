// SPDX-License-Identifier: Apache-2.0

#include "admission/object_conversion.h"

#include <optional>

#include "admission/recorder.h"

namespace portcullis::admission {

base::Result<json::Value> ConvertFor(const Request& request, const ObjectInterfaces& objects,
                                     json::Value object, const api::GroupVersionKind& kind) {
  std::optional<WaitingForOthers> waiting;
  if (objects.ConversionWaits(kind)) waiting.emplace(request.recorder());
  return objects.Convert(request.arena(), object, kind);
}

}  // namespace portcullis::admission
