// SPDX-License-Identifier: Apache-2.0

// Every file of fuzz/corpus/<name>/ goes through its fuzz target, in the ordinary build and without
// libFuzzer. A target aborts where it finds a bug: the last line "[ RUN ]" names the file then.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

using Target = int (*)(const unsigned char* data, std::size_t size);

struct Row {
  const char* name;
  Target run;
};

// fuzz_targets.inc has one line per *_fuzz.cc (CMakeLists.txt), whose entry point is renamed.
#define PC_FUZZ_TARGET(name) \
  extern "C" int LLVMFuzzerTestOneInput_##name(const unsigned char* data, std::size_t size);
#include "fuzz_targets.inc"
#undef PC_FUZZ_TARGET

constexpr Row kTargets[] = {
#define PC_FUZZ_TARGET(name) {#name, LLVMFuzzerTestOneInput_##name},
#include "fuzz_targets.inc"
#undef PC_FUZZ_TARGET
};

struct Seed {
  Row target;
  std::filesystem::path file;  // empty: an input of no bytes
};

std::vector<Seed> Seeds() {
  std::vector<Seed> seeds;
  for (const Row& target : kTargets) {
    seeds.push_back({target, {}});
    std::error_code error;
    const auto folder = std::filesystem::path(PC_SOURCE_DIR) / "fuzz/corpus" / target.name;
    for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
         it.increment(error)) {
      seeds.push_back({target, it->path()});
    }
  }
  std::sort(seeds.begin(), seeds.end(),
            [](const Seed& a, const Seed& b) { return a.file < b.file; });
  return seeds;
}

std::string NameOf(const testing::TestParamInfo<Seed>& info) {
  std::string name = std::string(info.param.target.name) + "__" +
                     (info.param.file.empty() ? "no_bytes" : info.param.file.filename().string());
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name + "_" + std::to_string(info.index);
}

class Corpus : public testing::TestWithParam<Seed> {};

TEST_P(Corpus, PassesItsTarget) {
  std::string bytes;
  if (!GetParam().file.empty()) {
    std::ifstream in(GetParam().file, std::ios::binary);
    ASSERT_TRUE(in.good()) << GetParam().file;
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  EXPECT_EQ(
      GetParam().target.run(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()), 0);
}

INSTANTIATE_TEST_SUITE_P(Fuzz, Corpus, testing::ValuesIn(Seeds()), NameOf);

TEST(FuzzCorpus, HasAFolderForEveryTarget) {
  for (const Row& target : kTargets) {
    EXPECT_TRUE(std::filesystem::is_directory(std::filesystem::path(PC_SOURCE_DIR) / "fuzz/corpus" /
                                              target.name))
        << target.name;
  }
}

}  // namespace
