// SPDX-License-Identifier: Apache-2.0

#include "admission/fresh_times.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "json/writer.h"

namespace portcullis::admission {
namespace {

struct Memory : Reinvocation::State {
  bool lost = false;
};

Memory& MemoryOf(Request& request) {
  return request.reinvocation().StateOf<Memory>("(times of managedFields)");
}

// Whether `fields` are some of `all`. A manager that only loses fields to others keeps its time.
bool IsWithin(json::Value fields, json::Value all) {
  if (fields.IsSameAs(all)) return true;
  return std::all_of(fields.members().begin(), fields.members().end(), [&](const auto& field) {
    return all.Has(field.name()) && IsWithin(field.value, all[field.name()]);
  });
}

}  // namespace

bool HasFreshTimes(Request& request) {
  if (request.is_custom() || MemoryOf(request).lost) return false;
  const json::Value before = request.old_object()["metadata"]["managedFields"];
  const json::Value now = request.object()["metadata"]["managedFields"];
  if (now.IsSameAs(before)) return false;
  // By the texts of all but the fields: a client may have sent very many.
  const auto identity = [&](json::Value entry) {
    return json::ToString(json::Without(request.arena(), entry, "fieldsV1"));
  };
  std::unordered_map<std::string, json::Value> old;
  for (const json::Value& entry : before.elements()) old.emplace(identity(entry), entry);
  const auto is_new = [&](json::Value entry) {
    const auto known = old.find(identity(entry));
    return known == old.end() || !IsWithin(entry["fieldsV1"], known->second["fieldsV1"]);
  };
  return std::any_of(now.elements().begin(), now.elements().end(), is_new);
}

void LoseFreshTimes(Request& request) { MemoryOf(request).lost = true; }

}  // namespace portcullis::admission
