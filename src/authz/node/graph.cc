// SPDX-License-Identifier: Apache-2.0

// One table counts, for each object and each node, by how many pods (or other objects) the two are
// related; a commit takes away what the object related before and adds what it relates now, so that
// its cost depends on this object alone. Volumes are one step further: a table leads from a volume
// to its claim, another from a secret to the volumes that use it.

#include "authz/node/graph.h"

#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/mutex.h"
#include "json/reader.h"
#include "store/uninitialized.h"

namespace portcullis::authz::node {
namespace {

constexpr store::Collection kPods{"", "pods"};
constexpr store::Collection kVolumes{"", "persistentvolumes"};

// Objects that stand for nothing but themselves.
struct NodeNamed {
  store::Collection collection;
  Kind kind;
};
constexpr NodeNamed kNodeNamed[] = {
    {{"storage.k8s.io", "volumeattachments"}, Kind::kAttachment},
    {{"resource.k8s.io", "resourceslices"}, Kind::kSlice},
    {{"certificates.k8s.io", "podcertificaterequests"}, Kind::kCertificateRequest},
};

// Numbers for texts that many relations share.
class Names {
 public:
  std::uint32_t Take(const std::string& text) {
    auto [entry, made] = numbers_.try_emplace(text, Entry{next_, 0});
    if (made) ++next_;
    ++entry->second.uses;
    return entry->second.number;
  }
  void Release(const std::string& text) {
    const auto entry = numbers_.find(text);
    if (--entry->second.uses == 0) numbers_.erase(entry);
  }
  // 0 if there is none.
  std::uint32_t Find(const std::string& text) const {
    const auto entry = numbers_.find(text);
    return entry == numbers_.end() ? 0 : entry->second.number;
  }

 private:
  struct Entry {
    std::uint32_t number;
    std::uint32_t uses;
  };
  std::unordered_map<std::string, Entry> numbers_;
  std::uint32_t next_ = 1;
};

// What the object says, parsed for this once: there are many pods, and few are asked for.
template <typename Reading>
auto Read(const store::Object* object, const Reading& reading) {
  json::Arena arena;
  json::Value value;
  if (object != nullptr) {
    if (auto parsed = json::Parse(arena, object->bytes()); parsed.ok()) value = *parsed;
  }
  return reading(value);
}

class StoreGraph final : public Graph, private store::Observer {
 public:
  StoreGraph(store::Store& store, bool initializers) : initializers_(initializers) {
    std::vector<store::Collection> collections = {kPods, kVolumes};
    for (const NodeNamed& row : kNodeNamed) collections.push_back(row.collection);
    subscription_ = store.Subscribe(collections, *this, [&] {
      for (const store::Collection& collection : collections) {
        for (const store::ObjectPtr& object : store.List(collection)) Change(nullptr, object.get());
      }
    });
  }
  ~StoreGraph() override { subscription_.reset(); }

  bool Relates(std::string_view node, Kind kind, std::string_view ns,
               std::string_view name) const override {
    const std::string subject = Subject(kind, ns, name);
    base::ReaderLock lock(mutex_);
    const std::uint32_t number = nodes_.Find(std::string(node));
    if (number == 0) return false;
    if (kind == Kind::kVolume) return VolumeRelates(subject, number);
    if (Counted(subject, number)) return true;
    if (kind != Kind::kSecret) return false;
    auto use = volumes_of_secret_.lower_bound({subject, {}});
    for (; use != volumes_of_secret_.end() && use->first == subject; ++use) {
      if (VolumeRelates(use->second, number)) return true;
    }
    return false;
  }

  std::size_t size() const override {
    base::ReaderLock lock(mutex_);
    return counts_.size();
  }

 private:
  void OnCommit(std::span<const store::EventPtr> events) override {
    for (const store::EventPtr& event : events) {
      const bool gone = event->type == store::EventType::kDeleted;
      Change(event->previous.get(), gone ? nullptr : event->object.get());
    }
  }

