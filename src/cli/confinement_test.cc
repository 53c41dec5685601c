// SPDX-License-Identifier: Apache-2.0

#include "cli/confinement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <sstream>
#include <string>

#include "base/file.h"

namespace portcullis::cli {
namespace {

using ::testing::HasSubstr;

// What `look` tells of a process that has been confined; a process of its own, for there is no way
// back.
std::string Confined(const ConfinementOptions& options, const std::function<std::string()>& look) {
  int ends[2] = {-1, -1};
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    const base::Status status = Confine(options);
    const std::string told = status.ok() ? look() : status.message();
    _exit(write(ends[1], told.data(), told.size()) < 0 ? 1 : 0);
  }
  close(ends[1]);
  std::string told;
  char buffer[4096];
  for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof(buffer))) > 0;) {
    told.append(buffer, static_cast<std::size_t>(got));
  }
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return told;
}

std::string StatusFile() { return base::ReadFile("/proc/self/status").value(); }

TEST(Confinement, GivesUpRights) {
  const std::string status = Confined({}, &StatusFile);
  EXPECT_THAT(status, HasSubstr("NoNewPrivs:\t1\n"));
  EXPECT_THAT(status, HasSubstr("Umask:\t0077\n"));
  EXPECT_THAT(status, HasSubstr("CapInh:\t0000000000000000\n"));
  EXPECT_THAT(status, HasSubstr("CapAmb:\t0000000000000000\n"));
  // DAC_OVERRIDE and DAC_READ_SEARCH are bits 1 and 2.
  EXPECT_THAT(status, HasSubstr(RunsAsRoot() ? "CapEff:\t0000000000000006\n"
                                             : "CapEff:\t0000000000000000\n"));
}

TEST(Confinement, KeepsTheRightToBindALowPort) {
  if (!RunsAsRoot()) GTEST_SKIP() << "only root has it";
  EXPECT_THAT(Confined({.binds_low_port = true}, &StatusFile),
              HasSubstr("CapPrm:\t0000000000000406\n"));
}

std::string CoreRules() {
  rlimit limit{};
  getrlimit(RLIMIT_CORE, &limit);
  return std::to_string(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0)) + " " +
         (limit.rlim_max == 0 ? "none" : "some");
}

TEST(Confinement, LeavesNoCoreFileUnlessItMay) {
  EXPECT_EQ(Confined({}, &CoreRules), "0 none");
  rlimit limit{};
  getrlimit(RLIMIT_CORE, &limit);
  EXPECT_EQ(Confined({.allow_core_dumps = true}, &CoreRules),
            limit.rlim_max == 0 ? "1 none" : "1 some");
}

TEST(Confinement, MakesFilesForItsUserAlone) {
  const std::string path = ::testing::TempDir() + "confined_" + std::to_string(getpid());
  Confined({}, [&path] {
    std::ofstream(path) << "x";
    return std::string();
  });
  struct stat info {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  unlink(path.c_str());
}

}  // namespace
}  // namespace portcullis::cli
