// SPDX-License-Identifier: Apache-2.0

// What the embedded store does beyond the contract: it survives, and says clearly when it cannot.

#include "store/embedded/embedded_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include "base/testing/temporary_folder.h"
#include "store/embedded/checksum.h"
#include "store/testing/objects.h"

extern char** environ;

namespace portcullis::store {
namespace {

namespace fs = std::filesystem;
using testing::ConfigMap;
using testing::Encode;
const Collection kConfigMaps{"", "configmaps"};
constexpr const char* kChildPath = "PC_STORE_TEST_CHILD";

class EmbeddedStore : public ::testing::Test {
 protected:
  std::unique_ptr<Store> Open() const { return Open(path_); }
  static std::unique_ptr<Store> Open(const std::string& path) {
    auto opened = OpenEmbedded(path);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    return opened.ok() ? std::move(opened).value() : nullptr;
  }
  static std::string ErrorOf(const std::string& path) {
    auto opened = OpenEmbedded(path);
    return opened.ok() ? "no error" : opened.status().message();
  }
  void Execute(const char* sql) const {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
  }

  base::TemporaryFolder folder_;
  const std::string path_ = folder_.path() + "/store.db";
};

TEST_F(EmbeddedStore, KeepsObjectsAndRevisionOverARestart) {
  {
    auto store = Open();
    ASSERT_TRUE(store->Create(ConfigMap("n", "a"), Encode("n", "a", "1")).ok());
    ASSERT_TRUE(store->Create(ConfigMap("n", "b"), Encode("n", "b")).ok());
    ASSERT_TRUE(store->Update(ConfigMap("n", "a"), Encode("n", "a", "2"), {}).ok());
    ASSERT_TRUE(store->Create({"apps", "deployments", "n", "d"}, Encode("n", "d")).ok());
    ASSERT_TRUE(store->Delete(ConfigMap("n", "b"), {}).ok());
  }
  auto store = Open();
  EXPECT_EQ(store->revision(), 6);
  EXPECT_EQ(testing::Names(store->List(kConfigMaps)), std::vector<std::string>{"n/a"});
  EXPECT_EQ(store->Get(ConfigMap("n", "a"))->document()["data"]["value"].AsString(), "2");
  EXPECT_EQ(store->Get(ConfigMap("n", "a"))->revision(), 4);
  EXPECT_EQ(store->Count({"apps", "deployments"}), 1U);
  EXPECT_EQ((*store->Create(ConfigMap("n", "c"), Encode("n", "c")))->revision(), 7);
}

TEST_F(EmbeddedStore, RemembersWhichObjectsLackDefaults) {
  const auto expect_marked = [](const Store& store) {
    const auto marked = store.Get(ConfigMap("n", "a"));
    EXPECT_TRUE(marked->lacks_defaults());
    EXPECT_TRUE(marked->bytes().ends_with('}')) << marked->bytes();
    EXPECT_FALSE(store.Get(ConfigMap("n", "b"))->lacks_defaults());
  };
  {
    auto store = Open();
    Encoded noted = Encode("n", "a");
    noted.bytes += ' ';
    ASSERT_TRUE(store->Create(ConfigMap("n", "a"), noted).ok());
    ASSERT_TRUE(store->Create(ConfigMap("n", "b"), Encode("n", "b")).ok());
    expect_marked(*store);
  }
  expect_marked(*Open());
}

TEST_F(EmbeddedStore, ForgetsTheHistoryAtARestart) {
  {
    auto store = Open();
    ASSERT_TRUE(store->Create(ConfigMap("n", "a"), Encode("n", "a")).ok());
  }
  auto store = Open();
  auto watch = store->StartWatch({kConfigMaps, {}, 1}, [] {});
  EXPECT_EQ(watch.status().message(), "too old resource version: 1 (2)");
  EXPECT_TRUE(store->StartWatch({kConfigMaps, {}, 2}, [] {}).ok());
}

TEST_F(EmbeddedStore, RefusesAFileThatIsInUse) {
  auto store = Open();
  EXPECT_EQ(ErrorOf(path_), "database " + path_ +
                                " is in use by another process; stop that server or choose another "
                                "folder");
}

TEST_F(EmbeddedStore, RefusesWhatIsNoDatabase) {
  std::ofstream(path_) << std::string(20000, 'x');
  EXPECT_EQ(ErrorOf(path_), "database " + path_ +
                                " is not a database; move the file away or choose another folder");
}

TEST_F(EmbeddedStore, RefusesADatabaseOfSomebodyElse) {
  Execute("CREATE TABLE t(x)");
  EXPECT_EQ(ErrorOf(path_), "database " + path_ +
                                " was made by another program; choose another "
                                "folder");
}

TEST_F(EmbeddedStore, RefusesANewerFormat) {
  Open().reset();
  Execute(("UPDATE meta SET value=99, checksum=" + std::to_string(ChecksumOfMeta("format", 99)) +
           " WHERE name='format'")
              .c_str());
  EXPECT_EQ(ErrorOf(path_),
            "database " + path_ +
                " has format 99, written by a newer version; this one knows formats up to 3: use "
                "the newer version, or another folder");
}

TEST_F(EmbeddedStore, RefusesAFolderThatIsMissing) {
  const std::string path = folder_.path() + "/none/store.db";
  EXPECT_EQ(ErrorOf(path), "cannot open database " + path +
                               ": No such file or directory; the folder must exist and be "
                               "writable for this user");
}

TEST_F(EmbeddedStore, NoticesDamage) {
  {
    auto store = Open();
    for (int i = 0; i < 200; ++i) {
      const std::string name = std::to_string(i);
      ASSERT_TRUE(
          store->Create(ConfigMap("n", name), Encode("n", name, std::string(500, 'v'))).ok());
    }
  }
  const auto size = fs::file_size(path_);
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(size / 2));
  file << std::string(40000, '\xff');
  file.close();

