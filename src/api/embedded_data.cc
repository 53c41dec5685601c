// SPDX-License-Identifier: Apache-2.0

// The assembler takes the files in as they are: no generator, no copy at start, and the pages are
// read from the program's file only when they are touched.
#include "api/embedded_data.h"

#include <cstddef>

// clang-format off
#define PC_EMBED(symbol, file)                                  \
  __asm__(                                                      \
      ".pushsection .rodata\n"                                  \
      ".balign 16\n"                                            \
      ".global pc_data_" symbol "_begin\n"                      \
      "pc_data_" symbol "_begin:\n"                             \
      ".incbin \"" PC_API_DATA "/" file "\"\n"                  \
      ".global pc_data_" symbol "_end\n"                        \
      "pc_data_" symbol "_end:\n"                               \
      ".byte 0\n"                                               \
      ".popsection\n")
// clang-format on

PC_EMBED("catalog", "kubernetes-1.36.catalog");
PC_EMBED("defaults", "defaults.rules");
PC_EMBED("conversions", "conversions.rules");

extern "C" {
extern const char pc_data_catalog_begin[];
extern const char pc_data_catalog_end[];
extern const char pc_data_defaults_begin[];
extern const char pc_data_defaults_end[];
extern const char pc_data_conversions_begin[];
extern const char pc_data_conversions_end[];
}

namespace portcullis::api {
namespace {

std::string_view Between(const char* begin, const char* end) {
  return {begin, static_cast<std::size_t>(end - begin)};
}

}  // namespace

std::string_view EmbeddedCatalogFile() {
  return Between(pc_data_catalog_begin, pc_data_catalog_end);
}
std::string_view EmbeddedDefaultRules() {
  return Between(pc_data_defaults_begin, pc_data_defaults_end);
}
std::string_view EmbeddedConversionRules() {
  return Between(pc_data_conversions_begin, pc_data_conversions_end);
}

}  // namespace portcullis::api
