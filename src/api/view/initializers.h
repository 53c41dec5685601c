// SPDX-License-Identifier: Apache-2.0

// metadata.initializers of an object (Kubernetes 1.7 to 1.13, docs/legacy.md): the tasks that are
// left before the object shows, and why they have failed. Only servers that have initializers know
// the field.
#pragma once

#include <string_view>

#include "json/value.h"

namespace portcullis::api::view {

inline constexpr std::string_view kInitializersField = "initializers";

// A view; the object outlives it.
class Initializers {
 public:
  explicit Initializers(json::Value object) : value_(object["metadata"][kInitializersField]) {}
  static Initializers OfMetadata(json::Value metadata) {
    Initializers initializers;
    initializers.value_ = metadata[kInitializersField];
    return initializers;
  }

  json::Value value() const { return value_; }
  // The object is not initialized: it is hidden from lists and watches.
  bool present() const { return !value_.is_null(); }
  json::Value pending() const { return value_["pending"]; }
  // Why initialization has failed: a Status, or null.
  json::Value result() const { return value_["result"]; }
  // Names nothing and has no result: stands for an initialized object.
  bool empty() const { return pending().empty() && result().is_null(); }

 private:
  Initializers() = default;

  json::Value value_;
};

}  // namespace portcullis::api::view
