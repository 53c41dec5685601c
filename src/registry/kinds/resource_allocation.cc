// Dynamic resource allocation (pkg/apis/resource/validation).

#include "registry/kind_table.h"

namespace portcullis::registry {

void AddResourceAllocation(KindTable& table) {
  constexpr std::string_view kGroup = "resource.k8s.io";
  table.Add({.group = kGroup, .resource = "deviceclasses", .traits = {.counts_generation = true}});
  table.Add({.group = kGroup, .resource = "resourceslices", .traits = {.counts_generation = true}});
}

}  // namespace portcullis::registry
