// SPDX-License-Identifier: Apache-2.0

// Fields behind feature gates: while the gate is off in the release, Kubernetes drops them from what
// a client writes, unless the stored object has them already (pkg/api/pod/util.go and the strategies
// of the kinds).
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "json/value.h"
#include "registry/strategy.h"

namespace portcullis::registry {

struct DisabledField {
  std::string_view gate;
  std::string_view path;             // "volumes[].name": `[]` goes through all elements of a list
  bool drops_empty_parent = false;   // an object that held nothing else goes as well
  std::string_view kept_value = {};  // a value of the field that needs no gate
};

// Such fields of one kind. Immutable after construction, thread-safe.
class DisabledFields {
 public:
  // `fields` must outlive this. REQUIRES: at most kMost.
  explicit DisabledFields(std::span<const DisabledField> fields);

  // `object` without the fields of gates that are off, unless `old` (null for a create) uses one of
  // that gate. `base` is where their paths start: "" or names with dots between them. Nothing is
  // copied if there are none.
  json::Value Drop(const Context& ctx, std::string_view base, json::Value object,
                   json::Value old) const;

  static constexpr std::size_t kMost = 64;

 private:
  using Fields = std::bitset<kMost>;  // by their place in fields_

  // Paths that begin alike share their steps: an object is walked once for all of them.
  struct Step {
    std::string_view name;
    std::uint32_t hash = 0;         // json::HashKey(name)
    bool is_list = false;           // go on with the elements
    bool is_map = false;            // go on with the members
    std::vector<std::size_t> ends;  // the fields whose path ends here
    std::vector<Step> next = {};
  };

  static void Add(std::vector<Step>& steps, std::string_view path, std::size_t field);
  // Adds those that `value` uses.
  void Find(const std::vector<Step>& steps, json::Value value, Fields& found) const;

  std::span<const DisabledField> fields_;
  std::vector<Step> steps_;
};

}  // namespace portcullis::registry
