// SPDX-License-Identifier: Apache-2.0

// What a trace does not show: the contents of Secrets and of ConfigMaps, and tokens.
#pragma once

#include <string_view>
#include <vector>

#include "api/names.h"
#include "json/value.h"

namespace portcullis::admission {

// The places of an object whose values are hidden, as JSON Pointers.
class Hiding {
 public:
  // Of objects of the resource.
  static Hiding Of(const api::GroupVersionResource& resource, std::string_view subresource,
                   bool hides_config_maps);

  // True if texts that others have made of the object may repeat what is hidden: they are not shown.
  bool hides_texts() const { return hides_texts_; }
  // The part of the object at `path` with each hidden scalar as "(hidden)".
  json::Value Part(json::Arena& arena, std::string_view path, json::Value part) const;
  // A JSON Patch of the object likewise.
  json::Value Patch(json::Arena& arena, json::Value patch) const;

 private:
  std::vector<std::string_view> places_;
  bool hides_texts_ = false;
};

}  // namespace portcullis::admission
