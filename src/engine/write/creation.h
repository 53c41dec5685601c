// SPDX-License-Identifier: Apache-2.0

// A create as an execution: from the decoded object through admission and validation to the commit;
// with another name once more if one that was generated is taken.
#pragma once

#include <memory>

#include "engine/operation.h"
#include "engine/options.h"
#include "engine/write/execution.h"
#include "json/value.h"

namespace portcullis::engine {

// What is particular about a create.
struct CreateMode {
  bool track_fields = true;  // false: managedFields are up to date (apply)
  bool by_update = false;    // a PUT or an apply found nothing to change: needs the right to create
};

// `object` is decoded and defaulted; its metadata is as the client sent it.
std::unique_ptr<Execution> MakeCreation(Operation& op, json::Value object, WriteOptions options,
                                        const CreateMode& mode);

}  // namespace portcullis::engine
