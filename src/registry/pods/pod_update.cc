// SPDX-License-Identifier: Apache-2.0

// What may change of a pod that exists: images, a few more fields, and additions to tolerations.
// The refusal shows the difference as Kubernetes does: a unified diff of both specs in the JSON
// form of the server's internal Go types.

#include <map>
#include <set>

#include "api/catalog/catalog.h"
#include "base/strings.h"
#include "golang/strings.h"
#include "json/edit.h"
#include "json/sorted.h"
#include "json/value_set.h"
#include "registry/pods/app_armor.h"
#include "registry/pods/pod_disabled_fields.h"
#include "registry/pods/pod_parts.h"
#include "registry/validation/go_diff.h"
#include "registry/validation/sent_values.h"

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
    out.Add(json::WithMemberOf(arena, containers[i], "image", source[i]));
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
    spec = json::WithMemberOf(arena, spec, field, old);
  }
  if (old["terminationGracePeriodSeconds"].AsInt() < 0 &&
      spec["terminationGracePeriodSeconds"].AsInt() == 1) {
    spec = json::With(arena, spec, "terminationGracePeriodSeconds",
                      old["terminationGracePeriodSeconds"]);
  }
  return spec;
}

// False if kube-apiserver looks no further.
bool CheckActiveDeadline(json::Value spec, json::Value old, FieldErrors& errors) {
  const json::Value now = spec["activeDeadlineSeconds"];
  const json::Value before = old["activeDeadlineSeconds"];
  const FieldPath path("spec", "activeDeadlineSeconds");
  if (now.is_int()) {
    if (now.AsInt() < 0 || now.AsInt() > 2147483647) {
      errors.push_back(
          api::Invalid(path, now.AsInt(), "must be between 0 and 2147483647, inclusive"));
      return false;
    }
    if (before.is_int() && before.AsInt() < now.AsInt()) {
      errors.push_back(
          api::Invalid(path, now.AsInt(), "must be less than or equal to previous value"));
      return false;
    }
  } else if (before.is_int()) {
    errors.push_back(
        api::Invalid(path, json::Value(), "must not update from a positive integer to nil value"));
  }
  return true;
}

void CheckTolerationAdditions(json::Arena& arena, json::Value spec, json::Value old,
                              FieldErrors& errors) {
  const FieldPath path("spec", "tolerations");
  const auto timeless = [&](json::Value toleration) {
    return json::Without(arena, toleration, "tolerationSeconds");
  };
  json::ValueSet now;
  for (const json::Value& toleration : spec["tolerations"].elements()) {
    now.Insert(timeless(toleration));
  }
  for (const json::Value& before : old["tolerations"].elements()) {
    if (now.Contains(timeless(before))) continue;
    errors.push_back(api::Forbidden(
        path, "existing toleration can not be modified except its tolerationSeconds"));
    return;
  }
  CheckTolerations(spec["tolerations"], path, errors);
}

void CheckGateRemovals(json::Value spec, json::Value old, FieldErrors& errors) {
  std::set<std::string_view> before;
  for (const json::Value& gate : old["schedulingGates"].elements()) {
    before.insert(gate["name"].AsString());
  }
  std::size_t index = 0;
  for (const json::Value& gate : spec["schedulingGates"].elements()) {
    const FieldPath at = FieldPath("spec", "schedulingGates").Index(index++).Child("name");
    if (before.contains(gate["name"].AsString())) continue;
    errors.push_back(
        api::Forbidden(at, base::StrCat("only deletion is allowed, but found new scheduling gate '",
                                        gate["name"].AsString(), "'")));
  }
}

// Kubernetes says here once more what is wrong with the annotations as such.
void CheckAnnotationChanges(json::Value object, json::Value old, FieldErrors& errors) {
  const FieldPath path("metadata", "annotations");
  const json::Value now = object["metadata"]["annotations"];
  const json::Value before = old["metadata"]["annotations"];
  const auto refuse = [&](std::string_view key, std::string_view verb) {
    if (key.starts_with(kAppArmorAnnotation)) {
      errors.push_back(
          api::Forbidden(path.Key(key), base::StrCat("may not ", verb, " AppArmor annotations")));
    } else if (key == kMirrorAnnotation) {
      errors.push_back(
          api::Forbidden(path.Key(key), base::StrCat("may not ", verb, " mirror pod annotation")));
    }
  };
  for (const json::Member* one : json::MembersByName(before)) {
    const json::Value* value = now.Find(one->name());
    if (value == nullptr || !(*value == one->value)) refuse(one->name(), "remove or update");
  }
  for (const json::Member* added : json::MembersByName(now)) {
    if (!before.Has(added->name())) refuse(added->name(), "add");
  }
  CheckPodAnnotations(now, object["spec"], path, errors);
}

