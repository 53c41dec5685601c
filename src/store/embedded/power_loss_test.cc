// SPDX-License-Identifier: Apache-2.0

// The journal on a disk that loses what was not synced: after every simulated power cut the file
// opens and holds every acknowledged batch and no part of another.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/testing/temporary_folder.h"
#include "store/embedded/sqlite_journal.h"
#include "store/testing/objects.h"
#include "store/testing/power_loss_vfs.h"

namespace portcullis::store {
namespace {

namespace fs = std::filesystem;

// Objects by name; what the file must hold after a batch.
using State = std::map<std::string, ObjectPtr>;

class PowerLoss : public ::testing::Test {
 protected:
  // Commits batches of creations, updates and deletions and remembers what each has led to.
  void Run(Journal& journal, int batches, std::mt19937& random) {
    State state = states_.empty() ? State() : states_.back();
    if (states_.empty()) {
      states_.push_back(state);
      revisions_.push_back(1);
      acknowledged_.push_back(0);
    }
    for (int i = 0; i < batches; ++i) {
      const std::vector<EventPtr> events = NextBatch(state, random);
      std::optional<std::size_t> culprit;
      ASSERT_TRUE(journal.Commit(events, culprit).ok());
      states_.push_back(state);
      revisions_.push_back(revision_);
      acknowledged_.push_back(vfs_.now());
    }
  }

  std::vector<EventPtr> NextBatch(State& state, std::mt19937& random) {
    std::vector<EventPtr> events;
    const std::size_t count = 1 + random() % 6;
    for (std::size_t i = 0; i < count; ++i) {
      const std::string name = "o" + std::to_string(random() % 40);
      const auto found = state.find(name);
      const ObjectPtr previous = found == state.end() ? nullptr : found->second;
      Event event;
      event.revision = ++revision_;
      event.previous = previous;
      if (previous != nullptr && random() % 3 == 0) {
        event.type = EventType::kDeleted;
        event.object = previous->WithRevision(revision_);
        state.erase(found);
      } else {
        const std::size_t size = random() % 10 == 0 ? 30000 : random() % 800;
        event.type = previous == nullptr ? EventType::kAdded : EventType::kModified;
        event.object = Make(name, std::string(size, static_cast<char>('a' + revision_ % 26)));
        state[name] = event.object;
      }
      events.push_back(std::make_shared<const Event>(event));
    }
    return events;
  }

  ObjectPtr Make(const std::string& name, const std::string& value) const {
    const Encoded encoded = testing::Encode("n", name, value);
    const std::string_view bytes = encoded.bytes;
    return Object::Make(revision_ % 2 == 0 ? even_ : odd_, "n", name, revision_,
                        bytes.substr(0, encoded.revision_at), bytes.substr(encoded.revision_at));
  }

  // Opens what the disk may hold if the power fails at that moment; the batch it has come to.
  void Cut(std::size_t moment, std::mt19937& random) {
    const std::string folder = folder_.path() + "/cut";
    fs::remove_all(folder);
    fs::create_directory(folder);
    for (const auto& [path, bytes] : vfs_.DiskAt(moment, random)) {
      std::ofstream(folder + "/" + fs::path(path).filename().string(), std::ios::binary) << bytes;
    }
    auto opened = SqliteJournal::Open(folder + "/store.db", {});
    ASSERT_TRUE(opened.ok()) << "moment " << moment << ": " << opened.status().message();
    State found;
    for (const ObjectPtr& object : opened->content.objects) {
      found[std::string(object->name())] = object;
    }
    // All that was acknowledged, and perhaps the batch that was under way.
    std::size_t batch = 0;
    while (batch + 1 < acknowledged_.size() && acknowledged_[batch + 1] <= moment) ++batch;
    const bool next = batch + 1 < states_.size() && IsState(found, opened->content, batch + 1);
    EXPECT_TRUE(next || IsState(found, opened->content, batch))
        << "moment " << moment << ": neither batch " << batch << " nor the next";
    later_ += next ? 1 : 0;
  }

  bool IsState(const State& found, const Content& content, std::size_t batch) const {
    const State& wanted = states_[batch];
    if (content.revision != revisions_[batch] || found.size() != wanted.size()) return false;
    for (const auto& [name, object] : wanted) {
      const auto it = found.find(name);
      if (it == found.end() || it->second->bytes() != object->bytes()) return false;
    }
    return true;
  }

  base::TemporaryFolder folder_;
  const std::string path_ = folder_.path() + "/store.db";
  std::shared_ptr<const CollectionName> even_ =
      std::make_shared<const CollectionName>(CollectionName{"", "configmaps"});
  std::shared_ptr<const CollectionName> odd_ =
      std::make_shared<const CollectionName>(CollectionName{"apps", "deployments"});
  testing::PowerLossVfs vfs_;
  std::int64_t revision_ = 1;
  std::vector<State> states_;
  std::vector<std::int64_t> revisions_;
  std::vector<std::size_t> acknowledged_;  // the moment of each state
  int later_ = 0;
};

int Cuts() {
  const char* chosen = std::getenv("PC_POWER_CUTS");
  return chosen != nullptr ? std::atoi(chosen) : 30;
}

TEST_F(PowerLoss, KeepsEveryAcknowledgedBatchWholeAndNoPartOfAnother) {
  std::mt19937 random(7);  // NOLINT: the same cuts in every run
  { ASSERT_TRUE(SqliteJournal::Open(path_, {}).ok()); }
  vfs_.Begin({path_});
  {
    auto opened = SqliteJournal::Open(path_, {});
    ASSERT_TRUE(opened.ok());
    Run(*opened->journal, 250, random);
  }
  // A second life: the log is folded into the database at the end of the first one.
  {
    auto opened = SqliteJournal::Open(path_, {});
    ASSERT_TRUE(opened.ok());
    Run(*opened->journal, 50, random);
  }
  ASSERT_GT(vfs_.now(), 500U);
  for (int i = 0; i < Cuts() && !HasFailure(); ++i) Cut(random() % (vfs_.now() + 1), random);
  EXPECT_GT(later_, 0) << "no cut ever left a batch that was under way";
}

TEST_F(PowerLoss, LosesNothingWhileTheLogIsFoldedIn) {
  std::mt19937 random(8);  // NOLINT
  { ASSERT_TRUE(SqliteJournal::Open(path_, {}).ok()); }
  vfs_.Begin({path_});
  std::size_t end = 0;
  {
    auto opened = SqliteJournal::Open(path_, {});
    ASSERT_TRUE(opened.ok());
    Run(*opened->journal, 60, random);
    end = vfs_.now();
  }
  ASSERT_GT(vfs_.now(), end);
  for (int i = 0; i < Cuts() && !HasFailure(); ++i) {
    Cut(end + random() % (vfs_.now() - end + 1), random);
  }
}

}  // namespace
}  // namespace portcullis::store
