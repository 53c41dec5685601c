// SPDX-License-Identifier: Apache-2.0

#include "store/embedded/maintenance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/strings.h"
#include "base/testing/temporary_folder.h"
#include "store/embedded/checksum.h"
#include "store/embedded/embedded_store.h"
#include "store/encryption/encryption.h"
#include "store/testing/objects.h"

namespace portcullis::store {
namespace {

using testing::ConfigMap;
using ::testing::ElementsAre;
using testing::Encode;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::shared_ptr<Encryption> MakeEncryption() {
  const EncryptionProvider aesgcm{EncryptionProvider::Kind::kAesGcm, {{"k", "0123456789abcdef"}}};
  return *Encryption::Make({{{{{"", "secrets"}}, {aesgcm}}}});
}

class Maintenance : public ::testing::Test {
 protected:
  // Two ConfigMaps and a Secret; the revision is that of a deletion.
  void Fill(std::shared_ptr<const Transformer> transformer = nullptr) const {
    Options options;
    options.transformer = std::move(transformer);
    const auto store = OpenEmbedded(path_, options);
    ASSERT_TRUE(store.ok()) << store.status().message();
    ASSERT_TRUE((*store)->Create(ConfigMap("n", "a"), Encode("n", "a", "1")).ok());
    ASSERT_TRUE((*store)->Create({"", "secrets", "n", "s"}, Encode("n", "s", "HIDDEN")).ok());
    ASSERT_TRUE((*store)->Create(ConfigMap("n", "b"), Encode("n", "b", "2")).ok());
    ASSERT_TRUE((*store)->Create(ConfigMap("n", "c"), Encode("n", "c", "3")).ok());
    ASSERT_TRUE((*store)->Delete(ConfigMap("n", "c"), {}).ok());
  }
  void Execute(const std::string& sql) const {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(db);
  }
  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  static std::vector<std::string> Texts(const Content& content) {
    std::vector<std::string> texts;
    for (const ObjectPtr& object : content.objects) texts.emplace_back(object->bytes());
    return texts;
  }

  base::TemporaryFolder folder_;
  const std::string path_ = folder_.path() + "/store.db";
  const std::string other_ = folder_.path() + "/other.db";
};

TEST_F(Maintenance, FindsNothingWrongWithASoundDatabase) {
  Fill(MakeEncryption());
  const std::string before = *base::ReadFile(path_);
  const auto report = CheckDatabase(path_, MakeEncryption().get());
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->format, 3);
  EXPECT_EQ(report->revision, 6);
  EXPECT_EQ(report->objects, 3U);
  EXPECT_EQ(report->encrypted, 1U);
  EXPECT_THAT(report->damaged, IsEmpty());
  EXPECT_THAT(report->unreadable, IsEmpty());
  EXPECT_EQ(*base::ReadFile(path_), before);

  const auto keyless = CheckDatabase(path_, nullptr);
  ASSERT_TRUE(keyless.ok());
  EXPECT_EQ(keyless->objects, 2U);
  EXPECT_THAT(keyless->unreadable,
              ElementsAre("/registry/secrets/n/s: identity transformer tried to read encrypted "
                          "data"));
}

TEST_F(Maintenance, NamesWhatIsDamaged) {
  Fill();
  Execute("UPDATE objects SET bytes=replace(bytes,'1','9') WHERE name='a'");
  const auto report = CheckDatabase(path_, nullptr);
  ASSERT_TRUE(report.ok());
  EXPECT_THAT(report->damaged, ElementsAre("configmaps \"n/a\" of revision 2"));
  EXPECT_EQ(report->objects, 2U);
  EXPECT_THAT(ReadDatabase(path_, nullptr).status().message(), HasSubstr("is damaged"));
}

TEST_F(Maintenance, NamesObjectsThatAreNotWhatTheirRowsSay) {
  Content content;
  const auto name = std::make_shared<const CollectionName>(CollectionName{"", "configmaps"});
  const auto add = [&](std::string_view object, std::int64_t revision, std::string_view before,
                       std::string_view after) {
    content.objects.push_back(Object::Make(name, "n", object, revision, before, after));
  };
  constexpr std::string_view kBefore =
      R"({"metadata":{"name":"a","namespace":"n","resourceVersion":")";
  add("a", 2, kBefore, R"("}})");
  add("a", 3, kBefore, R"("}})");
  add("b", 4, kBefore, R"("}})");
  add("c", 5, "{", "");
  content.revision = 5;
  ASSERT_TRUE(WriteDatabase(path_, content, nullptr, false).ok());
  const auto report = CheckDatabase(path_, nullptr);
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->damaged.size(), 3U);
  EXPECT_EQ(report->damaged[0], "/registry/configmaps/n/a of revision 3 is there twice");
  EXPECT_EQ(report->damaged[1],
            "/registry/configmaps/n/b of revision 4 says that it is \"n\"/\"a\"");
  EXPECT_THAT(report->damaged[2], HasSubstr("/registry/configmaps/n/c of revision 5 is no JSON"));
}

