// SPDX-License-Identifier: Apache-2.0

// The embedded store with encryption at rest.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/strings.h"
#include "base/testing/temporary_folder.h"
#include "store/at_rest.h"
#include "store/embedded/embedded_store.h"
#include "store/encryption/encryption.h"
#include "store/readable.h"
#include "store/testing/objects.h"

namespace portcullis::store {
namespace {

using testing::ConfigMap;
using testing::Encode;
using ::testing::HasSubstr;

constexpr Collection kSecrets{"", "secrets"};
Key Secret(std::string_view name) { return {"", "secrets", "n", name}; }

// Keys of aesgcm by their names, the first of which writes; then identity.
std::shared_ptr<Encryption> Keys(const std::vector<std::string>& names) {
  EncryptionProvider aesgcm{EncryptionProvider::Kind::kAesGcm, {}};
  for (const std::string& name : names) aesgcm.keys.push_back({name, name + "23456789abcdefg"});
  auto made = Encryption::Make(
      {{{{{"", "secrets"}}, {aesgcm, {EncryptionProvider::Kind::kIdentity, {}}}}}});
  EXPECT_TRUE(made.ok()) << made.status().message();
  return *made;
}

class EncryptedStore : public ::testing::Test {
 protected:
  std::unique_ptr<Store> Open(std::shared_ptr<const Transformer> transformer) const {
    Options options;
    options.transformer = std::move(transformer);
    auto opened = OpenEmbedded(path_, options);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    return opened.ok() ? std::move(opened).value() : nullptr;
  }
  // The bytes of the database and of its log.
  std::string OnDisk() const {
    std::string bytes = *base::ReadFile(path_);
    if (auto log = base::ReadFile(path_ + "-wal"); log.ok()) bytes += *log;
    return bytes;
  }

