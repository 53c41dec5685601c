// What may change of a pod that exists: images, a few more fields, and additions to tolerations.
// The refusal shows the difference as Kubernetes does: a unified diff of both specs in the JSON
// form of the server's internal Go types.

#include <algorithm>

#include "api/catalog/catalog.h"
#include "base/strings.h"
#include "registry/validation/go_diff.h"
#include "registry/validation/kinds.h"

namespace portcullis::registry {
namespace {

constexpr std::string_view kMayNotChange =
    "pod updates may not change fields other than "
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec."
    "tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` "
    "(allow it to be set to 1 if it was previously negative)";

json::Value WithImagesOf(json::Arena& arena, json::Value containers, json::Value source) {
  json::ArrayBuilder out(arena);
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const json::Value* image = source[i].Find("image");
    out.Add(image == nullptr ? json::Without(arena, containers[i], "image")
                             : json::With(arena, containers[i], "image", *image));
  }
  return out.Build();
}

// `spec` with everything that may change taken from `old`.
json::Value Munged(json::Arena& arena, json::Value spec, json::Value old) {
  for (const std::string_view list : {"containers", "initContainers"}) {
    if (spec[list].size() == old[list].size() && !spec[list].empty()) {
      spec = json::With(arena, spec, list, WithImagesOf(arena, spec[list], old[list]));
    }
  }
  for (const std::string_view field : {"activeDeadlineSeconds", "tolerations"}) {
    const json::Value* before = old.Find(field);
    spec = before == nullptr ? json::Without(arena, spec, field)
                             : json::With(arena, spec, field, *before);
  }
  if (old["terminationGracePeriodSeconds"].AsInt() < 0 &&
      spec["terminationGracePeriodSeconds"].AsInt() == 1) {
    spec = json::With(arena, spec, "terminationGracePeriodSeconds",
                      old["terminationGracePeriodSeconds"]);
  }
  return spec;
}

void CheckActiveDeadline(json::Value spec, json::Value old, FieldErrors& errors) {
  const json::Value now = spec["activeDeadlineSeconds"];
  const json::Value before = old["activeDeadlineSeconds"];
  const FieldPath path("spec", "activeDeadlineSeconds");
  if (now.is_int()) {
    if (now.AsInt() < 0 || now.AsInt() > 2147483647) {
      errors.push_back(
          api::Invalid(path, now.AsInt(), "must be between 0 and 2147483647, inclusive"));
    } else if (before.is_int() && before.AsInt() < now.AsInt()) {
      errors.push_back(
          api::Invalid(path, now.AsInt(), "must be less than or equal to previous value"));
    }
  } else if (before.is_int()) {
    errors.push_back(
        api::Invalid(path, json::Value(), "must not update from a positive integer to nil value"));
  }
}

void CheckTolerationAdditions(json::Value spec, json::Value old, FieldErrors& errors) {
  for (const json::Value& before : old["tolerations"].elements()) {
    const auto now = spec["tolerations"].elements();
    if (std::find(now.begin(), now.end(), before) == now.end()) {
      errors.push_back(
          api::Forbidden(FieldPath("spec", "tolerations"),
                         "existing toleration can not be modified except its tolerationSeconds"));
      return;
    }
  }
}

}  // namespace

void ValidatePodUpdate(const Context& ctx, json::Value object, json::Value old,
                       FieldErrors& errors) {
  if (ctx.subresource == "status" || ctx.subresource == "resize") return;
  const json::Value spec = object["spec"];
  const json::Value before = old["spec"];
  if (ctx.subresource == "ephemeralcontainers") {
    for (const json::Value& container : before["ephemeralContainers"].elements()) {
      const auto now = spec["ephemeralContainers"].elements();
      const auto same_name = std::find_if(now.begin(), now.end(), [&](const json::Value& c) {
        return c["name"] == container["name"];
      });
      const FieldPath path("spec", "ephemeralContainers");
      if (same_name == now.end()) {
        errors.push_back(api::Forbidden(
            path, base::StrCat("existing ephemeral containers \"", container["name"].AsString(),
                               "\" may not be removed\n")));
      } else if (!(*same_name == container)) {
        errors.push_back(api::Forbidden(
            path, base::StrCat("existing ephemeral containers \"", container["name"].AsString(),
                               "\" may not be changed\n")));
      }
    }
    return;
  }
  if (spec["containers"].size() != before["containers"].size()) {
    errors.push_back(api::Forbidden(FieldPath("spec", "containers"),
                                    "pod updates may not add or remove containers"));
    return;
  }
  if (spec["initContainers"].size() != before["initContainers"].size()) {
    errors.push_back(api::Forbidden(FieldPath("spec", "initContainers"),
                                    "pod updates may not add or remove containers"));
    return;
  }
  for (const std::string_view list : {"containers", "initContainers"}) {
    std::size_t index = 0;
    for (const json::Value& container : spec[list].elements()) {
      const std::string_view image = container["image"].AsString();
      const FieldPath at = FieldPath("spec", list).Index(index++).Child("image");
      if (image.empty()) errors.push_back(api::Required(at, ""));
      if (base::Trim(image) != image) {
        errors.push_back(api::Invalid(at, image, "must not have leading or trailing whitespace"));
      }
    }
  }
  CheckActiveDeadline(spec, before, errors);
  CheckTolerationAdditions(spec, before, errors);
  const json::Value munged = Munged(ctx.arena, spec, before);
  if (munged == before) return;
  // Scheduling gates may be removed, and a gated pod may be narrowed.
  if (!before["schedulingGates"].empty()) {
    const auto ungated = [&](json::Value s) {
      for (const std::string_view field : {"schedulingGates", "nodeSelector", "affinity"}) {
        s = json::Without(ctx.arena, s, field);
      }
      return s;
    };
    if (ungated(munged) == ungated(before)) return;
  }
  std::string diff;
  if (ctx.catalog != nullptr) {
    if (const auto* schema = ctx.catalog->FindDefinition("io.k8s.api.core.v1.PodSpec")) {
      diff = "\n" + GoDiff(*schema, before, munged);
    }
  }
  errors.push_back(api::Forbidden(FieldPath("spec"), base::StrCat(kMayNotChange, diff)));
}

}  // namespace portcullis::registry
