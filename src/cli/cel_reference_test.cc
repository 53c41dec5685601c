// SPDX-License-Identifier: Apache-2.0

#include "cli/cel_reference.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace portcullis::cli {
namespace {

// If this fails, run `portcullis cel --functions > docs/cel.md`.
TEST(CelReferenceTest, DocumentIsCurrent) {
  std::ifstream file(PC_SOURCE_DIR "/docs/cel.md");
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), CelReference());
}

}  // namespace
}  // namespace portcullis::cli
