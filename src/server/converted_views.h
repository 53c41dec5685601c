// SPDX-License-Identifier: Apache-2.0

// ConvertedViews: the objects of the newest events in versions that a conversion webhook makes of
// them. All watches share them, so that the webhook is asked once for each object and version,
// however many watch.
//
// Thread-safe. A caller that needs what is being made for another one waits for that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "api/catalog/catalog.h"
#include "base/mutex.h"
#include "base/status.h"
#include "store/object.h"

namespace portcullis::server {

class ConvertedViews {
 public:
  // As server::InVersion() does it; null objects stay null. A failure is that of the whole call and
  // is not kept: the next caller tries again.
  base::Result<std::vector<store::ObjectPtr>> InVersion(const api::catalog::ResourceInfo& resource,
                                                        std::vector<store::ObjectPtr> objects);

  // Memory is short: forgets what has been made. What is being made is still waited for.
  void Forget();

 private:
  struct View {
    store::ObjectPtr raw;  // kept, so that its address stays its own
    store::ObjectPtr made;
    base::Status failure;
    bool done = false;
  };
  using ViewPtr = std::shared_ptr<View>;
  // Object, state of the definition, version.
  using Key = std::pair<const store::Object*, std::uint32_t>;

  static Key KeyOf(const api::catalog::ResourceInfo& resource, const store::ObjectPtr& object);
  // The view of the key; `own` if the caller is the one who makes it.
  ViewPtr Find(const Key& key, const store::ObjectPtr& object, bool& own) PC_REQUIRES(mutex_);
  void Publish(const api::catalog::ResourceInfo& resource, const std::vector<ViewPtr>& views,
               base::Result<std::vector<store::ObjectPtr>> made);

  base::Mutex mutex_;
  base::CondVar done_;
  std::map<Key, ViewPtr> views_ PC_GUARDED_BY(mutex_);
  std::deque<Key> order_ PC_GUARDED_BY(mutex_);  // oldest first
};

}  // namespace portcullis::server
