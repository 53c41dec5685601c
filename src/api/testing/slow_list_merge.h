// SPDX-License-Identifier: Apache-2.0

// How a strategic merge patch changes a list of objects by merge key, comparing each element with
// each: the reference that StrategicMerge is compared with. Elements are flat: "name" and "value".
//
// Kubernetes docs, "Strategic Merge Patch": elements are matched by the merge key; "$patch: delete"
// removes all that match; what the patch mentions stands in its order, and what only the server has
// stands in front of the first mentioned element that stood behind it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace portcullis::api::testing {

struct SlowElement {
  std::string name;
  std::string value;
  bool deleted = false;  // "$patch: delete"
  bool operator==(const SlowElement&) const = default;
};
using SlowList = std::vector<SlowElement>;

inline std::optional<std::size_t> SlowPlace(const SlowList& list, const std::string& name) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].name == name) return i;
  }
  return std::nullopt;
}

inline SlowList SlowOrder(const SlowList& merged, const SlowList& wanted, const SlowList& live) {
  const auto sorted_by = [](SlowList list, const SlowList& order) {
    std::stable_sort(list.begin(), list.end(), [&](const SlowElement& a, const SlowElement& b) {
      return SlowPlace(order, a.name).value_or(order.size()) <
             SlowPlace(order, b.name).value_or(order.size());
    });
    return list;
  };
  SlowList mentioned;
  SlowList server_only;
  for (const SlowElement& element : merged) {
    (SlowPlace(wanted, element.name) ? mentioned : server_only).push_back(element);
  }
  mentioned = sorted_by(mentioned, wanted);
  server_only = sorted_by(server_only, live);
  SlowList out;
  std::size_t next = 0;
  for (const SlowElement& element : mentioned) {
    const auto place = SlowPlace(live, element.name);
    while (place && next < server_only.size()) {
      const auto own = SlowPlace(live, server_only[next].name);
      if (!own || *own >= *place) break;
      out.push_back(server_only[next++]);
    }
    out.push_back(element);
  }
  out.insert(out.end(), server_only.begin() + static_cast<std::ptrdiff_t>(next), server_only.end());
  return out;
}

inline SlowList SlowListMerge(const SlowList& live, const SlowList& patch) {
  SlowList merged = live;
  for (const SlowElement& change : patch) {
    if (!change.deleted) continue;
    std::erase_if(merged, [&](const SlowElement& element) { return element.name == change.name; });
  }
  for (const SlowElement& change : patch) {
    if (change.deleted) continue;
    const auto place = SlowPlace(merged, change.name);
    if (place) {
      merged[*place].value = change.value;
    } else {
      merged.push_back(change);
    }
  }
  // What is deleted has a place in neither order.
  SlowList wanted = patch;
  SlowList before = live;
  for (const SlowElement& change : patch) {
    if (!change.deleted) continue;
    std::erase_if(before, [&](const SlowElement& element) { return element.name == change.name; });
  }
  std::erase_if(wanted, [](const SlowElement& element) { return element.deleted; });
  return SlowOrder(merged, wanted, before);
}

}  // namespace portcullis::api::testing
