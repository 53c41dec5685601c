// SPDX-License-Identifier: Apache-2.0

#include "store/etcd/value_reader.h"

namespace portcullis::store {

base::Result<std::string> ValueReader::Decrypt(const Key& key, const etcd::KeyValue& kv) const {
  if (transformer_ == nullptr) {
    TRY(CheckPlain(kv.value));
    return kv.value;
  }
  return TRY(transformer_->FromStorage(key.collection(), kv.key, kv.value)).plain;
}

const std::shared_ptr<const CollectionName>& ValueReader::NameOf(const Key& key) {
  auto& name = names_[{std::string(key.resource), std::string(key.group)}];
  if (name == nullptr) {
    name = std::make_shared<const CollectionName>(
        CollectionName{std::string(key.group), std::string(key.resource)});
  }
  return name;
}

base::Result<ObjectPtr> ValueReader::Read(const etcd::KeyValue& kv,
                                          std::optional<UnreadableObject>* unreadable) {
  const auto key = ParseStorageKey(kv.key, prefix_);
  if (!key) return ObjectPtr();
  std::string plain;
  if (transformer_ != nullptr || kv.value.starts_with(kEncryptedPrefix)) {
    auto decrypted = Decrypt(*key, kv);
    if (!decrypted.ok() && unreadable != nullptr) {
      unreadable->emplace(UnreadableObject{NameOf(*key), std::string(key->ns),
                                           std::string(key->name), kv.mod_revision,
                                           std::string(decrypted.status().message())});
      return ObjectPtr();
    }
    plain = TRY(std::move(decrypted));
  }
  const std::string_view value = plain.empty() ? std::string_view(kv.value) : plain;
  const bool is_json = value.starts_with('{');
  if (!is_json && !decoder_) return base::BadRequest("its value is not JSON");
  const Encoded encoded = TRY(is_json ? FromEtcdValue(value) : decoder_(*key, value));
  const std::string_view bytes = encoded.bytes;
  return ObjectPtr(Object::Make(NameOf(*key), key->ns, key->name, kv.mod_revision,
                                bytes.substr(0, encoded.revision_at),
                                bytes.substr(encoded.revision_at)));
}

}  // namespace portcullis::store
