// SPDX-License-Identifier: Apache-2.0

#include "engine/subresources/subresources.h"

namespace portcullis::engine {
namespace {

// A function that writes nothing.
template <base::Result<Outcome> (*function)(Operation&, const Input&)>
std::unique_ptr<Execution> Without(Operation& op, const Input& input) {
  return MakeFinished(function(op, input));
}

constexpr SubresourceRow kRows[] = {
    {"*", "*", "scale", Verb::kGet, &Without<GetScale>},
    {"*", "*", "scale", Verb::kUpdate, &UpdateScale},
    {"*", "*", "scale", Verb::kPatch, &PatchScale},
    {"*", "deployments", "rollback", Verb::kCreate, &CreateRollback},
    {"", "pods", "eviction", Verb::kCreate, &CreateEviction},
    {"", "pods", "binding", Verb::kCreate, &CreateBinding},
    {"", "bindings", "", Verb::kCreate, &CreateBinding},
    {"", "serviceaccounts", "token", Verb::kCreate, &Without<CreateToken>},
    {"", "pods", "log", Verb::kGet, &Without<GetLog>},
    {"", "pods", "exec", Verb::kConnect, &Without<Connect>},
    {"", "pods", "attach", Verb::kConnect, &Without<Connect>},
    {"", "pods", "portforward", Verb::kConnect, &Without<Connect>},
    {"", "pods", "proxy", Verb::kConnect, &Without<Connect>},
    {"", "services", "proxy", Verb::kConnect, &Without<Connect>},
    {"", "nodes", "proxy", Verb::kConnect, &Without<Connect>},
    {"authentication.k8s.io", "*", "", Verb::kCreate, &Without<CreateReview>},
    {"authorization.k8s.io", "*", "", Verb::kCreate, &Without<CreateReview>},
};

bool Fits(std::string_view pattern, std::string_view text) {
  return pattern == "*" || pattern == text;
}

}  // namespace

std::span<const SubresourceRow> Subresources() { return kRows; }

Function FindFunction(const Operation& op) { return FindFunction(op, op.verb); }

Function FindFunction(const Operation& op, Verb verb) {
  const api::GroupVersionResource& resource = op.resource->resource;
  const std::string_view subresource = op.subresource_name();
  for (const SubresourceRow& row : kRows) {
    if (row.verb == verb && row.subresource == subresource && Fits(row.group, resource.group) &&
        Fits(row.resource, resource.resource)) {
      return row.function;
    }
  }
  return nullptr;
}

}  // namespace portcullis::engine
