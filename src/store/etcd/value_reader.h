// SPDX-License-Identifier: Apache-2.0

// ValueReader makes objects of etcd's keys and values, and knows in which form they are stored. Read()
// is called by one thread at a time; the rest is thread-safe.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/mutex.h"
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
  // `prefix` as --etcd-prefix; `decoder` reads plain values, those that are JSON of this server
  // alone if it is empty; `transformer` decrypts, and may be null.
  ValueReader(std::string prefix, ValueDecoder decoder,
              std::shared_ptr<const Transformer> transformer)
      : prefix_(std::move(prefix)),
        decoder_(std::move(decoder)),
        transformer_(std::move(transformer)) {}

  const std::string& prefix() const { return prefix_; }
  // `key` is ParseStorageKey() of that of `kv`. Null for an object that cannot be read: `unreadable`
  // becomes that one then. A value that this server has written (`is_own`) is not looked at closely.
  ObjectPtr Read(const Key& key, const etcd::KeyValue& kv, bool is_own,
                 std::optional<UnreadableObject>& unreadable);
  // Whether the object was read of a value that is not as this server would write it: of another
  // encoding or version, or encrypted with another key, or not at all.
  bool IsStale(const Object& object) const PC_EXCLUDES(mutex_);
  // The version is no longer the newest of its object.
  void Forget(std::int64_t revision) PC_EXCLUDES(mutex_);

 private:
  // Of a stored value, besides the object.
  struct Form {
    bool converted = false;
    Seal seal = kPlain;
  };

  const std::string prefix_;
  const ValueDecoder decoder_;
  const std::shared_ptr<const Transformer> transformer_;
  base::Result<Opened> Decrypt(const Key& key, const etcd::KeyValue& kv) const;
  base::Result<Encoded> Decode(const Key& key, std::string_view value, bool& converted) const;
  void Note(std::int64_t revision, const Form& form) PC_EXCLUDES(mutex_);
  const std::shared_ptr<const CollectionName>& NameOf(const Key& key);

  // Shared by the objects of a collection; by resource and group.
  std::map<std::pair<std::string, std::string>, std::shared_ptr<const CollectionName>, std::less<>>
      names_;
  mutable base::Mutex mutex_;
  // By revision; those that are plain JSON of this server are left out.
  std::unordered_map<std::int64_t, Form> forms_ PC_GUARDED_BY(mutex_);
};

}  // namespace portcullis::store
