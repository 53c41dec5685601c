// SPDX-License-Identifier: Apache-2.0

// The two ways a stored object comes to be: a create and an update, each the whole way from the
// decoded object through admission and validation to the store. Every verb that writes uses them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "engine/operation.h"
#include "engine/options.h"
#include "engine/outcome.h"
#include "engine/write/execution.h"
#include "json/value.h"
#include "store/store.h"

namespace portcullis::engine {

// `object` is decoded and defaulted; its metadata is as the client sent it.
base::Result<Outcome> CreateObject(Operation& op, json::Value object, const WriteOptions& options);

struct UpdateSpec {
  std::string_view name;
  // Makes the new object of the live one (in the request's version; null if there is none and
  // `create_if_absent`), canonical and defaulted. Called again after a conflict.
  std::function<base::Result<json::Value>(json::Value live)> transform;
  bool replaces = false;  // by an object that does not depend on the live one (PUT)
  bool create_if_absent = false;
  bool track_fields = true;  // false: `transform` has done it (apply)
};
base::Result<Outcome> UpdateObject(Operation& op, const UpdateSpec& spec,
                                   const WriteOptions& options);

// The same as executions, for callers that do not wait for the store. `spec.name` views a text that
// outlives the execution.
std::unique_ptr<Execution> BeginCreate(Operation& op, json::Value object, WriteOptions options);
std::unique_ptr<Execution> BeginUpdate(Operation& op, UpdateSpec spec, WriteOptions options);

// The key of an object of the call's resource.
store::Key KeyOf(const Operation& op, std::string_view name);
store::Key KeyOf(const api::catalog::ResourceInfo& resource, std::string_view ns,
                 std::string_view name);

// That the body names the object of the URL, before anything else is looked at; and whether PUT of
// an absent object makes it.
base::Status MatchNameForUpdate(Operation& op, json::Value object);
bool CreatesOnUpdate(const Operation& op);

}  // namespace portcullis::engine
