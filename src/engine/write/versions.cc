// SPDX-License-Identifier: Apache-2.0

#include "engine/write/versions.h"

#include <optional>

#include "admission/object_interfaces.h"
#include "admission/recorder.h"
#include "api/conversion/custom_converter.h"
#include "base/strings.h"

namespace portcullis::engine {

base::Result<api::patch::Versions::View> CallVersions::In(std::string_view api_version,
                                                          json::Value object) const {
  const auto version = api::ParseGroupVersion(api_version);
  if (!version.ok()) return View{object, nullptr};
  const auto* definition = op_.resource->definition;
  const api::GroupVersionKind kind{version->group, version->version, op_.resource->kind.kind};
  View view{object, definition != nullptr ? definition->FindSchema(version->version)
                                          : op_.catalog->FindSchema(kind)};
  // Kubernetes does not find kinds of the core group among those of the others, nor these among them.
  if (version->group.empty() != op_.resource->kind.group.empty()) view.schema = nullptr;
  if (definition != nullptr) {
    if (version->group != op_.resource->kind.group) view.schema = nullptr;
    view.resets = Resets(*version);
  }
  // Nothing tells kube-apiserver's managers of a version that a definition has no more from other failures.
  if (view.schema == nullptr && definition != nullptr) {
    return base::Status(
        base::Reason::kUnknown,
        base::StrCat("request to convert CR to an invalid group/version: ", api_version));
  }
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

// The status of a custom resource keeps what is no status in all versions that have it; the resource
// itself keeps the status in its own version.
bool CallVersions::Resets(const api::GroupVersion& version) const {
  if (op_.subresource_name() != "status") return version == op_.resource->kind.group_version();
  const auto* other =
      op_.catalog->Find(version.group, version.version, op_.resource->resource.resource);
  return other == nullptr || other->FindSubresource("status") != nullptr;
}

}  // namespace portcullis::engine
