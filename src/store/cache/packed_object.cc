// SPDX-License-Identifier: Apache-2.0

#include "store/cache/packed_object.h"

#include <zlib.h>

namespace portcullis::store {

std::shared_ptr<const PackedObject> PackedObject::Make(const Object& object) {
  constexpr int kFastest = 1;
  const std::string_view bytes = object.bytes();
  uLongf size = compressBound(static_cast<uLong>(bytes.size()));
  std::string packed(size, '\0');
  const int result = compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
                               reinterpret_cast<const Bytef*>(bytes.data()),
                               static_cast<uLong>(bytes.size()), kFastest);
  if (result != Z_OK || size * 2 > bytes.size()) return nullptr;
  auto made = std::make_shared<PackedObject>();
  made->packed_ = packed.substr(0, size);  // a copy of its own size
  made->husk_ =
      Object::Make(object.collection(), object.ns(), object.name(), object.revision(), {}, {});
  made->bytes_size_ = static_cast<std::uint32_t>(bytes.size());
  made->revision_at_ = static_cast<std::uint32_t>(object.revision_at());
  return made;
}

ObjectPtr PackedObject::Restore() const {
  std::string bytes(bytes_size_, '\0');
  uLongf size = bytes_size_;
  uncompress(reinterpret_cast<Bytef*>(bytes.data()), &size,
             reinterpret_cast<const Bytef*>(packed_.data()), static_cast<uLong>(packed_.size()));
  const std::string_view text = bytes;
  const std::size_t digits = husk_->bytes().size();
  return Object::Make(husk_->collection(), husk_->ns(), husk_->name(), husk_->revision(),
                      text.substr(0, revision_at_), text.substr(revision_at_ + digits));
}

}  // namespace portcullis::store
