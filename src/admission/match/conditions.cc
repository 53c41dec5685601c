// SPDX-License-Identifier: Apache-2.0

#include "admission/match/conditions.h"

namespace portcullis::admission::match {

std::vector<MatchCondition> ParseMatchConditions(json::Value list) {
  std::vector<MatchCondition> out;
  out.reserve(list.size());
  for (const json::Value item : list.elements()) {
    out.push_back(
        {std::string(item["name"].AsString()), std::string(item["expression"].AsString())});
  }
  return out;
}

}  // namespace portcullis::admission::match
