// SPDX-License-Identifier: Apache-2.0

#include "store/initialized_reader.h"

#include <vector>

#include "store/uninitialized.h"

namespace portcullis::store {
namespace {

class InitializedReader final : public Reader {
 public:
  explicit InitializedReader(const Reader& all) : all_(all) {}

  ObjectPtr Get(const Key& key) const override { return all_.Get(key); }
  std::vector<ObjectPtr> List(const Collection& collection, std::string_view ns) const override {
    std::vector<ObjectPtr> objects = all_.List(collection, ns);
    Hide(objects);
    return objects;
  }
  base::Result<Page> ListPage(const ListRequest& request) const override {
    Page page = TRY(all_.ListPage(request));
    Hide(page.objects);
    return page;
  }
  std::size_t Count(const Collection& collection) const override { return all_.Count(collection); }
  base::Status WhyUnreadable(const Key& key) const override { return all_.WhyUnreadable(key); }
  base::Status WhyUnreadable(const Collection& collection, std::string_view ns) const override {
    return all_.WhyUnreadable(collection, ns);
  }
  std::int64_t revision() const override { return all_.revision(); }

 private:
  static void Hide(std::vector<ObjectPtr>& objects) {
    std::erase_if(objects, [](const ObjectPtr& object) { return IsUninitialized(*object); });
  }

  const Reader& all_;
};

}  // namespace

std::unique_ptr<Reader> MakeInitializedReader(const Reader& all) {
  return std::make_unique<InitializedReader>(all);
}

}  // namespace portcullis::store