TEST_F(Maintenance, WritesWhatItHasRead) {
  Fill();
  const auto content = ReadDatabase(path_, nullptr);
  ASSERT_TRUE(content.ok()) << content.status().message();
  EXPECT_EQ(content->revision, 6);
  ASSERT_TRUE(WriteDatabase(other_, *content, MakeEncryption().get(), false).ok());
  EXPECT_EQ(base::ReadFile(other_)->find("HIDDEN"), std::string::npos);
  const auto again = ReadDatabase(other_, MakeEncryption().get());
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->revision, 6);
  EXPECT_EQ(Texts(*again), Texts(*content));
  EXPECT_EQ(WriteDatabase(other_, *content, nullptr, false).message(),
            base::StrCat("cannot write ", other_, ": there is a file of this name"));
  ASSERT_TRUE(WriteDatabase(other_, Content(), nullptr, true).ok());
  EXPECT_EQ(CheckDatabase(other_, nullptr)->objects, 0U);
  EXPECT_THAT(Files(), ElementsAre("other.db", "store.db"));
}

TEST_F(Maintenance, LeavesNothingOfAFailedWrite) {
  Content content;
  const auto name = std::make_shared<const CollectionName>(CollectionName{"", "configmaps"});
  // Two rows of one revision: the second cannot be inserted.
  for (int i = 0; i < 2; ++i) {
    content.objects.push_back(Object::Make(name, "n", "a", 2, "{", "}"));
  }
  EXPECT_FALSE(WriteDatabase(path_, content, nullptr, false).ok());
  EXPECT_THAT(Files(), IsEmpty());
}

TEST_F(Maintenance, CopiesADatabaseWithItsLog) {
  Fill();
  ASSERT_TRUE(CopyDatabaseFile(path_, other_, false).ok());
  EXPECT_EQ(Texts(*ReadDatabase(other_, nullptr)), Texts(*ReadDatabase(path_, nullptr)));
  EXPECT_EQ(ReadDatabase(other_, nullptr)->revision, 6);
  EXPECT_FALSE(CopyDatabaseFile(path_, other_, false).ok());
  EXPECT_TRUE(CopyDatabaseFile(path_, other_, true).ok());
}

TEST_F(Maintenance, ReplacesADatabaseTogetherWithItsLog) {
  Fill();
  ASSERT_TRUE(CopyDatabaseFile(path_, other_, false).ok());
  // A log that was left behind by a crash must not be taken for that of the new file.
  ASSERT_TRUE(base::WriteFile(path_ + "-wal", std::string(100, 'x')).ok());
  ASSERT_TRUE(CopyDatabaseFile(other_, path_, true).ok());
  EXPECT_THAT(Files(), ElementsAre("other.db", "store.db"));
  EXPECT_EQ(CheckDatabase(path_, nullptr)->objects, 3U);
}

TEST_F(Maintenance, RefusesADatabaseThatIsInUse) {
  Fill();
  const auto store = OpenEmbedded(path_);
  ASSERT_TRUE(store.ok());
  EXPECT_THAT(CheckDatabase(path_, nullptr).status().message(), HasSubstr("in use"));
  EXPECT_THAT(CompactDatabase(path_).message(), HasSubstr("in use"));
  EXPECT_THAT(CopyDatabaseFile(path_, other_, false).message(), HasSubstr("in use"));
  EXPECT_FALSE(std::filesystem::exists(other_));
}

TEST_F(Maintenance, MakesNothingOfADatabaseThatIsNotThere) {
  const std::string text = base::StrCat("database ", path_, " is not there");
  EXPECT_EQ(CheckDatabase(path_, nullptr).status().message(), text);
  EXPECT_EQ(ReadDatabase(path_, nullptr).status().message(), text);
  EXPECT_EQ(CompactDatabase(path_).message(), text);
  EXPECT_EQ(CopyDatabaseFile(path_, other_, false).message(), text);
  EXPECT_THAT(Files(), IsEmpty());
}

TEST_F(Maintenance, CompactsADatabase) {
  {
    const auto store = OpenEmbedded(path_);
    ASSERT_TRUE(store.ok());
    for (int i = 0; i < 50; ++i) {
      const std::string name = "large" + std::to_string(i);
      ASSERT_TRUE(
          (*store)
              ->Create(ConfigMap("n", name), Encode("n", name, "GARBAGE" + std::string(50000, 'x')))
              .ok());
      ASSERT_TRUE((*store)->Delete(ConfigMap("n", name), {}).ok());
    }
    ASSERT_TRUE((*store)->Create(ConfigMap("n", "a"), Encode("n", "a", "1")).ok());
  }
  const auto before = std::filesystem::file_size(path_);
  ASSERT_TRUE(CompactDatabase(path_).ok());
  EXPECT_LT(std::filesystem::file_size(path_), before);
  EXPECT_EQ(base::ReadFile(path_)->find("GARBAGE"), std::string::npos);
  const auto report = CheckDatabase(path_, nullptr);
  EXPECT_EQ(report->objects, 1U);
  EXPECT_EQ(report->revision, 102);
}

TEST_F(Maintenance, LeavesADatabaseOfANewerFormatAsItIs) {
  Fill();
  Execute(base::StrCat("UPDATE meta SET value=99, checksum=",
                       std::to_string(ChecksumOfMeta("format", 99)), " WHERE name='format'"));
  const auto before = base::ReadFile(path_);
  EXPECT_THAT(CompactDatabase(path_).message(), HasSubstr("has format 99"));
  EXPECT_EQ(*base::ReadFile(path_), *before);
}

}  // namespace
}  // namespace portcullis::store
