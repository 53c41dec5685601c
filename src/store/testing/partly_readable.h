// SPDX-License-Identifier: Apache-2.0

// A reader of which some objects cannot be decrypted, as far as its callers can tell. It counts how often a whole
// collection is read.
#pragma once

#include <string>
#include <vector>

#include "store/store.h"

namespace portcullis::store::testing {

class PartlyReadable : public Reader {
 public:
  // `all` outlives it.
  explicit PartlyReadable(const Reader& all) : all_(all) {}

  ObjectPtr Get(const Key& key) const override { return all_.Get(key); }
  std::vector<ObjectPtr> List(const Collection& collection, std::string_view ns) const override {
    ++lists;
    return all_.List(collection, ns);
  }
  base::Result<Page> ListPage(const ListRequest& request) const override {
    ++lists;
    TRY(WhyUnreadable(request.collection, request.ns));
    return all_.ListPage(request);
  }
  std::size_t Count(const Collection& collection) const override { return all_.Count(collection); }
  base::Status WhyUnreadable(const Key& key) const override {
    const bool is_meant = unreadable_name.empty() || unreadable_name == key.name;
    return is_meant ? WhyUnreadable(key.collection(), key.ns) : base::OkStatus();
  }
  base::Status WhyUnreadable(const Collection& collection, std::string_view) const override {
    return collection.resource == unreadable ? base::InternalError("no key") : base::OkStatus();
  }
  std::int64_t revision() const override { return all_.revision(); }

  std::string unreadable;       // the resource of those objects; empty: all can be read
  std::string unreadable_name;  // the name of the only one; empty: all of that resource
  mutable int lists = 0;

 private:
  const Reader& all_;
};

}  // namespace portcullis::store::testing
