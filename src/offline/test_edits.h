// SPDX-License-Identifier: Apache-2.0

// Changes of a request that may send the expressions of a policy another way: found in what they compare,
// test with has() and loop over. Whether a change does is seen by trying it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "api/schema/schema.h"
#include "json/value.h"
#include "offline/inputs.h"

namespace portcullis::offline {

struct TestEdit {
  enum class Of : std::uint8_t { kObject, kOldObject, kUser };
  Of of = Of::kObject;
  std::string
      path;  // as a test file has it: "spec.containers[0].image"; of a user "name" or "groups"
  json::Value value;  // null removes the field
};

struct TestEdits {
  std::vector<TestEdit> edits;  // each once, in the order of the expressions
  std::shared_ptr<json::Arena> arena = std::make_shared<json::Arena>();  // of the values
};

// `object` is what is changed, `schema` that of its kind; it may be null.
TestEdits EditsFor(const Manifest& policy, const api::schema::Schema* schema, json::Value object);

}  // namespace portcullis::offline
