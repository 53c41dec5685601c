// SPDX-License-Identifier: Apache-2.0

// Conversion of built-in objects between the versions a kind is served in, and of custom resources
// with strategy None. What differs between versions beyond apiVersion is data:
// src/api/data/conversions.rules (docs/internals/defaults.md).
#pragma once

#include <memory>
#include <string_view>

#include "api/names.h"
#include "base/status.h"
#include "json/value.h"

namespace portcullis::api {

// Immutable after construction.
class Converter {
 public:
  static base::Result<std::shared_ptr<const Converter>> Parse(std::string_view rules);
  // The rules that are built in.
  static base::Result<std::shared_ptr<const Converter>> BuiltIn();
  ~Converter();

  // True if objects of `from` can be written as `to` by Convert (same group and kind, or one of the
  // kinds served in two groups, e.g. v1 Event and events.k8s.io/v1 Event).
  bool IsConvertible(const GroupVersionKind& from, const GroupVersionKind& to) const;

  // The object with `to` as its apiVersion and kind and its fields moved where versions differ. The
  // object itself if it already is of that version.
  base::Result<json::Value> Convert(json::Arena& arena, json::Value object,
                                    const GroupVersionKind& to) const;

  // An object of `kind` as it comes back from Kubernetes' internal type, into which every body is
  // decoded: annotations that are fields there are numbers. The object itself for most kinds.
  base::Result<json::Value> ThroughInternal(json::Arena& arena, json::Value object,
                                            const GroupVersionKind& kind) const;

 private:
  struct Rules;
  explicit Converter(std::unique_ptr<const Rules> rules);
  std::unique_ptr<const Rules> rules_;
};

// The same with the built-in rules, which are parsed at the first call.
bool IsConvertible(const GroupVersionKind& from, const GroupVersionKind& to);
base::Result<json::Value> Convert(json::Arena& arena, json::Value object,
                                  const GroupVersionKind& to);
base::Result<json::Value> ThroughInternal(json::Arena& arena, json::Value object,
                                          const GroupVersionKind& kind);

}  // namespace portcullis::api
