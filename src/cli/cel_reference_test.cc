// SPDX-License-Identifier: Apache-2.0

#include "cli/cel_reference.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "base/strings.h"
#include "base/testing/temporary_folder.h"
#include "cli/cel_command.h"

namespace portcullis::cli {
namespace {

// If this fails, run `portcullis cel --functions > docs/cel.md`.
TEST(CelReferenceTest, DocumentIsCurrent) {
  std::ifstream file(PC_SOURCE_DIR "/docs/cel.md");
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), CelReference());
}

TEST(CelReferenceTest, ExamplesAreTrue) {
  const base::TemporaryFolder folder;
  const std::string allowed = folder.path() + "/allowed.yaml";
  std::ofstream(allowed) << "- {resource: deployments, verb: list}\n- {path: /, verb: get}\n"
                            "- {path: /healthz, verb: get}\n";
  std::istringstream lines(CelReference());
  int examples = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t begin = line.rfind(" | `");
    if (!line.starts_with("| `") || begin == std::string::npos || !line.ends_with("` |")) continue;
    std::string example = line.substr(begin + 4, line.size() - begin - 7);
    example = base::ReplaceAll(example, "\\|", "|");
    if (example.starts_with("jsonpatch.")) continue;
    testing::internal::CaptureStdout();
    kCel.run({"--as", "admission", "--authorizer", allowed, example});
    std::fflush(stdout);
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "true\n") << example;
    ++examples;
  }
  EXPECT_GT(examples, 150);
}

}  // namespace
}  // namespace portcullis::cli
