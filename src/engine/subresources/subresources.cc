#include "engine/subresources/subresources.h"

namespace portcullis::engine {
namespace {

constexpr SubresourceRow kRows[] = {
    {"*", "*", "scale", Verb::kGet, &GetScale},
    {"*", "*", "scale", Verb::kUpdate, &UpdateScale},
    {"*", "*", "scale", Verb::kPatch, &PatchScale},
    {"", "pods", "eviction", Verb::kCreate, &CreateEviction},
    {"", "pods", "binding", Verb::kCreate, &CreateBinding},
    {"", "bindings", "", Verb::kCreate, &CreateBinding},
    {"", "serviceaccounts", "token", Verb::kCreate, &CreateToken},
    {"", "pods", "log", Verb::kGet, &GetLog},
    {"", "pods", "exec", Verb::kConnect, &Connect},
    {"", "pods", "attach", Verb::kConnect, &Connect},
    {"", "pods", "portforward", Verb::kConnect, &Connect},
    {"", "pods", "proxy", Verb::kConnect, &Connect},
    {"", "services", "proxy", Verb::kConnect, &Connect},
    {"", "nodes", "proxy", Verb::kConnect, &Connect},
    {"authentication.k8s.io", "*", "", Verb::kCreate, &CreateReview},
    {"authorization.k8s.io", "*", "", Verb::kCreate, &CreateReview},
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
