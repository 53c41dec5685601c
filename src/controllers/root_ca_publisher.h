// SPDX-License-Identifier: Apache-2.0

// Puts the server's certificate authority into a ConfigMap kube-root-ca.crt of each namespace.
#pragma once

#include "controllers/controller.h"

namespace portcullis::controllers {

extern const ControllerInfo kRootCaPublisher;

}  // namespace portcullis::controllers
