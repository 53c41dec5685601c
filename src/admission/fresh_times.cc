// SPDX-License-Identifier: Apache-2.0

#include "admission/fresh_times.h"

#include <algorithm>

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
  const auto is_new = [&before](json::Value entry) {
    const auto& old = before.elements();
    return std::find(old.begin(), old.end(), entry) == old.end();
  };
  return std::any_of(now.elements().begin(), now.elements().end(), is_new);
}

void LoseFreshTimes(Request& request) { MemoryOf(request).lost = true; }

}  // namespace portcullis::admission
