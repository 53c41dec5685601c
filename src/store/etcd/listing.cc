// SPDX-License-Identifier: Apache-2.0

#include "store/etcd/listing.h"

#include <optional>
#include <utility>

#include "base/strings.h"
#include "etcd/await.h"
#include "store/etcd/rules.h"
#include "store/storage_key.h"

namespace portcullis::store {
namespace {

constexpr std::int64_t kPage = 2000;  // keys

base::Result<etcd::RangeResponse> ReadPage(etcd::Client& client, etcd::RangeRequest request,
                                           base::SteadyTime deadline) {
  return etcd::Await<etcd::RangeResponse>(
      [&](auto done) { client.Range(std::move(request), deadline, std::move(done)); });
}

base::Status Put(etcd::Client& client, const std::string& key, base::SteadyTime deadline) {
  etcd::TxnRequest request;
  request.success.emplace_back().kind = etcd::Op::Kind::kPut;
  request.success.back().key = key;
  return etcd::Await<etcd::TxnResponse>(
             [&](auto done) { client.Txn(std::move(request), deadline, std::move(done)); })
      .status();
}

}  // namespace

base::Result<Listing> ReadAll(etcd::Client& client, ValueReader& reader, const base::Clock& clock,
                              base::Duration per_page, bool at_new_revision) {
  const std::string rules_key = RulesKey(reader.prefix());
  if (at_new_revision) TRY(Put(client, rules_key, clock.Steady() + per_page));
  const std::string all = base::StrCat(reader.prefix(), "/");
  etcd::RangeRequest request;
  request.key = all;
  request.range_end = etcd::PrefixEnd(all);
  request.limit = kPage;
  Listing listing;
  Content& content = listing.content;
  while (true) {
    auto page = ReadPage(client, request, clock.Steady() + per_page);
    if (!page.ok() && etcd::IsCompacted(page.status())) {  // it took too long: begin again
      request.key = all;
      request.revision = 0;
      listing = Listing();
      continue;
    }
    if (!page.ok()) return std::move(page).status();
    if (request.revision == 0) {
      request.revision = page->revision;
      content.revision = page->revision;
    }
    for (const etcd::KeyValue& kv : page->kvs) {
      if (kv.key == rules_key) listing.rules_revision = kv.mod_revision;
      const auto key = ParseStorageKey(kv.key, reader.prefix());
      if (!key) continue;
      std::optional<UnreadableObject> unreadable;
      ObjectPtr object = reader.Read(*key, kv, false, unreadable);
      if (unreadable) content.unreadable.push_back(*std::move(unreadable));
      if (object != nullptr) content.objects.push_back(std::move(object));
    }
    if (!page->more || page->kvs.empty()) return listing;
    request.key = page->kvs.back().key + '\0';
  }
}

}  // namespace portcullis::store
