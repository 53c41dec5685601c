// SPDX-License-Identifier: Apache-2.0

// The elements of keyed lists and sets, and the steps of field paths that name them
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy). Schemas and
// values are borrowed.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "api/patch/field_set.h"
#include "api/schema/schema.h"
#include "json/value.h"

namespace portcullis::api::patch {

// What a key that an element leaves out counts as; null if nothing. OpenAPI gives the required
// fields of Go types their zero value as default.
json::Value KeyDefault(const schema::Schema& list, std::string_view key);

// The step that leads to the element of a keyed list or set.
PathElement StepOf(const schema::Schema& list, json::Value element);

struct Element {
  PathElement step;
  json::Value value;
};

// Whether the element of a keyed list or set has a name there: not one that leaves out all keys, and no
// map or list in a set.
bool HasName(const schema::Schema& list, json::Value element);

// The elements of a keyed list or set with their steps, in order. Only the first of equal steps.
class Elements {
 public:
  Elements(const schema::Schema& list, const json::Value* value) {
    if (value == nullptr) return;
    all_.reserve(value->size());
    for (const json::Value& element : value->elements()) {
      PathElement step = StepOf(list, element);
      nameless_ = nameless_ || !(HoldsKey(step, element) || HasName(list, element));
      if (const auto place = PlaceOf(step)) {
        std::vector<json::Value>& same = repeats_[step];
        if (same.empty()) same.push_back(all_[*place].value);
        same.push_back(element);
        continue;
      }
      if (all_.size() >= kFew) places_.emplace(step, all_.size());
      all_.push_back({std::move(step), element});
      if (all_.size() != kFew) continue;
      for (std::size_t i = 0; i < kFew; ++i) places_.emplace(all_[i].step, i);
    }
  }

  std::optional<std::size_t> PlaceOf(const PathElement& step) const {
    if (all_.size() >= kFew) {
      const auto found = places_.find(step);
      return found == places_.end() ? std::nullopt : std::optional(found->second);
    }
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (all_[i].step == step) return i;
    }
    return std::nullopt;
  }
  // Null if there is none.
  const json::Value* Find(const PathElement& step) const {
    const auto place = PlaceOf(step);
    return place ? &all_[*place].value : nullptr;
  }

  // All elements of this step if there are several, else null.
  const std::vector<json::Value>* Repeats(const PathElement& step) const {
    if (repeats_.empty()) return nullptr;
    const auto found = repeats_.find(step);
    return found == repeats_.end() ? nullptr : &found->second;
  }
  // Whether an element has no name.
  bool nameless() const { return nameless_; }

  std::size_t size() const { return all_.size(); }
  Element& operator[](std::size_t i) { return all_[i]; }
  const Element& operator[](std::size_t i) const { return all_[i]; }
  auto begin() { return all_.begin(); }
  auto end() { return all_.end(); }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }

 private:
  // Whether the step shows already that the element has a name: it has a key in it.
  static bool HoldsKey(const PathElement& step, const json::Value& element) {
    return step.kind == PathElement::Kind::kKey && element.is_object() && step.text != "{}";
  }

  static constexpr std::size_t kFew = 16;  // fewer are searched one by one
  std::vector<Element> all_;
  std::map<PathElement, std::size_t> places_;
  std::map<PathElement, std::vector<json::Value>> repeats_;
  bool nameless_ = false;
};

}  // namespace portcullis::api::patch
