// SPDX-License-Identifier: Apache-2.0

#include "policy/pod_security/checks/app_armor_profile.h"

#include <algorithm>

#include "base/gotext.h"
#include "policy/pod_security/sentences.h"

namespace portcullis::policy::pod_security {
namespace {

constexpr std::string_view kAnnotationPrefix = "container.apparmor.security.beta.kubernetes.io/";

bool IsForbiddenType(json::Value security_context) {
  const json::Value* profile = security_context.Find("appArmorProfile");
  if (profile == nullptr || profile->is_null()) return false;
  std::string_view type = (*profile)["type"].AsString();
  return type != "RuntimeDefault" && type != "Localhost";
}

bool IsForbiddenAnnotation(std::string_view value) {
  return !value.empty() && value != "runtime/default" && !value.starts_with("localhost/");
}

std::vector<std::string> ForbiddenAnnotations(json::Value annotations) {
  std::vector<std::string> found;
  for (const json::Member& annotation : annotations.members()) {
    if (!annotation.name().starts_with(kAnnotationPrefix)) continue;
    std::string_view value = annotation.value.AsString();
    if (!IsForbiddenAnnotation(value)) continue;
    found.push_back(base::StrCat(annotation.name(), "=", base::GoQuote(value)));
  }
  std::sort(found.begin(), found.end());
  return found;
}

CheckResult CheckProfiles(const PodView& pod) {
  Values types;
  Names containers;
  const json::Value pod_context = pod.spec["securityContext"];
  const bool pod_is_bad = IsForbiddenType(pod_context);
  if (pod_is_bad) types.emplace(pod_context["appArmorProfile"]["type"].AsString());
  VisitContainers(pod.spec, [&](json::Value container) {
    const json::Value context = container["securityContext"];
    if (!IsForbiddenType(context)) return;
    containers.push_back(container["name"].AsString());
    types.emplace(context["appArmorProfile"]["type"].AsString());
  });
  const std::vector<std::string> annotations = ForbiddenAnnotations(pod.metadata["annotations"]);

  std::string setters = SettersText(pod_is_bad, containers);
  std::vector<std::string> values(types.begin(), types.end());
  if (!annotations.empty()) {
    if (!setters.empty()) setters += " and ";
    setters += Plural("annotation", "annotations", annotations.size());
    values.insert(values.end(), annotations.begin(), annotations.end());
  }
  if (setters.empty()) return Allow();
  return Deny(Plural("forbidden AppArmor profile", "forbidden AppArmor profiles", values.size()),
              base::StrCat(setters, " must not set AppArmor profile type to ", JoinQuoted(values)));
}

constexpr CheckVersion kVersions[] = {{0, &CheckProfiles}};

}  // namespace

constinit const Check kAppArmorProfile = {"appArmorProfile", Level::kBaseline, kVersions};

}  // namespace portcullis::policy::pod_security
