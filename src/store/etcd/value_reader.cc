// SPDX-License-Identifier: Apache-2.0

#include "store/etcd/value_reader.h"

namespace portcullis::store {

base::Result<Opened> ValueReader::Decrypt(const Key& key, const etcd::KeyValue& kv) const {
  if (transformer_ != nullptr) {
    return transformer_->FromStorage(key.collection(), kv.key, kv.value);
  }
  TRY(CheckPlain(kv.value));
  return Opened{kv.value, kPlain};
}

base::Result<Encoded> ValueReader::Decode(const Key& key, std::string_view value,
                                          bool& converted) const {
  if (decoder_) return decoder_(key, value, converted);
  if (!value.starts_with('{')) return base::BadRequest("its value is not JSON");
  return FromEtcdValue(value);
}

const std::shared_ptr<const CollectionName>& ValueReader::NameOf(const Key& key) {
  auto& name = names_[{std::string(key.resource), std::string(key.group)}];
  if (name == nullptr) {
    name = std::make_shared<const CollectionName>(
        CollectionName{std::string(key.group), std::string(key.resource)});
  }
  return name;
}

ObjectPtr ValueReader::Read(const Key& key, const etcd::KeyValue& kv, bool is_own,
                            std::optional<UnreadableObject>& unreadable) {
  const auto fail = [&](const base::Status& why, std::string_view failed) {
    UnreadableObject object;
    object.collection = NameOf(key);
    object.ns = key.ns;
    object.name = key.name;
    object.revision = kv.mod_revision;
    object.error = why.message();
    object.failed = failed;
    unreadable.emplace(std::move(object));
    return nullptr;
  };
  Opened opened;
  const bool is_opened = transformer_ != nullptr || kv.value.starts_with(kEncryptedPrefix);
  if (is_opened) {
    auto decrypted = Decrypt(key, kv);
    if (!decrypted.ok()) return fail(decrypted.status(), "transform");
    opened = *std::move(decrypted);
  }
  Form form;
  form.seal = opened.seal;
  const std::string_view plain = is_opened ? opened.plain : kv.value;
  const auto encoded = is_own ? FromEtcdValue(plain) : Decode(key, plain, form.converted);
  if (!encoded.ok()) return fail(encoded.status(), "decode");
  if (form.converted || form.seal != kPlain) Note(kv.mod_revision, form);
  const std::string_view bytes = encoded->bytes;
  return Object::Make(NameOf(key), key.ns, key.name, kv.mod_revision,
                      bytes.substr(0, encoded->revision_at), bytes.substr(encoded->revision_at));
}

bool ValueReader::IsStale(const Object& object) const {
  Form form;
  {
    const base::MutexLock lock(mutex_);
    const auto found = forms_.find(object.revision());
    if (found != forms_.end()) form = found->second;
  }
  return form.converted || (transformer_ != nullptr &&
                            transformer_->IsStale({object.group(), object.resource()}, form.seal));
}

void ValueReader::Note(std::int64_t revision, const Form& form) {
  const base::MutexLock lock(mutex_);
  forms_[revision] = form;
}

void ValueReader::Forget(std::int64_t revision) {
  const base::MutexLock lock(mutex_);
  forms_.erase(revision);
}

}  // namespace portcullis::store
