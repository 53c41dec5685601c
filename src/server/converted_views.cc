// SPDX-License-Identifier: Apache-2.0

#include "server/converted_views.h"

#include <span>
#include <utility>

#include "engine/codec/codec.h"

namespace portcullis::server {
namespace {

// Watches that fall behind further than this have their objects converted anew.
constexpr std::size_t kKept = 1024;

}  // namespace

ConvertedViews::Key ConvertedViews::KeyOf(const api::catalog::ResourceInfo& resource,
                                          const store::ObjectPtr& object) {
  return {object.get(), resource.number};
}

ConvertedViews::ViewPtr ConvertedViews::Find(const Key& key, const store::ObjectPtr& object,
                                             bool& own) {
  ViewPtr& view = views_[key];
  own = view == nullptr;
  if (!own) return view;
  view = std::make_shared<View>();
  view->raw = object;
  ViewPtr found = view;
  order_.push_back(key);
  while (order_.size() > kKept) {
    views_.erase(order_.front());
    order_.pop_front();
  }
  return found;
}

void ConvertedViews::Publish(const api::catalog::ResourceInfo& resource,
                             const std::vector<ViewPtr>& views,
                             base::Result<std::vector<store::ObjectPtr>> made) {
  base::MutexLock lock(mutex_);
  for (std::size_t i = 0; i < views.size(); ++i) {
    View& view = *views[i];
    if (made.ok()) {
      view.made = (*made)[i];
    } else {
      view.failure = made.status();
      const auto found = views_.find(KeyOf(resource, view.raw));
      if (found != views_.end() && found->second == views[i]) views_.erase(found);
    }
    view.done = true;
  }
  done_.NotifyAll();
}

base::Result<std::vector<store::ObjectPtr>> ConvertedViews::InVersion(
    const api::catalog::ResourceInfo& resource, std::vector<store::ObjectPtr> objects) {
  std::vector<ViewPtr> views(objects.size());
  std::vector<ViewPtr> own;
  std::vector<store::ObjectPtr> raw;
  {
    base::MutexLock lock(mutex_);
    for (std::size_t i = 0; i < objects.size(); ++i) {
      if (objects[i] == nullptr || !engine::NeedsWebhook(resource, std::span(&objects[i], 1)))
        continue;
      bool is_own = false;
      views[i] = Find(KeyOf(resource, objects[i]), objects[i], is_own);
      if (!is_own) continue;
      own.push_back(views[i]);
      raw.push_back(objects[i]);
    }
  }
  if (!own.empty()) Publish(resource, own, engine::InVersion(resource, std::move(raw)));
  {
    base::MutexLock lock(mutex_);
    for (std::size_t i = 0; i < objects.size(); ++i) {
      if (views[i] == nullptr) continue;
      while (!views[i]->done) done_.Wait(mutex_);
      if (!views[i]->failure.ok()) return views[i]->failure;
      objects[i] = views[i]->made;
    }
  }
  return engine::InVersion(resource, std::move(objects));
}

void ConvertedViews::Forget() {
  std::map<Key, ViewPtr> views;
  const base::MutexLock lock(mutex_);
  views.swap(views_);
  order_.clear();
}

}  // namespace portcullis::server
