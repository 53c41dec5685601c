// SPDX-License-Identifier: Apache-2.0

// PackedObject is a version of a large object that hardly anybody will ask for again: compressed.
// Immutable; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "store/object.h"

namespace portcullis::store {

class PackedObject {
 public:
  // Null if nothing would be won.
  static std::shared_ptr<const PackedObject> Make(const Object& object);

  // The object as it was, made anew at each call.
  ObjectPtr Restore() const;
  // The same object without its content: its place, and its revision as its bytes.
  const ObjectPtr& husk() const { return husk_; }
  std::size_t size() const { return packed_.size(); }

 private:
  ObjectPtr husk_;
  std::string packed_;
  std::uint32_t bytes_size_ = 0;
  std::uint32_t revision_at_ = 0;
};

}  // namespace portcullis::store
