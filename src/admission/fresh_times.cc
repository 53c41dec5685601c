// SPDX-License-Identifier: Apache-2.0

#include "admission/fresh_times.h"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "json/writer.h"

namespace portcullis::admission {
namespace {

struct Memory : Reinvocation::State {
  bool lost = false;
};

Memory& MemoryOf(Request& request) {
  return request.reinvocation().StateOf<Memory>("(times of managedFields)");
}

}  // namespace

bool HasFreshTimes(Request& request) {
  if (request.is_custom() || MemoryOf(request).lost) return false;
  const json::Value before = request.old_object()["metadata"]["managedFields"];
  const json::Value now = request.object()["metadata"]["managedFields"];
  if (now.IsSameAs(before)) return false;
  // By their texts: a client may have sent very many.
  std::unordered_set<std::string> old;
  for (const json::Value& entry : before.elements()) old.insert(json::ToString(entry));
  const auto is_new = [&old](json::Value entry) { return !old.contains(json::ToString(entry)); };
  return std::any_of(now.elements().begin(), now.elements().end(), is_new);
}

void LoseFreshTimes(Request& request) { MemoryOf(request).lost = true; }

}  // namespace portcullis::admission
