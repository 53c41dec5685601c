// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string_view>

#include "base/clock.h"
#include "json/value.h"

namespace portcullis::engine {

struct PodCondition {
  std::string_view type;
  std::string_view reason;   // "": none
  std::string_view message;  // "": none
};

// The pod with the condition true, in the place of one of its type; the time of its transition is
// kept if it was true before (pkg/api/pod, UpdatePodCondition).
json::Value WithTrueCondition(json::Arena& arena, json::Value pod, const PodCondition& condition,
                              const base::Clock& clock);

}  // namespace portcullis::engine
