// SPDX-License-Identifier: Apache-2.0

// Subresources and virtual resources that are more than a read or write of the stored object: one
// row each, with the function that does it. Whatever has no row is an ordinary read or write.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "base/status.h"
#include "engine/operation.h"
#include "engine/options.h"
#include "engine/outcome.h"
#include "engine/write/execution.h"

namespace portcullis::engine {

// Admission and all else has been done when it returns, up to the first commit. The input need not
// outlive the call; its bytes outlive the operation.
using Function = std::unique_ptr<Execution> (*)(Operation& op, const Input& input);

struct SubresourceRow {
  std::string_view group;        // "*": every group
  std::string_view resource;     // "*": every resource
  std::string_view subresource;  // "": the resource itself
  Verb verb;
  Function function;
};

std::span<const SubresourceRow> Subresources();

// The function of the operation's resource, subresource and verb, or null.
Function FindFunction(const Operation& op);
// The same for another verb than the operation's.
Function FindFunction(const Operation& op, Verb verb);

// The functions, each in a file of its own. Those that write stop at each commit.
std::unique_ptr<Execution> UpdateScale(Operation& op, const Input& input);
std::unique_ptr<Execution> PatchScale(Operation& op, const Input& input);
std::unique_ptr<Execution> CreateEviction(Operation& op, const Input& input);
std::unique_ptr<Execution> CreateBinding(Operation& op, const Input& input);
std::unique_ptr<Execution> CreateRollback(Operation& op, const Input& input);
base::Result<Outcome> GetScale(Operation& op, const Input& input);
base::Result<Outcome> CreateToken(Operation& op, const Input& input);
// --api-audiences, by default the issuer.
std::vector<std::string> ApiAudiences(const Operation& op);
base::Result<Outcome> CreateReview(Operation& op, const Input& input);
// A connection is admitted, or refused; then Unreachable() says why it leads nowhere, by the options that the
// plugins have left.
base::Result<json::Value> AdmitConnection(Operation& op, const Input& input);
base::Status Unreachable(Operation& op, json::Value options);
base::Result<Outcome> Connect(Operation& op, const Input& input);  // both: never an outcome
base::Result<Outcome> GetLog(Operation& op, const Input& input);

}  // namespace portcullis::engine
