// SPDX-License-Identifier: Apache-2.0

#include "sidecar.h"

#include "json/writer.h"

namespace example {

namespace json = portcullis::json;

std::string FinishingPatch(json::Value pod, std::string_view name, std::string_view image) {
  const json::Value initializers = pod["metadata"]["initializers"];
  const json::Value pending = initializers["pending"];
  constexpr std::size_t kFirst = 0;
  if (pending.empty() || pending[kFirst]["name"].AsString() != name) return {};
  if (initializers.Has("result")) return {};
  json::Arena arena;
  const auto step = [&](std::string_view op, std::string_view path, json::Value value) {
    json::ObjectBuilder builder(arena);
    builder.Set("op", op).Set("path", path);
    if (!value.is_null()) builder.Set("value", value);
    return builder.Build();
  };
  json::ArrayBuilder patch(arena);
  // Refuses the patch if somebody else has written the list since it was read.
  patch.Add(step("test", "/metadata/initializers/pending/0/name", json::String(arena, name)));
  patch.Add(step("add", "/spec/containers/-",
                 json::ObjectBuilder(arena).Set("name", "log").Set("image", image).Build()));
  // The last one removes the whole field.
  patch.Add(step(
      "remove", pending.size() == 1 ? "/metadata/initializers" : "/metadata/initializers/pending/0",
      {}));
  return json::ToString(patch.Build());
}

}  // namespace example