  EXPECT_NE(ErrorOf(path_).find("database " + path_ + " is damaged ("), std::string::npos)
      << ErrorOf(path_);
}

// Three objects, and the middle one's bytes with a bit flipped behind the checksum's back.
class DamagedStore : public EmbeddedStore {
 protected:
  void SetUp() override {
    auto store = Open();
    for (const char* name : {"a", "b", "c"}) {
      ASSERT_TRUE(store->Create(ConfigMap("n", name), Encode("n", name, "value")).ok());
    }
    store.reset();
  }
  std::unique_ptr<Store> OpenWithout(std::size_t& set_aside) const {
    Options options;
    options.skip_damaged = true;
    auto opened = OpenEmbedded(path_, options, &set_aside);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    return opened.ok() ? std::move(opened).value() : nullptr;
  }
  std::string Refusal(std::string_view what) const {
    return "database " + path_ + " is damaged (" + std::string(what) +
           "); restore it from a copy, or start with --skip-damaged-objects to go on without what "
           "is named here";
  }
};

TEST_F(DamagedStore, NamesTheObjectWhoseBytesHaveChanged) {
  Execute("UPDATE objects SET bytes=CAST(replace(bytes,'value','vblue') AS BLOB) WHERE name='b'");
  EXPECT_EQ(ErrorOf(path_), Refusal(R"(configmaps "n/b" of revision 3)"));
  EXPECT_EQ(ErrorOf(path_), Refusal(R"(configmaps "n/b" of revision 3)"));  // nothing has changed
}

TEST_F(DamagedStore, NoticesEveryColumn) {
  Execute("UPDATE objects SET revision=9 WHERE name='a'");
  EXPECT_EQ(ErrorOf(path_), Refusal(R"(configmaps "n/a" of revision 9)"));
  Execute("UPDATE objects SET revision=2 WHERE name='a'");
  Execute("UPDATE objects SET name='aa' WHERE name='a'");
  EXPECT_EQ(ErrorOf(path_), Refusal(R"(configmaps "n/aa" of revision 2)"));
  Execute("UPDATE objects SET name='a', namespace='m' WHERE name='aa'");
  EXPECT_EQ(ErrorOf(path_), Refusal(R"(configmaps "m/a" of revision 2)"));
  Execute("UPDATE objects SET namespace='n', revision_at=revision_at+1 WHERE name='a'");
  EXPECT_EQ(ErrorOf(path_), Refusal(R"(configmaps "n/a" of revision 2)"));
  Execute("UPDATE objects SET revision_at=revision_at-1, checksum=checksum+1 WHERE name='a'");
  EXPECT_EQ(ErrorOf(path_), Refusal(R"(configmaps "n/a" of revision 2)"));
  Execute("UPDATE objects SET checksum=checksum-1 WHERE name='a'");
  EXPECT_NE(Open(), nullptr);
}

TEST_F(DamagedStore, GoesOnWithoutTheObjectIfAsked) {
  Execute("UPDATE objects SET bytes=CAST(replace(bytes,'value','vblue') AS BLOB) WHERE name='b'");
  std::size_t set_aside = 0;
  auto store = OpenWithout(set_aside);
  EXPECT_EQ(set_aside, 1U);
  EXPECT_EQ(testing::Names(store->List(kConfigMaps)), (std::vector<std::string>{"n/a", "n/c"}));
  EXPECT_EQ((*store->Create(ConfigMap("n", "b"), Encode("n", "b")))->revision(), 5);
  store.reset();
  // The row is kept, and later starts need not be told.
  EXPECT_EQ(Open()->Count(kConfigMaps), 3U);
  store = OpenWithout(set_aside);
  EXPECT_EQ(set_aside, 1U);
}

TEST_F(DamagedStore, LosesOneCollectionWithItsName) {
  Open()->Create({"apps", "deployments", "n", "d"}, Encode("n", "d")).value();
  Execute("UPDATE collections SET resource='configmops' WHERE resource='configmaps'");
  EXPECT_NE(ErrorOf(path_).find(R"(the name of collection 1, "configmops")"), std::string::npos);
  std::size_t set_aside = 0;
  auto store = OpenWithout(set_aside);
  EXPECT_EQ(set_aside, 3U);
  EXPECT_EQ(store->Count({"apps", "deployments"}), 1U);
  ASSERT_TRUE(store->Create(ConfigMap("n", "new"), Encode("n", "new")).ok());
  store.reset();
  store = Open();
  EXPECT_EQ(testing::Names(store->List(kConfigMaps)), std::vector<std::string>{"n/new"});
  EXPECT_EQ(store->Count({"apps", "deployments"}), 1U);
}

TEST_F(DamagedStore, MovesTheRevisionOnIfItIsNoLongerKnown) {
  Execute("UPDATE meta SET value=0 WHERE name='revision'");
  EXPECT_EQ(ErrorOf(path_), Refusal("the revision in meta"));
  std::size_t set_aside = 0;
  EXPECT_EQ(OpenWithout(set_aside)->revision(), 1'000'004);
  EXPECT_EQ(Open()->revision(), 1'000'004);
}

TEST_F(DamagedStore, FindsAnyFlippedBit) {
  const auto size = fs::file_size(path_);
  std::string whole(size, '\0');
  std::ifstream(path_, std::ios::binary).read(whole.data(), static_cast<std::streamsize>(size));
  const std::string copy = folder_.path() + "/copy.db";
  const auto before = [&] {
    std::map<std::string, std::string> content;
    for (const auto& object : Open()->List(kConfigMaps)) {
      content[std::string(object->name())] = object->bytes();
    }
    return content;
  }();
  int noticed = 0;
  for (std::size_t at = 37; at < size; at += 397) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ (1 << (at % 8)));
    std::ofstream(copy, std::ios::binary) << changed;
    auto opened = OpenEmbedded(copy);
    noticed += opened.ok() ? 0 : 1;
    if (!opened.ok()) continue;
    ASSERT_EQ((*opened)->Count(kConfigMaps), before.size()) << at;
    for (const auto& object : (*opened)->List(kConfigMaps)) {
      ASSERT_EQ(before.at(std::string(object->name())), object->bytes()) << at;
    }
    opened->reset();
    fs::remove(copy + "-wal");
  }
  EXPECT_GT(noticed, 0);
}

