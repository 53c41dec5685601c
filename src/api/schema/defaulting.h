// SPDX-License-Identifier: Apache-2.0

// Defaulting of built-in kinds: what an apiserver fills in before admission and again after each
// change that admission makes.
//
// The defaults are data: src/api/data/defaults.rules, embedded in the program and described in
// docs/internals/defaults.md. Custom resources have theirs in their schema.
#pragma once

#include <memory>
#include <string_view>

#include "api/names.h"
#include "api/schema/schema.h"
#include "base/clock.h"
#include "base/status.h"
#include "json/value.h"
#include "release/release.h"

namespace portcullis::api::schema {

// Immutable after construction.
class Defaulter {
 public:
  // Compiles rules of the format above, as far as the release has them with its gates. Times are
  // filled in by `clock`, which outlives the defaulter; null: they are not.
  static base::Result<std::shared_ptr<const Defaulter>> Parse(
      std::string_view rules, const release::Release& release = release::Release::Newest(),
      const base::Clock* clock = nullptr);
  // The rules that are built in.
  static base::Result<std::shared_ptr<const Defaulter>> BuiltIn(
      const release::Release& release = release::Release::Newest(),
      const base::Clock* clock = nullptr);
  ~Defaulter();

  // The object with its defaults; `object` itself if nothing is missing. Kinds without rules are
  // left alone. Idempotent: what `object` shares with `known`, an earlier state of it that had its
  // defaults, is not looked at. REQUIRES: the object is canonical (schema/decode.h).
  json::Value Apply(json::Arena& arena, const GroupVersionKind& kind, json::Value object,
                    json::Value known = {}) const;

 private:
  struct Rules;
  explicit Defaulter(std::unique_ptr<const Rules> rules);
  std::unique_ptr<const Rules> rules_;
};

// What the defaults of a schema may add to one object, as text. Nothing larger can be stored anyway
// (api/stored_size.h), while a default of each element of a list makes gigabytes
// of a small request.
inline constexpr std::size_t kMaxSchemaDefaults = std::size_t{4} << 20;

// Fills in the `default`s of a structural schema (custom resources) and drops nulls where null is
// neither allowed nor has a default. Fails with RequestTooLargeStatus() beyond kMaxSchemaDefaults.
base::Result<json::Value> ApplySchemaDefaults(json::Arena& arena, const Schema& schema,
                                              json::Value object);

}  // namespace portcullis::api::schema
