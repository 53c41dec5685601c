// SPDX-License-Identifier: Apache-2.0

// DefaultIngressClass gives an Ingress that names no class the cluster's default class.
//
// Mutates: sets spec.ingressClassName of new Ingresses.
// Ignores: Ingresses that name a class, also an empty one, or carry the old annotation
// kubernetes.io/ingress.class.
// Behaviour follows the Kubernetes documentation, "Admission Controllers: DefaultIngressClass".
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::default_ingress_class {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::default_ingress_class
