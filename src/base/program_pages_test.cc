// SPDX-License-Identifier: Apache-2.0

#include "base/program_pages.h"

#include <gtest/gtest.h>

#include <string>

#include "base/file.h"
#include "base/strings.h"

namespace portcullis::base {
namespace {

// Kilobytes of mapped pages of files.
std::int64_t MappedOfFiles() {
  const std::string status = ReadFile("/proc/self/status").value();
  constexpr std::string_view kName = "RssFile:";
  const std::size_t at = status.find(kName);
  if (at == std::string::npos) return -1;
  const std::size_t end = status.find("kB", at);
  return ParseInt(Trim(std::string_view(status).substr(at + kName.size(), end - at - kName.size())))
      .value_or(-1);
}

TEST(ProgramPagesTest, AreMappedAgainWhenTheyAreUsed) {
  const std::int64_t before = MappedOfFiles();
  UnmapProgramPages();
  const std::int64_t after = MappedOfFiles();
  EXPECT_LT(after, before) << "nothing was unmapped";
  EXPECT_GT(after, 0);
  // Constant data as well as code, and data that the loader has relocated.
  EXPECT_EQ(StrCat("still ", std::to_string(4)), "still 4");
  EXPECT_THROW(static_cast<void>(std::stoi("none")), std::invalid_argument);
}

}  // namespace
}  // namespace portcullis::base
