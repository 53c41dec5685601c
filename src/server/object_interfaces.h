// What admission asks about kinds of objects, answered from the current catalog.
#pragma once

#include <memory>

#include "admission/object_interfaces.h"
#include "server/environment.h"

namespace portcullis::server {

// `env` outlives the result; its catalog and defaulter must be set before the first use.
std::unique_ptr<admission::ObjectInterfaces> MakeObjectInterfaces(const Environment& env);

}  // namespace portcullis::server
