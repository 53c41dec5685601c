// SPDX-License-Identifier: Apache-2.0

#include "api/condition.h"

namespace portcullis::api {

json::Value ConditionOf(json::Value object, std::string_view type) {
  for (const json::Value& condition : object["status"]["conditions"].elements()) {
    if (condition["type"].AsString() == type) return condition;
  }
  return {};
}

bool HasTrueCondition(json::Value object, std::string_view type) {
  return ConditionOf(object, type)["status"].AsString() == "True";
}

}  // namespace portcullis::api
