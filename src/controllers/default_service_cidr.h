// SPDX-License-Identifier: Apache-2.0

// Makes the ServiceCIDR "kubernetes" again when it has been deleted, and its condition Ready when it
// has none. Behaviour: kube-apiserver, pkg/controlplane/controller/defaultservicecidr, which looks
// every ten seconds; this one does it at once. Like that one it leaves other networks as they are.
#pragma once

#include "controllers/controller.h"

namespace portcullis::controllers {

extern const ControllerInfo kDefaultServiceCidr;

}  // namespace portcullis::controllers
