// SPDX-License-Identifier: Apache-2.0

#include "release/embedded_data.h"

#include <cstddef>

// The assembler takes the files in; see CMakeLists.txt of this folder.
__asm__(
    ".pushsection .rodata\n"
    ".global pc_feature_gates_begin\n"
    "pc_feature_gates_begin:\n"
    ".incbin \"" PC_RELEASE_DATA
    "/feature.gates\"\n"
    ".global pc_feature_gates_end\n"
    "pc_feature_gates_end:\n"
    ".byte 0\n"
    ".global pc_behavior_facts_begin\n"
    "pc_behavior_facts_begin:\n"
    ".incbin \"" PC_RELEASE_DATA
    "/behavior.facts\"\n"
    ".global pc_behavior_facts_end\n"
    "pc_behavior_facts_end:\n"
    ".byte 0\n"
    ".global pc_served_resources_begin\n"
    "pc_served_resources_begin:\n"
    ".incbin \"" PC_RELEASE_DATA
    "/served.resources\"\n"
    ".global pc_served_resources_end\n"
    "pc_served_resources_end:\n"
    ".byte 0\n"
    ".popsection\n");

extern "C" {
extern const char pc_feature_gates_begin[];
extern const char pc_feature_gates_end[];
extern const char pc_behavior_facts_begin[];
extern const char pc_behavior_facts_end[];
extern const char pc_served_resources_begin[];
extern const char pc_served_resources_end[];
}

namespace portcullis::release {
namespace {

std::string_view Between(const char* begin, const char* end) {
  return {begin, static_cast<std::size_t>(end - begin)};
}

}  // namespace

std::string_view EmbeddedFeatureGates() {
  return Between(pc_feature_gates_begin, pc_feature_gates_end);
}

std::string_view EmbeddedBehaviorFacts() {
  return Between(pc_behavior_facts_begin, pc_behavior_facts_end);
}

std::string_view EmbeddedServedResources() {
  return Between(pc_served_resources_begin, pc_served_resources_end);
}

}  // namespace portcullis::release
