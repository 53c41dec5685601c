// SPDX-License-Identifier: Apache-2.0

#include "admission/store_feed.h"

#include <utility>

#include "api/view/initializers.h"
#include "json/reader.h"
#include "store/store.h"

namespace portcullis::admission {
namespace {

class StoreWatch final : public store::Observer {
 public:
  StoreWatch(store::Store& store, std::string_view group, std::string_view resource,
             bool initializers, ObjectFeed::Callback callback)
      : group_(group),
        resource_(resource),
        initializers_(initializers),
        callback_(std::move(callback)) {
    subscription_ = store.Subscribe({{group_, resource_}}, *this, [&] {
      std::vector<ObjectFeed::Change> changes;
      const std::vector<store::ObjectPtr> objects = store.List({group_, resource_});
      for (const store::ObjectPtr& object : objects) Add(object, false, changes);
      callback_(changes);
    });
  }

  void OnCommit(std::span<const store::EventPtr> events) override {
    std::vector<ObjectFeed::Change> changes;
    for (const store::EventPtr& event : events) {
      if (event->object->group() != group_ || event->object->resource() != resource_) continue;
      Add(event->object, event->type == store::EventType::kDeleted, changes);
    }
    if (!changes.empty()) callback_(changes);
  }

 private:
  void Add(const store::ObjectPtr& object, bool deleted,
           std::vector<ObjectFeed::Change>& changes) const {
    changes.push_back({object->ns(), object->name(), {}});
    if (deleted) return;
    // Not the object's own document, which would stay in memory as long as the object: thousands of
    // bindings are compiled and never looked at again.
    auto arena = std::make_shared<json::Arena>();
    arena->Retain(object);
    const auto root = json::Parse(*arena, object->bytes(), {.borrow_text = true});
    if (initializers_ && root.ok() && api::view::Initializers(*root).present()) return;
    if (root.ok()) changes.back().object = json::Document(std::move(arena), *root);
  }

  const std::string group_;
  const std::string resource_;
  const bool initializers_;
  const ObjectFeed::Callback callback_;
  std::unique_ptr<store::Subscription> subscription_;
};

class StoreFeed final : public ObjectFeed {
 public:
  StoreFeed(store::Store& store, bool initializers) : store_(store), initializers_(initializers) {}
  std::shared_ptr<void> Watch(std::string_view group, std::string_view resource,
                              Callback callback) override {
    return std::make_shared<StoreWatch>(store_, group, resource, initializers_,
                                        std::move(callback));
  }

 private:
  store::Store& store_;
  const bool initializers_;
};

}  // namespace

std::unique_ptr<ObjectFeed> MakeStoreFeed(store::Store& store, bool initializers) {
  return std::make_unique<StoreFeed>(store, initializers);
}

}  // namespace portcullis::admission
