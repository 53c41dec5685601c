// SPDX-License-Identifier: Apache-2.0

// Small objects for tests of stores and of what reads them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/strings.h"
#include "store/store.h"

namespace portcullis::store::testing {

inline Key ConfigMap(std::string_view ns, std::string_view name) {
  return {"", "configmaps", ns, name};
}

// {"metadata":{name, namespace, uid: "uid-<name>", resourceVersion},"data":{"value": value}}
inline Encoded Encode(std::string_view ns, std::string_view name, std::string_view value = {}) {
  Encoded encoded;
  encoded.bytes = base::StrCat(R"({"metadata":{"name":")", name, R"(","namespace":")", ns,
                               R"(","uid":"uid-)", name, R"(","resourceVersion":")");
  encoded.revision_at = encoded.bytes.size();
  encoded.bytes += base::StrCat(R"("},"data":{"value":")", value, R"("}})");
  return encoded;
}

// Any JSON object whose text contains `"resourceVersion":""`.
inline Encoded EncodeText(std::string_view json) {
  static constexpr std::string_view kMark = R"("resourceVersion":")";
  return {std::string(json), json.find(kMark) + kMark.size()};
}

inline std::vector<std::string> Names(const std::vector<ObjectPtr>& objects) {
  std::vector<std::string> names;
  for (const ObjectPtr& object : objects) names.emplace_back(object->position());
  return names;
}

}  // namespace portcullis::store::testing
