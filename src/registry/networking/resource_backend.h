// A reference to a resource of any kind, of ingresses and of ingress classes
// (pkg/apis/networking/validation).
#pragma once

#include "registry/validation/checks.h"

namespace portcullis::registry {

// apiGroup, kind and name.
void CheckResourceBackend(json::Value resource, const FieldPath& path, FieldErrors& errors);

}  // namespace portcullis::registry
