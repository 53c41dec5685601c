// SPDX-License-Identifier: Apache-2.0

#include "api/annotations.h"

namespace portcullis::api {

std::size_t AnnotationBytes(json::Value annotations) {
  std::size_t total = 0;
  for (const json::Member& annotation : annotations.members()) {
    total += annotation.name().size() + annotation.value.AsString().size();
  }
  return total;
}

}  // namespace portcullis::api
