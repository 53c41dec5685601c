// SPDX-License-Identifier: Apache-2.0

#include "engine/read/initialized_reader.h"

#include <vector>

#include "engine/read/uninitialized.h"

namespace portcullis::engine {
namespace {

class InitializedReader final : public store::Reader {
 public:
  explicit InitializedReader(const store::Reader& all) : all_(all) {}

  store::ObjectPtr Get(const store::Key& key) const override { return all_.Get(key); }
  std::vector<store::ObjectPtr> List(const store::Collection& collection,
                                     std::string_view ns) const override {
    std::vector<store::ObjectPtr> objects = all_.List(collection, ns);
    Hide(objects);
    return objects;
  }
  base::Result<store::Page> ListPage(const store::ListRequest& request) const override {
    store::Page page = TRY(all_.ListPage(request));
    Hide(page.objects);
    return page;
  }
  std::size_t Count(const store::Collection& collection) const override {
    return all_.Count(collection);
  }
  std::int64_t revision() const override { return all_.revision(); }

 private:
  static void Hide(std::vector<store::ObjectPtr>& objects) {
    std::erase_if(objects, [](const store::ObjectPtr& object) { return IsUninitialized(*object); });
  }

  const store::Reader& all_;
};

}  // namespace

std::unique_ptr<store::Reader> MakeInitializedReader(const store::Reader& all) {
  return std::make_unique<InitializedReader>(all);
}

}  // namespace portcullis::engine