  // Null if the object has initializers left.
  const store::Object* Initialized(const store::Object* object) const {
    if (!initializers_ || object == nullptr || !store::IsUninitialized(*object)) return object;
    return nullptr;
  }

  // Either may be null.
  void Change(const store::Object* before, const store::Object* after) {
    const store::Object& object = before != nullptr ? *before : *after;
    const store::Collection collection{object.group(), object.resource()};
    before = Initialized(before);
    after = Initialized(after);
    if (collection == kVolumes) {
      ChangeVolume(Subject(Kind::kVolume, {}, object.name()), Read(before, &OfVolume),
                   Read(after, &OfVolume));
      return;
    }
    if (collection == kPods) return ChangeRelations(Read(before, &OfPod), Read(after, &OfPod));
    for (const NodeNamed& row : kNodeNamed) {
      if (collection != row.collection) continue;
      const auto read = [&row](json::Value value) { return OfNodeNamed(row.kind, value); };
      ChangeRelations(Read(before, read), Read(after, read));
    }
  }

  void ChangeRelations(const Relations& before, const Relations& after) {
    if (before == after) return;
    base::WriterLock lock(mutex_);
    for (const std::string& subject : after.subjects) Count(subject, after.node);
    for (const std::string& subject : before.subjects) Discount(subject, before.node);
  }

  void ChangeVolume(const std::string& volume, const VolumeRelations& before,
                    const VolumeRelations& after) {
    if (before == after) return;
    base::WriterLock lock(mutex_);
    for (const std::string& secret : before.secrets) volumes_of_secret_.erase({secret, volume});
    claim_of_volume_.erase(volume);
    if (after.claim.empty()) return;
    claim_of_volume_[volume] = after.claim;
    for (const std::string& secret : after.secrets) volumes_of_secret_.insert({secret, volume});
  }

  static std::uint64_t Pair(std::uint32_t subject, std::uint32_t node) {
    return std::uint64_t{subject} << 32 | node;
  }
  void Count(const std::string& subject, const std::string& node) PC_REQUIRES(mutex_) {
    ++counts_[Pair(subjects_.Take(subject), nodes_.Take(node))];
  }
  void Discount(const std::string& subject, const std::string& node) PC_REQUIRES(mutex_) {
    const auto count = counts_.find(Pair(subjects_.Find(subject), nodes_.Find(node)));
    if (count == counts_.end()) return;
    if (--count->second == 0) counts_.erase(count);
    subjects_.Release(subject);
    nodes_.Release(node);
  }
  bool Counted(const std::string& subject, std::uint32_t node) const PC_REQUIRES_SHARED(mutex_) {
    const std::uint32_t number = subjects_.Find(subject);
    return number != 0 && counts_.contains(Pair(number, node));
  }
  bool VolumeRelates(const std::string& volume, std::uint32_t node) const
      PC_REQUIRES_SHARED(mutex_) {
    const auto claim = claim_of_volume_.find(volume);
    return claim != claim_of_volume_.end() && Counted(claim->second, node);
  }

  const bool initializers_;
  mutable base::SharedMutex mutex_;
  Names subjects_ PC_GUARDED_BY(mutex_);
  Names nodes_ PC_GUARDED_BY(mutex_);
  std::unordered_map<std::uint64_t, std::uint32_t> counts_ PC_GUARDED_BY(mutex_);
  std::unordered_map<std::string, std::string> claim_of_volume_ PC_GUARDED_BY(mutex_);
  std::set<std::pair<std::string, std::string>> volumes_of_secret_ PC_GUARDED_BY(mutex_);
  std::unique_ptr<store::Subscription> subscription_;
};

}  // namespace

std::unique_ptr<Graph> Graph::Open(store::Store& store, bool initializers) {
  return std::make_unique<StoreGraph>(store, initializers);
}

}  // namespace portcullis::authz::node
