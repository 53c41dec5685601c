// SPDX-License-Identifier: Apache-2.0

// The struct types that expressions of admission know: the request, namespaces, a policy's
// variables, and the objects mutations construct.
#pragma once

#include <memory>

#include "cel/types.h"
#include "kube_cel/compiler.h"

namespace portcullis::kube_cel {

// `base` (may be null) knows everything but the types of variables; it outlives the result.
std::shared_ptr<const cel::TypeProvider> MakeAdmissionTypes(const Scope& scope,
                                                            const cel::TypeProvider* base);

}  // namespace portcullis::kube_cel
