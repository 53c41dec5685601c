// SPDX-License-Identifier: Apache-2.0

// How large the values of a schema can be, as far as the schema says (JSONSchemaProps): what the
// estimate of a rule's cost rests on. Kubernetes takes any object to fit into a request of 3 MiB.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cel/checker/cost_estimate.h"
#include "json/value.h"

namespace portcullis::kube_cel {

// The properties that expressions see. A resource has apiVersion, kind and metadata whatever its
// schema says, and metadata with just the two names unless the schema has them.
std::vector<json::Member> VisibleProperties(json::Arena& arena, json::Value props,
                                            bool is_resource);

struct SchemaSize {
  std::uint64_t min_json = 0;      // bytes of the shortest JSON
  std::uint64_t max_elements = 0;  // characters, elements or entries; 0 of what has no length
};
// Nothing if expressions do not see such values.
std::optional<SchemaSize> SizeOfSchema(json::Value props, bool is_resource);

// How often a value can be in one object at most, when no list or map around it has a limit.
std::uint64_t MaxOccurrences(json::Value props, bool is_resource);
// By how much a list or map multiplies what is in it; nothing if it has no limit.
std::optional<std::uint64_t> ElementLimit(json::Value props);

class SchemaSizes final : public cel::SizeEstimator {
 public:
  SchemaSizes(json::Value props, bool is_resource) : props_(props), is_resource_(is_resource) {}
  std::optional<cel::Range> Size(std::span<const std::string_view> path,
                                 const cel::Type& type) const override;

 private:
  const json::Value props_;
  const bool is_resource_;
};

}  // namespace portcullis::kube_cel
