// SPDX-License-Identifier: Apache-2.0

#include "engine/operation.h"

#include <array>

namespace portcullis::engine {
namespace {

// In the order of Verb.
constexpr std::array<std::string_view, 10> kVerbs = {
    "",        "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection",
    "connect",
};

}  // namespace

std::string_view VerbName(Verb verb) { return kVerbs[static_cast<std::size_t>(verb)]; }

Verb VerbNamed(std::string_view name) {
  for (std::size_t i = 0; i < kVerbs.size(); ++i) {
    if (kVerbs[i] == name) return static_cast<Verb>(i);
  }
  return Verb::kNone;
}

}  // namespace portcullis::engine