  base::TemporaryFolder folder_;
  const std::string path_ = folder_.path() + "/store.db";
};

TEST_F(EncryptedStore, KeepsNoPlainValueOnTheDisk) {
  auto store = Open(Keys({"a"}));
  ASSERT_TRUE(store->Create(Secret("s"), Encode("n", "s", "VERYSECRET1")).ok());
  ASSERT_TRUE(store->Update(Secret("s"), Encode("n", "s", "VERYSECRET2"), {}).ok());
  ASSERT_TRUE(store->Create(ConfigMap("n", "c"), Encode("n", "c", "WELLKNOWN")).ok());
  EXPECT_EQ(store->Get(Secret("s"))->document()["data"]["value"].AsString(), "VERYSECRET2");
  EXPECT_THAT(OnDisk(), HasSubstr("k8s:enc:aesgcm:v1:a:"));
  EXPECT_THAT(OnDisk(), HasSubstr("WELLKNOWN"));
  EXPECT_EQ(OnDisk().find("VERYSECRET"), std::string::npos);
  store.reset();
  EXPECT_EQ(OnDisk().find("VERYSECRET"), std::string::npos);

  store = Open(Keys({"a"}));
  const ObjectPtr secret = store->Get(Secret("s"));
  ASSERT_NE(secret, nullptr);
  EXPECT_EQ(secret->revision(), 3);
  EXPECT_EQ(secret->bytes(), R"({"metadata":{"name":"s","namespace":"n","uid":"uid-s",)"
                             R"("resourceVersion":"3"},"data":{"value":"VERYSECRET2"}})");
}

TEST_F(EncryptedStore, RewritesPlainValuesWithoutLeavingThem) {
  ASSERT_TRUE(Open(nullptr)->Create(Secret("s"), Encode("n", "s", "VERYSECRET")).ok());
  EXPECT_THAT(OnDisk(), HasSubstr("VERYSECRET"));
  auto store = Open(Keys({"a"}));
  EXPECT_TRUE(IsStale(*store, *store->Get(Secret("s"))));
  ASSERT_TRUE(store->Update(Secret("s"), Encode("n", "s", "VERYSECRET"), {}).ok());
  EXPECT_FALSE(IsStale(*store, *store->Get(Secret("s"))));
  store.reset();  // folds the log in
  EXPECT_EQ(OnDisk().find("VERYSECRET"), std::string::npos);
}

TEST_F(EncryptedStore, RotatesKeys) {
  ASSERT_TRUE(Open(Keys({"a"}))->Create(Secret("s"), Encode("n", "s", "x")).ok());
  {
    auto store = Open(Keys({"b", "a"}));
    EXPECT_TRUE(IsStale(*store, *store->Get(Secret("s"))));
    ASSERT_TRUE(store->Update(Secret("s"), Encode("n", "s", "x"), {}).ok());
  }
  auto store = Open(Keys({"b"}));
  EXPECT_FALSE(IsStale(*store, *store->Get(Secret("s"))));
}

TEST_F(EncryptedStore, GoesOnWithoutWhatNoKeyDecrypts) {
  {
    auto store = Open(Keys({"a"}));
    ASSERT_TRUE(store->Create(Secret("s"), Encode("n", "s", "x")).ok());
    ASSERT_TRUE(store->Create(ConfigMap("n", "c"), Encode("n", "c", "y")).ok());
    ASSERT_TRUE(store->Create({"", "secrets", "m", "t"}, Encode("m", "t", "x")).ok());
    ASSERT_TRUE(store->Delete({"", "secrets", "m", "t"}, {}).ok());
  }
  {
    auto store = Open(nullptr);
    constexpr std::string_view kWhy =
        "Internal error occurred: identity transformer tried to read encrypted data";
    EXPECT_EQ(store->Get(Secret("s")), nullptr);
    EXPECT_EQ(GetReadable(*store, Secret("s")).status().message(), kWhy);
    EXPECT_TRUE(GetReadable(*store, Secret("other")).ok());
    constexpr std::string_view kWhichAndWhy =
        "Internal error occurred: unable to transform key \"/registry/secrets/n/s\": identity "
        "transformer tried to read encrypted data";
    EXPECT_EQ(store->ListPage({kSecrets}).status().message(), kWhichAndWhy);
    EXPECT_EQ(ListReadable(*store, kSecrets).status().message(), kWhichAndWhy);
    EXPECT_EQ(ListReadable(*store, kSecrets, "n").status().message(), kWhichAndWhy);
    // Neither are these, whatever their names begin with.
    EXPECT_TRUE(store->ListPage({kSecrets, "m"}).ok());
    EXPECT_TRUE(ListReadable(*store, kSecrets, "m").ok());
    EXPECT_TRUE(ListReadable(*store, kSecrets, "n2").ok());
    EXPECT_TRUE(ListReadable(*store, {"", "secret"}).ok());
    EXPECT_TRUE(ListReadable(*store, {"", "configmaps"}, "n").ok());
    EXPECT_NE(store->Get(ConfigMap("n", "c")), nullptr);
    EXPECT_EQ(store->Create(Secret("s"), Encode("n", "s")).status().message(),
              "secrets \"s\" already exists");
    EXPECT_EQ(store->Update(Secret("s"), Encode("n", "s"), {}).status().message(), kWhy);
    EXPECT_EQ(store->Delete(Secret("s"), {}).status().message(), kWhy);
    EXPECT_EQ((*store->Create(Secret("u"), Encode("n", "u")))->revision(), 6);
  }
  auto store = Open(Keys({"b"}));
  EXPECT_EQ(store->WhyUnreadable(Secret("s")).message(),
            "Internal error occurred: no matching key was found for the provided AES transformer");
  store.reset();
  store = Open(Keys({"b", "a"}));
  ASSERT_NE(store->Get(Secret("s")), nullptr);
  EXPECT_EQ(store->Get(Secret("s"))->revision(), 2);
  EXPECT_EQ(store->revision(), 6);
}

TEST_F(EncryptedStore, RefusesAValueThatWasMovedToAnotherObject) {
  {
    auto store = Open(Keys({"a"}));
    ASSERT_TRUE(store->Create(Secret("s"), Encode("n", "s", "x")).ok());
  }
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, "UPDATE objects SET name='t'", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(db);
  Options options;
  options.transformer = Keys({"a"});
  // Its checksum is the first thing that is wrong with it.
  EXPECT_THAT(OpenEmbedded(path_, options).status().message(), HasSubstr("secrets \"n/t\""));
}

TEST_F(EncryptedStore, CopiesItselfWhileItIsWrittenTo) {
  auto store = Open(Keys({"a"}));
  for (int i = 0; i < 200; ++i) {
    const std::string name = "s" + std::to_string(i);
    ASSERT_TRUE(
        store->Create(Secret(name), Encode("n", name, "VERYSECRET" + std::string(60000, 'x')))
            .ok());
  }
  const std::string copy = folder_.path() + "/copy.db";
  ASSERT_TRUE(Backup(*store, copy).ok());
  EXPECT_EQ(Backup(*store, copy).message(), base::StrCat("open ", copy, ": file exists"));
  EXPECT_EQ(base::ReadFile(copy)->find("VERYSECRET"), std::string::npos);
  ASSERT_TRUE(store->Create(ConfigMap("n", "later"), Encode("n", "later")).ok());

  Options options;
  options.transformer = Keys({"a"});
  auto opened = OpenEmbedded(copy, options);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_EQ((*opened)->Count(kSecrets), 200U);
  EXPECT_EQ((*opened)->revision(), 201);
  EXPECT_EQ((*opened)->Get(Secret("s7"))->bytes(), store->Get(Secret("s7"))->bytes());
}

}  // namespace
}  // namespace portcullis::store
