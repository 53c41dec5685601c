// SPDX-License-Identifier: Apache-2.0

// Redaction takes secrets out of audit events: the data of Secrets, tokens, kubectl's copies of objects in
// annotations, the objects of responses, and the fields that a user names. Texts become REDACTED, numbers
// 0, booleans false; names of fields stay, so that the object is still one of its kind.
//
// Immutable after construction; thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "json/value.h"

namespace portcullis::audit {

class Redaction {
 public:
  // Paths of fields of any object: spec.containers[*].env[*].value, metadata.annotations[a.b/c]; behind
  // "RESOURCE:" only of those. * is any element or member.
  static base::Result<Redaction> Create(const std::vector<std::string>& paths);

  json::Value Apply(json::Arena& arena, json::Value event) const;

 private:
  struct Path {
    std::string resource;  // "": any
    std::vector<std::string> steps;
  };
  std::vector<Path> paths_;
};

}  // namespace portcullis::audit
