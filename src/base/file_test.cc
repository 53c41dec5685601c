// SPDX-License-Identifier: Apache-2.0

#include "base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

namespace portcullis::base {
namespace {

class FileTest : public ::testing::Test {
 protected:
  ~FileTest() override { unlink(path_.c_str()); }

  const std::string path_ = ::testing::TempDir() + "file_test_" + std::to_string(getpid());
};

TEST_F(FileTest, ReadsAllBytes) {
  const std::string bytes = std::string("a\0b\n", 4) + std::string(100'000, 'x');
  std::ofstream(path_, std::ios::binary) << bytes;
  EXPECT_EQ(ReadFile(path_).value(), bytes);
  EXPECT_EQ(ReadFile(path_, bytes.size()).value(), bytes);
}

TEST_F(FileTest, RefusesWhatIsLargerThanTheLimit) {
  std::ofstream(path_) << "12345";
  EXPECT_EQ(ReadFile(path_, 4).status().message(),
            "read " + path_ + ": there are more than 4 bytes");
  // A device has no end.
  EXPECT_EQ(ReadFile("/dev/zero", 1000).status().message(),
            "read /dev/zero: there are more than 1000 bytes");
}

TEST_F(FileTest, SaysWhyAFileCannotBeReadAsGoDoes) {
  EXPECT_EQ(ReadFile("/no/such/file").status().message(),
            "open /no/such/file: no such file or directory");
  EXPECT_EQ(ReadFile("/tmp").status().message(), "read /tmp: is a directory");
  EXPECT_EQ(ReadFile("/etc/passwd/x").status().message(), "open /etc/passwd/x: not a directory");
}

TEST_F(FileTest, WritesForItsOwnerAlone) {
  ASSERT_TRUE(WriteFile(path_, "one").ok());
  ASSERT_TRUE(WriteFile(path_, "two").ok());
  EXPECT_EQ(ReadFile(path_).value(), "two");
  struct stat info {};
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  EXPECT_EQ(WriteFile("/no/such/folder/x", "").message(),
            "open /no/such/folder/x: no such file or directory");
}

TEST_F(FileTest, WritesForOthersAsTheUmaskSays) {
  const mode_t before = umask(027);
  const Status written = WriteSharedFile(path_, "report");
  umask(before);
  ASSERT_TRUE(written.ok()) << written.message();
  EXPECT_EQ(ReadFile(path_).value(), "report");
  struct stat info {};
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0640U);
}

// A process of root that renames a file to /dev/null takes it away from the whole machine.
TEST_F(FileTest, WritesToAPipeAndLeavesItOne) {
  const std::string pipe = path_ + ".pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  EXPECT_TRUE(WriteFile(pipe, "text").ok());
  char text[8] = {};
  EXPECT_EQ(read(reader, text, sizeof(text)), 4);
  EXPECT_STREQ(text, "text");
  close(reader);
  struct stat there {};
  ASSERT_EQ(stat(pipe.c_str(), &there), 0);
  EXPECT_TRUE(S_ISFIFO(there.st_mode));
  unlink(pipe.c_str());
}

TEST(PathTest, RelativePathsStartAtTheFolderOfTheirFile) {
  EXPECT_EQ(FolderOf("/a/b.yaml"), "/a");
  EXPECT_EQ(FolderOf("/b.yaml"), "/");
  EXPECT_EQ(FolderOf("b.yaml"), ".");
  EXPECT_EQ(ResolvePath("/a", "c/d"), "/a/c/d");
  EXPECT_EQ(ResolvePath("/", "c"), "/c");
  EXPECT_EQ(ResolvePath("/a", "/c"), "/c");
  EXPECT_EQ(ResolvePath("/a", ""), "");
}

TEST(ErrnoTextTest, BeginsInLowerCase) {
  EXPECT_EQ(ErrnoText(ECONNREFUSED), "connection refused");
  EXPECT_EQ(ErrnoText(ENOENT), "no such file or directory");
}

}  // namespace
}  // namespace portcullis::base
