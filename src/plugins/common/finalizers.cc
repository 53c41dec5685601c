// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/finalizers.h"

#include "json/value.h"

namespace portcullis::plugins::common {

void AddFinalizer(admission::Request& request, std::string_view finalizer) {
  const json::Value finalizers = request.object()["metadata"]["finalizers"];
  for (const json::Value& present : finalizers.elements()) {
    if (present.AsString() == finalizer) return;
  }
  json::Arena& arena = request.arena();
  request.set_object(
      json::SetPath(arena, request.object(), {"metadata", "finalizers"},
                    json::Append(arena, finalizers, json::String(arena, finalizer))));
}

}  // namespace portcullis::plugins::common
