// SPDX-License-Identifier: Apache-2.0

// Empty lists and maps in the object as the client's text had it (Context::sent): decoding drops them, to
// Go they are set.
#pragma once

#include <cstddef>
#include <map>
#include <string_view>

#include "json/value.h"

namespace portcullis::registry {

// Whether a value that was sent is an empty list or map.
inline bool IsSentEmpty(json::Value sent) {
  return (sent.is_array() || sent.is_object()) && sent.empty();
}

// The object with the empty list or map that was sent as `field`.
json::Value WithSentEmpty(json::Arena& arena, json::Value object, json::Value sent,
                          std::string_view field);

// The elements of a list that was sent: by their names, as an apply sends some of them only.
class SentElements {
 public:
  explicit SentElements(json::Value sent) : sent_(sent) {}

  // That of the element at `index` of the list as it is now. Null if there is none.
  json::Value Find(std::size_t index, json::Value name);

 private:
  const json::Value sent_;
  std::map<std::string_view, json::Value> by_name_;  // empty until an index does not do
};

// Metadata with the empty lists that were sent, in the order of the Go type.
json::Value WithSentLists(json::Arena& arena, json::Value metadata, json::Value sent);

}  // namespace portcullis::registry
