// SPDX-License-Identifier: Apache-2.0

// The objects that mutations construct: Object{spec: Object.spec{replicas: 3}} and JSONPatch{…}.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "cel/environment.h"
#include "cel/value.h"
#include "json/value.h"

namespace portcullis::kube_cel {

std::shared_ptr<const cel::ObjectFactory> MakeMutationObjects();

// Checks that the type names of a constructed object and of all objects in it are their field paths
// from `root` on ("Object" or the object's own name). Error: `type mismatch: unexpected type name
// …`.
base::Status CheckTypeNames(json::Arena& arena, cel::Value object, std::string_view root);

// True for a constructed Object or Object.<path>.
bool IsConstructed(cel::Value value);
// The fields of a constructed object or JSONPatch, in the order in which they were written.
std::span<const cel::ObjectFactory::Field> FieldsOf(cel::Value object);

}  // namespace portcullis::kube_cel