// True if `term` is `old` with nothing but more requirements.
bool OnlyNarrows(json::Value term, json::Value old) {
  constexpr std::string_view kTermLists[] = {"matchExpressions", "matchFields"};
  bool was_empty = true;
  bool is_empty = true;
  for (const std::string_view list : kTermLists) {
    was_empty = was_empty && old[list].empty();
    is_empty = is_empty && term[list].empty();
    if (term[list].size() < old[list].size()) return false;
    for (std::size_t i = 0; i < old[list].size(); ++i) {
      if (!(term[list][i] == old[list][i])) return false;
    }
  }
  return !was_empty || is_empty;
}

void CheckNodeAffinityChange(const Context& ctx, json::Value now, json::Value before,
                             FieldErrors& errors) {
  constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
  const json::Value sent =
      ctx.sent["spec"]["affinity"]["nodeAffinity"][kRequired]["nodeSelectorTerms"];
  constexpr std::string_view kTerm = "io.k8s.api.core.v1.NodeSelectorTerm";
  const FieldPath path =
      FieldPath("spec", "affinity", "nodeAffinity", kRequired).Child("nodeSelectorTerms");
  const json::Value old_terms = before[kRequired]["nodeSelectorTerms"];
  const json::Value terms = now[kRequired]["nodeSelectorTerms"];
  if (old_terms.empty()) return;
  if (old_terms.size() != terms.size()) {
    errors.push_back(
        api::Invalid(path, GoValue(ctx, kTerm, terms, sent),
                     "no additions/deletions to non-empty NodeSelectorTerms list are allowed"));
    return;
  }
  for (std::size_t i = 0; i < old_terms.size(); ++i) {
    if (OnlyNarrows(terms[i], old_terms[i])) continue;
    errors.push_back(api::Invalid(path.Index(i), GoValue(ctx, kTerm, terms[i], sent[i]),
                                  "only additions are allowed (no mutations or deletions)"));
  }
}

// Which node selector and affinity a gated pod may still be given: only narrower ones. Returns the
// spec with the old ones.
json::Value WithoutNarrowing(const Context& ctx, json::Value spec, json::Value old,
                             FieldErrors& errors) {
  json::Arena& arena = ctx.arena;
  json::Value selector = spec["nodeSelector"];
  if (IsSentEmpty(ctx.sent["spec"]["nodeSelector"])) selector = ctx.sent["spec"]["nodeSelector"];
  for (const json::Member& entry : old["nodeSelector"].members()) {
    const json::Value* value = selector.Find(entry.name());
    if (value != nullptr && *value == entry.value) continue;
    errors.push_back(api::Invalid(
        FieldPath("spec", "nodeSelector"), selector,
        "only additions to spec.nodeSelector are allowed (no mutations or deletions)"));
    break;
  }
  spec = json::WithMemberOf(arena, spec, "nodeSelector", old);
  const json::Value now = spec["affinity"]["nodeAffinity"];
  const json::Value before = old["affinity"]["nodeAffinity"];
  if (now == before) return spec;
  CheckNodeAffinityChange(ctx, now, before, errors);
  if (!before.is_null()) return json::SetPath(arena, spec, {"affinity", "nodeAffinity"}, before);
  spec = json::RemovePath(arena, spec, {"affinity", "nodeAffinity"});
  if (spec["affinity"].empty() && !old.Has("affinity")) {
    spec = json::Without(arena, spec, "affinity");
  }
  return spec;
}

