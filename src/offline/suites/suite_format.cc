// SPDX-License-Identifier: Apache-2.0

#include "offline/suites/suite_format.h"

#include <filesystem>
#include <map>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file.h"

namespace portcullis::offline {
namespace {

std::string FileOf(const Manifest& document) { return document.source->path(); }
std::string FolderOf(const Manifest& document) { return base::FolderOf(FileOf(document)); }

constexpr SuiteFormat kFormats[] = {
    {"portcullis", "kind Test of portcullis.dev/v1", &IsNativeTest, &ReadNativeTest},
    {"kyverno", "kyverno-test.yaml", &IsKyvernoTest, &ReadKyvernoTest},
    {"gator", "kind Suite of test.gatekeeper.sh", &IsGatorSuite, &ReadGatorSuite},
    {"kat", "files named POLICY.TEST.VERDICT.ROLE.yaml", &IsKatFile, &ReadKatFiles, &FolderOf},
    {"kaptest", "kaptest.yaml", &IsKaptest, &ReadKaptest},
    {"kubescape", "tests.json", &IsKubescapeTests, &ReadKubescapeTests},
    {"vap-library", "policy_test.go", &IsVapLibraryTest, &ReadVapLibraryTest},
    {"chainsaw", "kind Test of chainsaw.kyverno.io", &IsChainsawTest, &ReadChainsawTest},
    {"audit", "audit logs", &IsAuditEvent, &ReadAuditLog, &FileOf},
};

// Documents that are read together, in the order of the first of each.
std::vector<std::vector<Manifest>> GroupsOf(std::span<const Manifest> documents) {
  std::vector<std::vector<Manifest>> groups;
  std::map<std::pair<const SuiteFormat*, std::string>, std::size_t> known;
  for (const Manifest& document : documents) {
    const SuiteFormat* format = FormatOf(document);
    if (format == nullptr) continue;
    if (format->group != nullptr) {
      const auto [at, is_new] = known.try_emplace({format, format->group(document)}, groups.size());
      if (!is_new) {
        groups[at->second].push_back(document);
        continue;
      }
    }
    groups.push_back({document});
  }
  return groups;
}

class DiskAccess final : public FileAccess {
 public:
  Inputs Read(const InputOptions& options) const override { return ReadInputs(options); }
  base::Result<std::string> Text(const std::string& path) const override {
    return base::ReadFile(path);
  }
  bool IsFolder(const std::string& path) const override {
    std::error_code error;
    return std::filesystem::is_directory(path, error);
  }
};

}  // namespace

const FileAccess& Disk() {
  static const DiskAccess kDisk;
  return kDisk;
}

std::span<const SuiteFormat> SuiteFormats() { return kFormats; }

bool IsGoTest(std::string_view path) { return path.ends_with("_test.go"); }

const SuiteFormat* FormatOf(const Manifest& document) {
  for (const SuiteFormat& format : kFormats) {
    if (format.claims(document)) return &format;
  }
  return nullptr;
}

Suites ReadSuites(std::span<const Manifest> documents, const FileAccess& files) {
  Suites suites;
  suites.files = &files;
  for (const std::vector<Manifest>& group : GroupsOf(documents)) {
    Location wrong;
    const base::Status read = FormatOf(group.front())->read(group, wrong, suites);
    if (!read.ok()) suites.problems.push_back({wrong, read.message()});
  }
  return suites;
}

}  // namespace portcullis::offline
