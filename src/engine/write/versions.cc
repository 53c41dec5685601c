// SPDX-License-Identifier: Apache-2.0

#include "engine/write/versions.h"

#include <optional>

#include "admission/object_interfaces.h"
#include "admission/recorder.h"
#include "api/conversion/custom_converter.h"

namespace portcullis::engine {

base::Result<api::patch::Versions::View> CallVersions::In(std::string_view api_version,
                                                          json::Value object) const {
  const auto version = api::ParseGroupVersion(api_version);
  if (!version.ok()) return View{object, nullptr};
  const auto* definition = op_.resource->definition;
  const api::GroupVersionKind kind{version->group, version->version, op_.resource->kind.kind};
  View view{object, definition != nullptr ? definition->FindSchema(version->version)
                                          : op_.catalog->FindSchema(kind)};
  if (definition != nullptr && version->group != op_.resource->kind.group) view.schema = nullptr;
  if (view.schema == nullptr || object["apiVersion"].AsString() == api_version) return view;
  if (definition == nullptr) {
    view.object = TRY(op_.world.objects->Convert(op_.arena, object, kind));
    return view;
  }
  std::optional<admission::WaitingForOthers> waiting;
  if (definition->converter().blocks()) waiting.emplace(op_.recorder);
  view.object =
      TRY(definition->converter().Convert(op_.arena, std::span(&object, 1), *version)).front();
  return view;
}

}  // namespace portcullis::engine