TEST_F(EmbeddedStore, RefusesAnEmptyFile) {
  std::ofstream(path_).close();
  EXPECT_EQ(ErrorOf(path_), "database " + path_ +
                                " has 0 bytes: it was cut short, for new ones are never so; "
                                "restore it from a copy, or remove it to start empty");
}

TEST_F(EmbeddedStore, RefusesALogWithoutItsDatabase) {
  std::ofstream(path_ + "-wal") << "frames";
  EXPECT_EQ(ErrorOf(path_), "database " + path_ + " is missing, but its log " + path_ +
                                "-wal is there; restore both from a copy, or remove the log to "
                                "start empty");
}

TEST_F(EmbeddedStore, RefusesADatabaseWithoutTables) {
  Execute("PRAGMA user_version=1");
  EXPECT_NE(ErrorOf(path_).find("was made by another program"), std::string::npos);
}

TEST_F(EmbeddedStore, RefusesEveryTruncation) {
  {
    auto store = Open();
    for (int i = 0; i < 50; ++i) {
      const std::string name = std::to_string(i);
      ASSERT_TRUE(
          store->Create(ConfigMap("n", name), Encode("n", name, std::string(5000, 'v'))).ok());
    }
  }
  const auto size = fs::file_size(path_);
  for (std::uintmax_t cut = 0; cut < size; cut += 5003) {
    fs::copy_file(path_, path_ + "x", fs::copy_options::overwrite_existing);
    fs::resize_file(path_ + "x", cut);
    EXPECT_NE(ErrorOf(path_ + "x"), "no error") << cut;
    fs::remove(path_ + "x-wal");
  }
}

