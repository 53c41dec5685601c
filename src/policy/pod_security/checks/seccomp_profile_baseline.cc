// SPDX-License-Identifier: Apache-2.0

#include "policy/pod_security/checks/seccomp_profile_baseline.h"

#include "base/gotext.h"
#include "policy/pod_security/sentences.h"

namespace portcullis::policy::pod_security {
namespace {

constexpr std::string_view kPodAnnotation = "seccomp.security.alpha.kubernetes.io/pod";
constexpr std::string_view kContainerPrefix = "container.seccomp.security.alpha.kubernetes.io/";

bool IsForbiddenAnnotation(std::string_view value) {
  return value != "runtime/default" && value != "docker/default" &&
         !value.starts_with("localhost/");
}

CheckResult CheckAnnotations(const PodView& pod) {
  Values forbidden;
  const json::Value annotations = pod.metadata["annotations"];
  auto check = [&](std::string_view key) {
    const json::Value* value = annotations.Find(key);
    if (value == nullptr || !IsForbiddenAnnotation(value->AsString())) return;
    forbidden.insert(base::StrCat(key, "=", base::GoQuote(value->AsString())));
  };
  check(kPodAnnotation);
  VisitContainers(pod.spec, [&](json::Value container) {
    check(base::StrCat(kContainerPrefix, container["name"].AsString()));
  });
  if (forbidden.empty()) return Allow();
  return Deny("seccompProfile", base::StrCat(Plural("forbidden annotation ",
                                                    "forbidden annotations ", forbidden.size()),
                                             base::Join(forbidden, ", ")));
}

bool IsForbiddenType(json::Value security_context) {
  const json::Value profile = security_context["seccompProfile"];
  if (profile.is_null()) return false;
  std::string_view type = profile["type"].AsString();
  return type != "RuntimeDefault" && type != "Localhost";
}

CheckResult CheckFields(const PodView& pod) {
  Values types;
  Names containers;
  const json::Value pod_context = pod.spec["securityContext"];
  const bool pod_is_bad = IsForbiddenType(pod_context);
  if (pod_is_bad) types.emplace(pod_context["seccompProfile"]["type"].AsString());
  VisitContainers(pod.spec, [&](json::Value container) {
    const json::Value context = container["securityContext"];
    if (!IsForbiddenType(context)) return;
    containers.push_back(container["name"].AsString());
    types.emplace(context["seccompProfile"]["type"].AsString());
  });
  if (types.empty()) return Allow();
  return Deny(
      "seccompProfile",
      base::StrCat(SettersText(pod_is_bad, containers),
                   " must not set securityContext.seccompProfile.type to ", JoinQuoted(types)));
}

constexpr CheckVersion kVersions[] = {{0, &CheckAnnotations}, {19, &CheckFields}};

}  // namespace

constinit const Check kSeccompProfileBaseline = {"seccompProfile_baseline", Level::kBaseline,
                                                 kVersions};

}  // namespace portcullis::policy::pod_security
