// SPDX-License-Identifier: Apache-2.0

// Where the planner keeps what it makes: in the arena of the program.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "cel/eval/node.h"

namespace portcullis::cel {

class NodeStore {
 protected:
  explicit NodeStore(json::Arena& arena) : arena_(arena) {}

  template <typename T>
  T* Make() {
    return new (arena_.Allocate(sizeof(T), alignof(T))) T();
  }
  const Node* Constant(Value value) {
    return new (arena_.Allocate(sizeof(ConstNode), alignof(ConstNode))) ConstNode(value);
  }
  template <typename T>
  std::span<const T> Store(const std::vector<T>& items) {
    if (items.empty()) return {};
    T* data = static_cast<T*>(arena_.Allocate(std::span(items).size_bytes(), alignof(T)));
    std::uninitialized_copy(items.begin(), items.end(), data);
    return {data, items.size()};
  }
  // Empty if none is set.
  std::span<const bool> StoreFlags(const std::vector<bool>& flags) {
    if (std::find(flags.begin(), flags.end(), true) == flags.end()) return {};
    bool* data = static_cast<bool*>(arena_.Allocate(flags.size(), 1));
    for (std::size_t i = 0; i < flags.size(); ++i) data[i] = flags[i];
    return {data, flags.size()};
  }
  Value CopyConstant(Value value) {
    if (value.kind() == Kind::kString) return MakeString(arena_, value.text());
    if (value.kind() == Kind::kBytes) return MakeBytes(arena_, value.text());
    if (value.kind() == Kind::kType) return Value::OfType(CopyType(arena_, value.type_value()));
    return value;
  }

  json::Arena& arena_;
};

}  // namespace portcullis::cel
