// SPDX-License-Identifier: Apache-2.0

// A reader of which one collection has objects that no key decrypts, as far as its callers can tell.
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
    return all_.List(collection, ns);
  }
  base::Result<Page> ListPage(const ListRequest& request) const override {
    if (request.collection.resource == unreadable) return base::InternalError("no key");
    return all_.ListPage(request);
  }
  std::size_t Count(const Collection& collection) const override { return all_.Count(collection); }
  std::int64_t revision() const override { return all_.revision(); }

  std::string unreadable;  // the resource of that collection; empty: none

 private:
  const Reader& all_;
};

}  // namespace portcullis::store::testing
