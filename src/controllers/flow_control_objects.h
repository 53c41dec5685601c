// SPDX-License-Identifier: Apache-2.0

// Keeps the objects that configure API Priority and Fairness as kube-apiserver keeps them: the
// mandatory and suggested ones exist and follow the release (each minute), and the condition
// Dangling of each FlowSchema says whether its priority level exists
// (kubernetes/pkg/registry/flowcontrol/rest; k8s.io/apiserver/pkg/util/flowcontrol).
#pragma once

#include <functional>
#include <vector>

#include "base/status.h"
#include "controllers/controller.h"

namespace portcullis::controllers {

// What has to be done before the server is ready, each piece on any thread; `store`, `client`, `clock`
// and `arena` outlive them. `with_status` as --enable-priority-and-fairness.
std::vector<std::function<base::Status()>> FlowControlBootJobs(const store::Reader& store,
                                                               Client& client,
                                                               const base::Clock& clock,
                                                               json::Arena& arena,
                                                               bool with_status);

// Work as the server itself; not among --controllers.
extern const ControllerInfo kFlowControlObjects;
extern const ControllerInfo kFlowSchemaStatus;  // with --enable-priority-and-fairness

}  // namespace portcullis::controllers
