// SPDX-License-Identifier: Apache-2.0

// Makes the Service "kubernetes" in "default" again when it has been deleted. Behaviour:
// kube-apiserver, pkg/controlplane/controller/kubernetesservice, which looks every ten seconds; this
// one makes it at once. Like that one it corrects nothing of a Service that is there.
#pragma once

#include "controllers/controller.h"

namespace portcullis::controllers {

extern const ControllerInfo kKubernetesService;

}  // namespace portcullis::controllers