// Ephemeral containers are only ever added.
void CheckEphemeralChanges(const Context& ctx, json::Value object, json::Value old,
                           FieldErrors& errors) {
  if (old["metadata"]["annotations"].Has(kMirrorAnnotation)) {
    errors = {api::Forbidden(FieldPath("[]"), "static pods do not support ephemeral containers")};
    return;
  }
  const FieldPath path("spec", "ephemeralContainers");
  std::map<std::string_view, json::Value> containers;
  for (const json::Value& container : object["spec"]["ephemeralContainers"].elements()) {
    containers.try_emplace(container["name"].AsString(), container);
  }
  for (const json::Value& before : old["spec"]["ephemeralContainers"].elements()) {
    const auto now = containers.find(before["name"].AsString());
    const std::string what = base::StrCat("existing ephemeral containers \"",
                                          before["name"].AsString(), "\" may not be ");
    if (now == containers.end()) {
      errors.push_back(api::Forbidden(path, what + "removed\n"));
    } else if (!(now->second == before)) {
      std::string diff;
      if (ctx.catalog != nullptr) {
        constexpr std::string_view kType = "io.k8s.api.core.v1.EphemeralContainer";
        if (const auto* schema = ctx.catalog->FindDefinition(kType)) {
          diff = GoDiff(*schema, before, now->second);
        }
      }
      errors.push_back(api::Forbidden(path, base::StrCat(what, "changed\n", diff)));
    }
  }
}

// False if there are more of them or fewer: nothing else is told then.
bool CheckContainerChanges(std::string_view list, json::Value now, json::Value before,
                           FieldErrors& errors) {
  const FieldPath path("spec", list);
  if (now.size() != before.size()) {
    errors.push_back(api::Forbidden(path, "pod updates may not add or remove containers"));
    return false;
  }
  std::size_t index = 0;
  for (const json::Value& container : now.elements()) {
    const std::string_view image = container["image"].AsString();
    const FieldPath at = path.Index(index++).Child("image");
    if (image.empty()) errors.push_back(api::Required(at, ""));
    if (golang::TrimSpace(image) != image) {
      errors.push_back(api::Invalid(at, image, "must not have leading or trailing whitespace"));
    }
  }
  return true;
}

// A spec as it was sent, with the requests that defaulting makes of empty limits. Lists of containers
// are copied one by one: no list is left of an empty one. Gates and tolerations are not compared.
json::Value WithRequests(json::Arena& arena, json::Value sent) {
  for (const std::string_view list : {"schedulingGates", "tolerations"}) {
    sent = json::Without(arena, sent, list);
  }
  for (const std::string_view list : {"containers", "initContainers"}) {
    if (IsSentEmpty(sent[list])) sent = json::Without(arena, sent, list);
    if (!sent[list].is_array()) continue;
    json::ArrayBuilder containers(arena);
    for (const json::Value& container : sent[list].elements()) {
      const json::Value resources = container["resources"];
      const bool adds = IsSentEmpty(resources["limits"]) && resources["requests"].is_null();
      containers.Add(adds ? json::SetPath(arena, container, {"resources", "requests"},
                                          json::MakeObject(arena, {}))
                          : container);
    }
    sent = json::With(arena, sent, list, containers.Build());
  }
  return sent;
}

}  // namespace

void ValidatePodUpdate(const Context& ctx, json::Value object, json::Value old,
                       FieldErrors& errors) {
  if (ctx.subresource == "resize") return ValidatePodResize(ctx, object, old, errors);
  if (ctx.subresource == "status") {
    CheckAnnotationChanges(object, old, errors);
    ValidatePodStatus(ctx, object, old, errors);
    return;
  }
  ValidatePodContent(ctx, object, old, errors);
  CheckAnnotationChanges(object, old, errors);
  const json::Value spec = object["spec"];
  const json::Value before = old["spec"];
  if (ctx.subresource == "ephemeralcontainers") {
    CheckEphemeralChanges(ctx, object, old, errors);
    return;
  }
  for (const std::string_view list : {"containers", "initContainers"}) {
    if (!CheckContainerChanges(list, spec[list], before[list], errors)) return;
  }
  if (!CheckActiveDeadline(spec, before, errors)) return;
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
      const json::Value sent = WithoutDisabledFieldsOfPods(ctx, "", ctx.sent["spec"], before);
      diff = "\n" + GoDiff(*schema, before, munged, WithRequests(ctx.arena, sent));
    }
  }
  errors.push_back(api::Forbidden(FieldPath("spec"), base::StrCat(kMayNotChange, diff)));
}

}  // namespace portcullis::registry
