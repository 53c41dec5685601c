// SPDX-License-Identifier: Apache-2.0

#include "controllers/garbage_collector.h"

#include <gtest/gtest.h>

#include <string>

#include "base/strings.h"
#include "base/testing/fake_clock.h"
#include "kube_cel/compiler.h"
#include "release/release.h"
#include "store/memory/memory_store.h"
#include "store/testing/objects.h"

namespace portcullis::controllers {
namespace {

// Counts how often a whole collection is read.
class CountingReader final : public store::Reader {
 public:
  explicit CountingReader(const store::Reader& reader) : reader_(reader) {}
  store::ObjectPtr Get(const store::Key& key) const override { return reader_.Get(key); }
  std::vector<store::ObjectPtr> List(const store::Collection& collection,
                                     std::string_view ns) const override {
    ++lists;
    return reader_.List(collection, ns);
  }
  base::Result<store::Page> ListPage(const store::ListRequest& request) const override {
    return reader_.ListPage(request);
  }
  std::size_t Count(const store::Collection& collection) const override {
    return reader_.Count(collection);
  }
  std::int64_t revision() const override { return reader_.revision(); }

  mutable int lists = 0;

 private:
  const store::Reader& reader_;
};

// Keeps what was asked for.
class Asked final : public Client {
 public:
  base::Result<store::ObjectPtr> Do(const Request& request) override {
    requests.push_back(
        base::StrCat(engine::VerbName(request.verb), " ", request.resource.resource));
    return store::ObjectPtr();
  }
  std::vector<std::string> requests;
};

TEST(GarbageCollector, ReadsACollectionOnceForAllOwnersThatAreMissing) {
  const auto store = store::OpenMemory();
  ASSERT_TRUE(store
                  ->Create({"", "secrets", "other", "s"},
                           store::testing::EncodeText(R"({"metadata":{"name":"s",
      "namespace":"other","uid":"u7","resourceVersion":""}})"))
                  .ok());
  std::string owners;
  for (int i = 0; i < 100; ++i) {
    const std::string number = std::to_string(i);
    owners += base::StrCat(i == 0 ? "" : ",", R"({"apiVersion":"v1","kind":"Secret","name":"s)",
                           number, R"(","uid":"u)", number, "\"}");
  }
  const auto owned =
      store->Create({"", "configmaps", "team", "c"},
                    store::testing::EncodeText(base::StrCat(
                        R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c",
      "namespace":"team","uid":"u","resourceVersion":"","ownerReferences":[)",
                        owners, "]}}")));
  ASSERT_TRUE(owned.ok());
  const CountingReader reader(*store);
  Asked client;
  const auto release = release::Release::Open("1.36");
  const base::Published<api::catalog::Catalog> catalog(api::catalog::Catalog::BuiltIn({}).value());
  const base::FakeClock clock;
  kube_cel::Compiler compiler;
  const ControllerContext context{reader, client, catalog, clock, compiler, "", *release};
  const auto controller = kGarbageCollector.create(context);
  controller->OnEvent({.type = store::EventType::kAdded, .object = *owned}, [](std::string) {});

  EXPECT_FALSE(controller->Reconcile("u"));

  EXPECT_EQ(reader.lists, 1);
  // That one is in another namespace.
  EXPECT_EQ(client.requests, (std::vector<std::string>{"create events", "delete configmaps"}));
}

}  // namespace
}  // namespace portcullis::controllers
