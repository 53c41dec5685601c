// SPDX-License-Identifier: Apache-2.0

#include "policy/pod_security/checks/se_linux_options.h"

#include "policy/pod_security/sentences.h"

namespace portcullis::policy::pod_security {
namespace {

bool IsAllowedType(std::string_view type, bool engine_type_allowed) {
  if (type == "container_engine_t") return engine_type_allowed;
  return type.empty() || type == "container_t" || type == "container_init_t" ||
         type == "container_kvm_t";
}

// Everything forbidden that one pod sets.
struct Found {
  Values types;
  bool user = false;
  bool role = false;

  bool Add(json::Value security_context, bool engine_type_allowed) {
    const json::Value options = security_context["seLinuxOptions"];
    bool bad = false;
    std::string_view type = options["type"].AsString();
    if (!IsAllowedType(type, engine_type_allowed)) {
      types.emplace(type);
      bad = true;
    }
    if (!options["user"].AsString().empty()) user = bad = true;
    if (!options["role"].AsString().empty()) role = bad = true;
    return bad;
  }

  std::string Text() const {
    std::vector<std::string> parts;
    if (!types.empty()) {
      parts.push_back(base::StrCat(Plural("type", "types", types.size()), " ", JoinQuoted(types)));
    }
    if (user) parts.emplace_back("user may not be set");
    if (role) parts.emplace_back("role may not be set");
    return base::Join(parts, "; ");
  }
};

CheckResult CheckOptions(const PodView& pod, bool engine_type_allowed) {
  Found found;
  Names containers;
  const bool pod_is_bad = found.Add(pod.spec["securityContext"], engine_type_allowed);
  VisitContainers(pod.spec, [&](json::Value container) {
    if (found.Add(container["securityContext"], engine_type_allowed)) {
      containers.push_back(container["name"].AsString());
    }
  });
  if (!pod_is_bad && containers.empty()) return Allow();
  return Deny("seLinuxOptions",
              base::StrCat(SettersText(pod_is_bad, containers),
                           " set forbidden securityContext.seLinuxOptions: ", found.Text()));
}

CheckResult CheckOptions_1_0(const PodView& pod) { return CheckOptions(pod, false); }
CheckResult CheckOptions_1_31(const PodView& pod) { return CheckOptions(pod, true); }

constexpr CheckVersion kVersions[] = {{0, &CheckOptions_1_0}, {31, &CheckOptions_1_31}};

}  // namespace

constinit const Check kSeLinuxOptions = {"seLinuxOptions", Level::kBaseline, kVersions};

}  // namespace portcullis::policy::pod_security
