// SPDX-License-Identifier: Apache-2.0

// ValueReader makes objects of etcd's keys and values. Used by one thread at a time.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "etcd/client.h"
#include "store/cache/cache.h"
#include "store/encryption/transformer.h"
#include "store/etcd/value.h"
#include "store/storage_key.h"
#include "store/store.h"

namespace portcullis::store {

class ValueReader {
 public:
  // `prefix` as --etcd-prefix; `decoder` reads what is not JSON, and may be empty; `transformer`
  // decrypts, and may be null.
  ValueReader(std::string prefix, ValueDecoder decoder,
              std::shared_ptr<const Transformer> transformer)
      : prefix_(std::move(prefix)),
        decoder_(std::move(decoder)),
        transformer_(std::move(transformer)) {}

  const std::string& prefix() const { return prefix_; }
  // Null for keys that hold no API object, and for an object that no key decrypts, if
  // `unreadable` is given, which becomes that one.
  base::Result<ObjectPtr> Read(const etcd::KeyValue& kv,
                               std::optional<UnreadableObject>* unreadable = nullptr);

 private:
  const std::string prefix_;
  const ValueDecoder decoder_;
  const std::shared_ptr<const Transformer> transformer_;
  base::Result<std::string> Decrypt(const Key& key, const etcd::KeyValue& kv) const;
  const std::shared_ptr<const CollectionName>& NameOf(const Key& key);

  // Shared by the objects of a collection; by resource and group.
  std::map<std::pair<std::string, std::string>, std::shared_ptr<const CollectionName>, std::less<>>
      names_;
};

}  // namespace portcullis::store
