// SPDX-License-Identifier: Apache-2.0

#include "engine/write/write.h"

#include <utility>

#include "engine/write/creation.h"
#include "engine/write/system_fields.h"

namespace portcullis::engine {

store::Key KeyOf(const Operation& op, std::string_view name) {
  return KeyOf(*op.resource, op.ns, name);
}

store::Key KeyOf(const api::catalog::ResourceInfo& resource, std::string_view ns,
                 std::string_view name) {
  return {resource.storage_kind.group, resource.resource.resource,
          resource.namespaced ? ns : std::string_view(), name};
}

base::Result<Outcome> CreateObject(Operation& op, json::Value object, const WriteOptions& options) {
  return Finish(op, *BeginCreate(op, object, options));
}

base::Result<Outcome> UpdateObject(Operation& op, const UpdateSpec& spec,
                                   const WriteOptions& options) {
  return Finish(op, *BeginUpdate(op, spec, options));
}

std::unique_ptr<Execution> BeginCreate(Operation& op, json::Value object, WriteOptions options) {
  return MakeCreation(op, object, std::move(options), {});
}

base::Status MatchNameForUpdate(Operation& op, json::Value object) {
  TRY(MatchNamespace(op, object));
  return MatchName(op.name, object);
}

bool CreatesOnUpdate(const Operation& op) {
  // The status of a Service makes one, too: its registry asks the same strategy.
  if (!op.subresource_name().empty() && op.subresource_name() != "status") return false;
  return StrategyOf(op).AllowCreateOnUpdate();
}

}  // namespace portcullis::engine
