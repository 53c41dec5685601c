// SPDX-License-Identifier: Apache-2.0

#include "plugins/always_pull_images/always_pull_images.h"

#include <set>
#include <string>
#include <vector>

#include "admission/errors.h"
#include "api/field_error.h"
#include "api/field_path.h"
#include "api/named_value.h"
#include "api/view/pod.h"
#include "json/edit.h"
#include "plugins/common/make.h"

namespace portcullis::plugins::always_pull_images {
namespace {

using api::view::ContainerType;

std::set<std::string_view> ImagesOf(json::Value pod_spec) {
  std::set<std::string_view> images;
  for (std::string_view list : {"initContainers", "containers", "ephemeralContainers"}) {
    for (const json::Value& container : pod_spec[list].elements()) {
      images.insert(container["image"].AsString());
    }
  }
  return images;
}

bool BringsNewImage(const admission::Request& request) {
  if (request.operation() != admission::kUpdate) return true;
  const std::set<std::string_view> before = ImagesOf(request.old_object()["spec"]);
  for (std::string_view image : ImagesOf(request.object()["spec"])) {
    if (!before.contains(image)) return true;
  }
  return false;
}

bool Applies(const admission::Request& request) {
  return request.Is("", "pods") && BringsNewImage(request);
}

json::Value PullVolumesAlways(json::Arena& arena, json::Value volumes) {
  return json::EditElements(arena, volumes, [&](json::Value volume) {
    if (!volume["image"].is_object()) return volume;
    return json::SetPath(arena, volume, {"image", "pullPolicy"}, json::Value::StringView("Always"));
  });
}

// `spec.containers[0].imagePullPolicy: Unsupported value: "Never": supported values: "Always"`
std::string NotAlways(const api::FieldPath& path, std::string_view policy) {
  return api::NotSupported(path, api::NamedValue(policy), {"Always"}).ToString();
}

class AlwaysPullImages final : public admission::Plugin {
 public:
  explicit AlwaysPullImages(const admission::PluginContext& context)
      : knows_image_volumes_(context.release->Has("AlwaysPullImagesOfVolumes")) {}

  base::Status Mutate(admission::Request& request) const override {
    if (!Applies(request)) return base::OkStatus();
    json::Arena& arena = request.arena();
    const json::Value always = json::Value::StringView("Always");
    json::Value spec = api::view::EditContainers(
        arena, request.object()["spec"], [&](json::Value container, ContainerType) {
          return json::With(arena, container, "imagePullPolicy", always);
        });
    if (knows_image_volumes_ && !spec["volumes"].empty()) {
      spec = json::With(arena, spec, "volumes", PullVolumesAlways(arena, spec["volumes"]));
    }
    request.set_object(json::With(arena, request.object(), "spec", spec));
    return base::OkStatus();
  }

  base::Status Validate(const admission::Request& request) const override {
    if (!Applies(request)) return base::OkStatus();
    const json::Value spec = request.object()["spec"];
    std::vector<std::string> refusals;
    auto refuse = [&](const api::FieldPath& path, std::string_view policy) {
      if (policy == "Always") return;
      refusals.push_back(admission::Forbidden(request, NotAlways(path, policy)).message());
    };
    api::view::VisitContainers(
        spec, api::FieldPath("spec"),
        [&](json::Value container, const api::FieldPath& path, ContainerType) {
          refuse(path.Child("imagePullPolicy"), container["imagePullPolicy"].AsString());
          return true;
        });
    const json::Value volumes = spec["volumes"];
    for (std::size_t i = 0; i < volumes.size() && knows_image_volumes_; ++i) {
      if (!volumes[i]["image"].is_object()) continue;
      refuse(api::FieldPath("spec", "volumes").Index(i).Child("image", "pullPolicy"),
             volumes[i]["image"]["pullPolicy"].AsString());
    }
    if (refusals.empty()) return base::OkStatus();
    // Kubernetes returns a list of errors here, which its API answers with code 500.
    return admission::PlainError(api::AggregateText(refusals));
  }

 private:
  bool knows_image_volumes_;
};

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "AlwaysPullImages",
    .summary = "sets every container's image pull policy to Always",
    .phases = admission::kMutate | admission::kValidate,
    .operations = admission::kCreate | admission::kUpdate,
    .resources = "pods",
    .by_default = admission::Default::kOff,
    .create = &common::Make<AlwaysPullImages>,
};

}  // namespace portcullis::plugins::always_pull_images
