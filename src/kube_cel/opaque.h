// SPDX-License-Identifier: Apache-2.0

// What the opaque values of this folder share: an Object that holds one C++ value and compares with
// its own kind only: with any other it is an error, as in Kubernetes.
#pragma once

#include <string_view>
#include <utility>

#include "cel/value.h"

namespace portcullis::kube_cel {

// `type_node` is a constant of libraries.h, `go_type` what GoType() says. T compares with ==.
template <typename T, const cel::Type& type_node, const char* go_type, bool is_hashable = true>
class Opaque final : public cel::Object {
 public:
  explicit Opaque(T content) : content_(std::move(content)) {}

  const cel::Type* type() const override { return &type_node; }
  const T& content() const { return content_; }
  std::string_view GoType() const override { return go_type; }
  bool IsHashable() const override { return is_hashable; }
  cel::Value Equals(json::Arena&, cel::Value other) const override {
    const T* content = From(other);
    return content == nullptr ? cel::NoSuchOverload() : cel::Value::Bool(*content == content_);
  }

  // The content of a value of this type, or null.
  static const T* From(cel::Value value) {
    if (!value.is_object() || value.object()->type() != &type_node) return nullptr;
    return &static_cast<const Opaque*>(value.object())->content_;
  }

 private:
  T content_;
};

}  // namespace portcullis::kube_cel