TEST_F(EmbeddedStore, IsNotMisledByAFileThatWasNeverFinished) {
  std::ofstream(path_ + ".new") << "half of a database";
  EXPECT_EQ(Open()->revision(), 1);
  EXPECT_FALSE(fs::exists(path_ + ".new"));
  EXPECT_EQ(fs::status(path_).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

// What version 0.1.0 has written: no checksums.
constexpr const char* kFormatOne =
    "PRAGMA page_size=16384; PRAGMA journal_mode=WAL;"
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE collections(id INTEGER PRIMARY KEY, api_group TEXT NOT NULL,"
    " resource TEXT NOT NULL, UNIQUE(api_group, resource));"
    "CREATE TABLE objects(revision INTEGER PRIMARY KEY, collection INTEGER NOT NULL,"
    " namespace TEXT NOT NULL, name TEXT NOT NULL, revision_at INTEGER NOT NULL,"
    " bytes BLOB NOT NULL);"
    "INSERT INTO meta VALUES('format', 1), ('revision', 7);"
    "PRAGMA application_id=1346589524;"
    "INSERT INTO collections VALUES(1, '', 'configmaps'), (2, 'apps', 'deployments');"
    "INSERT INTO objects VALUES(2, 1, 'n', 'a', 32,"
    " CAST('{\"metadata\":{\"resourceVersion\":\"2\"}}' AS BLOB)),"
    " (5, 2, 'n', 'd', 32, CAST('{\"metadata\":{\"resourceVersion\":\"5\"}}' AS BLOB));";

TEST_F(EmbeddedStore, UpgradesTheFirstFormat) {
  Execute(kFormatOne);
  {
    auto store = Open();
    EXPECT_EQ(store->revision(), 7);
    EXPECT_EQ(testing::Names(store->List(kConfigMaps)), std::vector<std::string>{"n/a"});
    EXPECT_EQ(store->Get({"apps", "deployments", "n", "d"})->revision(), 5);
    EXPECT_EQ((*store->Create(ConfigMap("n", "b"), Encode("n", "b")))->revision(), 8);
  }
  EXPECT_EQ(Open()->Count(kConfigMaps), 2U);
  Execute("UPDATE objects SET bytes=CAST(replace(bytes,'{','[') AS BLOB) WHERE name='d'");
  EXPECT_NE(ErrorOf(path_).find(R"(deployments.apps "n/d" of revision 5)"), std::string::npos);
}

TEST_F(EmbeddedStore, LeavesADamagedFileOfTheFirstFormatAsItIs) {
  Execute(kFormatOne);
  Execute("UPDATE objects SET bytes=CAST(replace(bytes,'{','[') AS BLOB) WHERE name='d'");
  EXPECT_NE(ErrorOf(path_).find(R"(deployments.apps "n/d" of revision 5)"), std::string::npos);
  Execute("INSERT INTO meta VALUES('other', 1)");  // would fail in the second format
}

TEST_F(EmbeddedStore, RefusesOneWriteThatCannotBeStored) {
  Open().reset();
  Execute(
      "CREATE TRIGGER refuse BEFORE INSERT ON objects WHEN NEW.name='bad'"
      " BEGIN SELECT RAISE(ABORT, 'bad'); END");
  auto store = Open();
  EXPECT_FALSE(store->Create(ConfigMap("n", "bad"), Encode("n", "bad")).ok());
  EXPECT_TRUE(store->Health().ok());
  EXPECT_EQ((*store->Create(ConfigMap("n", "good"), Encode("n", "good")))->revision(), 2);
}

// A power cut leaves any prefix of what was appended to the write-ahead log.
TEST_F(EmbeddedStore, RecoversAPrefixOfTheCommitsFromATornLog) {
  auto store = Open();
  for (int i = 0; i < 20; ++i) {
    const std::string name = std::to_string(100 + i);
    ASSERT_TRUE(store->Create(ConfigMap("n", name), Encode("n", name)).ok());
  }
  const auto full = fs::file_size(path_ + "-wal");
  const std::string copy = folder_.path() + "/copy.db";
  std::size_t before = 0;
  for (std::uintmax_t cut = 0; cut <= full; cut += 9001) {
    fs::copy_file(path_, copy, fs::copy_options::overwrite_existing);
    fs::copy_file(path_ + "-wal", copy + "-wal", fs::copy_options::overwrite_existing);
    fs::resize_file(copy + "-wal", cut);
    auto recovered = Open(copy);
    ASSERT_NE(recovered, nullptr) << "cut at " << cut;
    const auto objects = recovered->List(kConfigMaps);
    EXPECT_GE(objects.size(), before);
    before = objects.size();
    EXPECT_EQ(recovered->revision(), static_cast<std::int64_t>(1 + objects.size()));
    for (std::size_t i = 0; i < objects.size(); ++i) {
      EXPECT_EQ(objects[i]->name(), std::to_string(100 + i));
    }
  }
  EXPECT_GE(before, 18U);
}

// A file that may not grow stands for a full disk.
TEST_F(EmbeddedStore, SaysThatItCannotWriteAndGoesOnLater) {
  ::signal(SIGXFSZ, SIG_IGN);
  auto store = Open();
  ASSERT_TRUE(store->Create(ConfigMap("n", "a"), Encode("n", "a")).ok());
  rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  rlimit tight = old;
  tight.rlim_cur = 1000;
  ::setrlimit(RLIMIT_FSIZE, &tight);
  auto refused = store->Create(ConfigMap("n", "b"), Encode("n", "b"));
  ::setrlimit(RLIMIT_FSIZE, &old);

  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().reason(), base::Reason::kInternalError);
  EXPECT_NE(refused.status().message().find("cannot write database " + path_), std::string::npos);
  EXPECT_FALSE(store->Health().ok());
  EXPECT_EQ(store->Get(ConfigMap("n", "b")), nullptr);
  EXPECT_EQ(store->revision(), 2);

  EXPECT_EQ((*store->Create(ConfigMap("n", "b"), Encode("n", "b")))->revision(), 3);
  EXPECT_TRUE(store->Health().ok());
  store.reset();
  EXPECT_EQ(Open()->revision(), 3);
}

// The body of the process that the next test kills: writes for ever and prints what was
// acknowledged.
TEST_F(EmbeddedStore, DISABLED_WritesUntilKilled) {
  const char* path = std::getenv(kChildPath);
  ASSERT_NE(path, nullptr);
  auto store = Open(path);
  ASSERT_NE(store, nullptr);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0;; ++i) {
        const std::string ns = "n" + std::to_string(t);
        const std::string name = std::to_string(i);
        if (!store->Create(ConfigMap(ns, name), Encode(ns, name)).ok()) return;
        if (i > 10 && !store->Delete(ConfigMap(ns, std::to_string(i - 10)), {}).ok()) return;
        const std::string line = "acknowledged " + ns + "/" + name + "\n";
        if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) return;
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST_F(EmbeddedStore, LosesNothingAcknowledgedWhenKilled) {
  for (int round = 0; round < 3; ++round) {
    const std::string path = folder_.path() + "/" + std::to_string(round) + ".db";
    ASSERT_EQ(::setenv(kChildPath, path.c_str(), 1), 0);
    int out[2];
    ASSERT_EQ(::pipe(out), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, out[0]);
    char program[] = "/proc/self/exe";
    char filter[] = "--gtest_filter=EmbeddedStore.DISABLED_WritesUntilKilled";
    char also[] = "--gtest_also_run_disabled_tests";
    char* arguments[] = {program, filter, also, nullptr};
    pid_t child = 0;
    ASSERT_EQ(::posix_spawn(&child, program, &actions, nullptr, arguments, environ), 0);
    ::close(out[1]);

    std::string printed;
    char buffer[4096];
    const std::size_t enough = 3000U * static_cast<std::size_t>(round + 1);
    ssize_t size = 1;
    while (printed.size() < enough && (size = ::read(out[0], buffer, sizeof buffer)) > 0) {
      printed.append(buffer, static_cast<std::size_t>(size));
    }
    ::kill(child, SIGKILL);
    while ((size = ::read(out[0], buffer, sizeof buffer)) > 0) {
      printed.append(buffer, static_cast<std::size_t>(size));
    }
    ::close(out[0]);
    ::waitpid(child, nullptr, 0);
    posix_spawn_file_actions_destroy(&actions);
    ASSERT_GE(printed.size(), enough) << printed;

    // The last names a thread has printed must be there; older ones it has deleted itself.
    auto store = Open(path);
    ASSERT_NE(store, nullptr);
    std::map<std::string, int> last;
    std::istringstream lines(printed);
    std::string word, position;
    while (lines >> word) {
      if (word != "acknowledged" || !(lines >> position)) continue;
      last[position.substr(0, 2)] = std::stoi(position.substr(3));
    }
    ASSERT_EQ(last.size(), 4U);
    for (const auto& [ns, number] : last) {
      for (int i = std::max(1, number - 8); i <= number; ++i) {
        EXPECT_NE(store->Get(ConfigMap(ns, std::to_string(i))), nullptr) << ns << "/" << i;
      }
      if (number > 10) {
        EXPECT_EQ(store->Get(ConfigMap(ns, std::to_string(number - 10))), nullptr);
      }
    }
  }
}

}  // namespace
}  // namespace portcullis::store
