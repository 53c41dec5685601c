// SPDX-License-Identifier: Apache-2.0

#include "cli/store_etcd.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/strings.h"
#include "engine/codec/stored_values.h"
#include "etcd/await.h"
#include "etcd/client.h"
#include "server/etcd_flags.h"
#include "store/etcd/listing.h"
#include "store/etcd/value.h"
#include "store/etcd/value_reader.h"
#include "store/storage_key.h"

namespace portcullis::cli {
namespace {

constexpr std::chrono::seconds kPatience{60};
constexpr std::int64_t kEventSeconds = 3600;
constexpr std::int64_t kAtOnce = 256;  // writes that use up revisions

base::Result<std::unique_ptr<etcd::Client>> Connect(const StoreOptions& options) {
  return etcd::Client::Make(server::EtcdClientOptions(options));
}

bool IsEvent(const store::Object& object) {
  return object.resource() == "events" &&
         (object.group().empty() || object.group() == "events.k8s.io");
}

class Importer {
 public:
  Importer(etcd::Client& client, std::string prefix, const store::Transformer* transformer)
      : client_(client),
        prefix_(std::move(prefix)),
        filler_(prefix_ + "-import"),
        transformer_(transformer) {}

  base::Status Run(const store::Content& content);

 private:
  static base::SteadyTime Deadline() { return base::SystemClock().Steady() + kPatience; }

  base::Status CheckEmpty(std::int64_t first);
  base::Status Write(const store::Object& object, bool is_last);
  base::Result<std::string> ValueOf(const store::Object& object, const std::string& key) const;
  base::Result<std::int64_t> EventLease();
  base::Status UseUp(std::int64_t revisions);
  base::Status Commit(std::vector<etcd::Op> ops);

  etcd::Client& client_;
  const std::string prefix_;
  const std::string filler_;
  const store::Transformer* const transformer_;
  std::int64_t revision_ = 0;
  std::int64_t lease_ = 0;
  bool is_filled_ = false;  // filler_ is there
};

base::Status Importer::CheckEmpty(std::int64_t first) {
  etcd::RangeRequest request;
  request.key = prefix_ + "/";
  request.range_end = etcd::PrefixEnd(request.key);
  request.count_only = true;
  const auto found = TRY(etcd::Await<etcd::RangeResponse>(
      [&](auto done) { client_.Range(std::move(request), Deadline(), std::move(done)); }));
  if (found.count > 0) {
    return base::ConfigError(base::StrCat("etcd has ", std::to_string(found.count), " keys below ",
                                          prefix_, "; import into an empty one"));
  }
  if (found.revision >= first) {
    return base::ConfigError(base::StrCat("etcd is at revision ", std::to_string(found.revision),
                                          " and the import begins with ", std::to_string(first),
                                          "; import into a new one"));
  }
  revision_ = found.revision;
  return base::OkStatus();
}

base::Status Importer::Run(const store::Content& content) {
  std::vector<const store::Object*> objects;
  for (const store::ObjectPtr& object : content.objects) objects.push_back(object.get());
  std::sort(objects.begin(), objects.end(),
            [](const auto* a, const auto* b) { return a->revision() < b->revision(); });
  TRY(CheckEmpty(objects.empty() ? content.revision : objects.front()->revision()));
  for (const store::Object* object : objects) {
    TRY(UseUp(object->revision() - revision_ - 1));
    TRY(Write(*object, object == objects.back() && object->revision() == content.revision));
  }
  if (revision_ == content.revision) return base::OkStatus();
  TRY(UseUp(content.revision - revision_ - 1));
  // A deletion of a key that is not there would make no revision: then the key stays.
  etcd::Op last;
  last.kind = is_filled_ ? etcd::Op::Kind::kDelete : etcd::Op::Kind::kPut;
  last.key = filler_;
  return Commit({std::move(last)});
}

base::Result<std::string> Importer::ValueOf(const store::Object& object,
                                            const std::string& key) const {
  store::Encoded encoded{std::string(object.bytes()), object.revision_at()};
  encoded.bytes.erase(encoded.revision_at, std::to_string(object.revision()).size());
  std::string value = store::ToEtcdValue(encoded);
  const store::Collection collection{object.group(), object.resource()};
  if (transformer_ == nullptr || !transformer_->Encrypts(collection)) return value;
  return TRY(transformer_->ToStorage(collection, key, value)).bytes;
}

base::Result<std::int64_t> Importer::EventLease() {
  if (lease_ == 0) {
    lease_ = TRY(etcd::Await<etcd::LeaseGrantResponse>([&](auto done) {
               client_.LeaseGrant(kEventSeconds, Deadline(), std::move(done));
             })).id;
  }
  return lease_;
}

base::Status Importer::Write(const store::Object& object, bool is_last) {
  etcd::Op put;
  put.kind = etcd::Op::Kind::kPut;
  put.key =
      store::StorageKey({object.group(), object.resource(), object.ns(), object.name()}, prefix_);
  put.value = TRY(ValueOf(object, put.key));
  if (IsEvent(object)) put.lease = TRY(EventLease());
  std::vector<etcd::Op> ops;
  ops.push_back(std::move(put));
  if (is_last) {
    etcd::Op remove;
    remove.kind = etcd::Op::Kind::kDelete;
    remove.key = filler_;
    ops.push_back(std::move(remove));
  }
  const std::int64_t expected = object.revision();
  TRY(Commit(std::move(ops)));
  return revision_ == expected
             ? base::OkStatus()
             : base::ConfigError("another client has written to etcd; import into a new one");
}

base::Status Importer::Commit(std::vector<etcd::Op> ops) {
  etcd::TxnRequest request;
  request.success = std::move(ops);
  revision_ = TRY(etcd::Await<etcd::TxnResponse>([&](auto done) {
                client_.Txn(std::move(request), Deadline(), std::move(done));
              })).revision;
  return base::OkStatus();
}

base::Status Importer::UseUp(std::int64_t revisions) {
  while (revisions > 0) {
    is_filled_ = true;
    const std::int64_t now = std::min(revisions, kAtOnce);
    std::vector<std::future<base::Result<etcd::TxnResponse>>> answers;
    for (std::int64_t i = 0; i < now; ++i) {
      etcd::TxnRequest request;
      request.success.emplace_back();
      request.success.back().kind = etcd::Op::Kind::kPut;
      request.success.back().key = filler_;
      answers.push_back(etcd::Begun<etcd::TxnResponse>(
          [&](auto done) { client_.Txn(std::move(request), Deadline(), std::move(done)); }));
    }
    for (auto& answer : answers) revision_ = std::max(revision_, TRY(answer.get()).revision);
    revisions -= now;
  }
  return base::OkStatus();
}

}  // namespace

base::Result<store::Content> ReadEtcd(const StoreOptions& options,
                                      std::shared_ptr<const store::Transformer> transformer) {
  const auto client = TRY(Connect(options));
  const auto values = TRY(engine::StoredValues::Make());
  const auto decode = [&](const store::Key& key, std::string_view value, bool& converted) {
    return values->Read(key, value, converted);
  };
  store::ValueReader reader(options.etcd_prefix, decode, std::move(transformer));
  return std::move(TRY(store::ReadAll(*client, reader, base::SystemClock(), kPatience)).content);
}

base::Status WriteEtcd(const StoreOptions& options, const store::Content& content,
                       const store::Transformer* transformer) {
  const auto client = TRY(Connect(options));
  return Importer(*client, options.etcd_prefix, transformer).Run(content);
}

}  // namespace portcullis::cli
