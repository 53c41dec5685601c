// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/exec_denial.h"

#include <string_view>

#include "admission/errors.h"
#include "plugins/common/state.h"

namespace portcullis::plugins::common {
namespace {

bool IsPrivileged(json::Value spec) {
  for (const std::string_view list : {"initContainers", "containers"}) {
    for (const json::Value& container : spec[list].elements()) {
      if (container["securityContext"]["privileged"].AsBool()) return true;
    }
  }
  return false;
}

}  // namespace

base::Status DenyExec(const admission::Request& request, const store::Reader* reader,
                      Escalation denied) {
  const bool connects = request.IsResource("", "pods") &&
                        (request.subresource() == "exec" || request.subresource() == "attach");
  if (!connects) return base::OkStatus();
  const store::ObjectPtr pod = Find(reader, "", "pods", request.namespace_name(), request.name());
  if (pod == nullptr) {
    return admission::Forbidden(request, admission::NotFound("", "pods", request.name()));
  }
  const json::Value spec = RootOf(request.arena(), pod)["spec"];
  if (denied == Escalation::kAny) {
    if (spec["hostNetwork"].AsBool()) {
      return admission::Forbidden(request,
                                  "cannot exec into or attach to a container using host network");
    }
    if (spec["hostPID"].AsBool()) {
      return admission::Forbidden(request,
                                  "cannot exec into or attach to a container using host pid");
    }
    if (spec["hostIPC"].AsBool()) {
      return admission::Forbidden(request,
                                  "cannot exec into or attach to a container using host ipc");
    }
  }
  if (!IsPrivileged(spec)) return base::OkStatus();
  return admission::Forbidden(request, "cannot exec into or attach to a privileged container");
}

}  // namespace portcullis::plugins::common
