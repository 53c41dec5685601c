// What may change of a pod that exists: images, a few more fields, and additions to tolerations.
// The refusal shows the difference as Kubernetes does: a unified diff of both specs in the JSON
// form of the server's internal Go types.

#include <algorithm>

#include "api/catalog/catalog.h"
#include "base/strings.h"
#include "registry/validation/go_diff.h"
#include "registry/validation/pod_parts.h"

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
  for (const std::string_view field : {"activeDeadlineSeconds", "tolerations", "schedulingGates"}) {
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

void CheckTolerationAdditions(json::Arena& arena, json::Value spec, json::Value old,
                              FieldErrors& errors) {
  const FieldPath path("spec", "tolerations");
  const auto timeless = [&](json::Value toleration) {
    return json::Without(arena, toleration, "tolerationSeconds");
  };
  for (const json::Value& before : old["tolerations"].elements()) {
    const auto now = spec["tolerations"].elements();
    const bool kept = std::any_of(now.begin(), now.end(), [&](const json::Value& toleration) {
      return timeless(toleration) == timeless(before);
    });
    if (kept) continue;
    errors.push_back(api::Forbidden(
        path, "existing toleration can not be modified except its tolerationSeconds"));
    return;
  }
  CheckTolerations(spec["tolerations"], path, errors);
}

void CheckGateRemovals(json::Value spec, json::Value old, FieldErrors& errors) {
  std::size_t index = 0;
  for (const json::Value& gate : spec["schedulingGates"].elements()) {
    const FieldPath at = FieldPath("spec", "schedulingGates").Index(index++).Child("name");
    const auto before = old["schedulingGates"].elements();
    const bool known = std::any_of(before.begin(), before.end(), [&](const json::Value& other) {
      return other["name"] == gate["name"];
    });
    if (known) continue;
    errors.push_back(
        api::Forbidden(at, base::StrCat("only deletion is allowed, but found new scheduling gate '",
                                        gate["name"].AsString(), "'")));
  }
}

void CheckAnnotationChanges(json::Value now, json::Value before, FieldErrors& errors) {
  constexpr std::string_view kAppArmor = "container.apparmor.security.beta.kubernetes.io/";
  constexpr std::string_view kMirror = "kubernetes.io/config.mirror";
  const FieldPath path("metadata", "annotations");
  const auto refuse = [&](std::string_view key, std::string_view verb) {
    if (key.starts_with(kAppArmor)) {
      errors.push_back(
          api::Forbidden(path.Key(key), base::StrCat("may not ", verb, " AppArmor annotations")));
    } else if (key == kMirror) {
      errors.push_back(
          api::Forbidden(path.Key(key), base::StrCat("may not ", verb, " mirror pod annotation")));
    }
  };
  for (const json::Member* old : SortedMembers(before)) {
    const json::Value* value = now.Find(old->name());
    if (value == nullptr || !(*value == old->value)) refuse(old->name(), "remove or update");
  }
  for (const json::Member* added : SortedMembers(now)) {
    if (!before.Has(added->name())) refuse(added->name(), "add");
  }
}

// Which node selector and affinity a gated pod may still be given: only narrower ones.
json::Value WithoutNarrowing(const Context& ctx, json::Value spec, json::Value old,
                             FieldErrors& errors) {
  const json::Value selector = spec["nodeSelector"];
  for (const json::Member& entry : old["nodeSelector"].members()) {
    const json::Value* value = selector.Find(entry.name());
    if (value != nullptr && *value == entry.value) continue;
    errors.push_back(api::Invalid(
        FieldPath("spec", "nodeSelector"), selector,
        "only additions to spec.nodeSelector are allowed (no mutations or deletions)"));
    break;
  }
  for (const std::string_view field : {"nodeSelector", "affinity"}) {
    const json::Value* before = old.Find(field);
    spec = before == nullptr ? json::Without(ctx.arena, spec, field)
                             : json::With(ctx.arena, spec, field, *before);
  }
  return spec;
}

void CheckStatus(json::Value object, json::Value old, FieldErrors& errors) {
  const FieldPath path("status");
  const json::Value now = object["status"];
  const json::Value before = old["status"];
  CheckImmutable(now["qosClass"], before["qosClass"], path.Child("qosClass"), errors);
  const std::string_view policy = old["spec"]["restartPolicy"].AsString();
  if (policy != "Always") {
    std::size_t index = 0;
    for (const json::Value& status : before["containerStatuses"].elements()) {
      const FieldPath at = path.Child("containerStatuses").Index(index++).Child("state");
      const json::Value ended = status["state"]["terminated"];
      if (ended.is_null() || (ended["exitCode"].AsInt() != 0 && policy == "OnFailure")) continue;
      for (const json::Value& next : now["containerStatuses"].elements()) {
        if (!(next["name"] == status["name"]) || next["state"].Has("terminated")) continue;
        errors.push_back(api::Forbidden(at, "may not be transitioned to non-terminated state"));
      }
    }
  }
  std::size_t index = 0;
  for (const json::Value& ip : now["podIPs"].elements()) {
    CheckIp(ip["ip"].AsString(), path.Child("podIPs").Index(index++), errors);
  }
}

}  // namespace

void ValidatePodUpdate(const Context& ctx, json::Value object, json::Value old,
                       FieldErrors& errors) {
  if (ctx.subresource == "status") {
    CheckAnnotationChanges(object["metadata"]["annotations"], old["metadata"]["annotations"],
                           errors);
    CheckStatus(object, old, errors);
    return;
  }
  if (ctx.subresource == "resize") return;
  ValidatePodContent(object, errors);
  CheckAnnotationChanges(object["metadata"]["annotations"], old["metadata"]["annotations"], errors);
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
  CheckTolerationAdditions(ctx.arena, spec, before, errors);
  CheckGateRemovals(spec, before, errors);
  json::Value munged = Munged(ctx.arena, spec, before);
  if (!before["schedulingGates"].empty()) {
    munged = WithoutNarrowing(ctx, munged, before, errors);
  }
  if (munged == before) return;
  std::string diff;
  if (ctx.catalog != nullptr) {
    if (const auto* schema = ctx.catalog->FindDefinition("io.k8s.api.core.v1.PodSpec")) {
      diff = "\n" + GoDiff(*schema, before, munged);
    }
  }
  errors.push_back(api::Forbidden(FieldPath("spec"), base::StrCat(kMayNotChange, diff)));
}

}  // namespace portcullis::registry
