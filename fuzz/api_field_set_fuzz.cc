// SPDX-License-Identifier: Apache-2.0

// Any JSON as FieldsV1: what reads as a set of fields writes as one that is equal, and the laws of
// sets hold. The input is {"a": {…}, "b": {…}}.
#include <cstdlib>

#include "api/patch/field_set.h"
#include "json/reader.h"
#include "json/writer.h"

namespace json = portcullis::json;
using portcullis::api::patch::FieldSet;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  json::Arena arena;
  json::ParseOptions options;
  options.max_depth = 200;
  const auto input = json::Parse(arena, {reinterpret_cast<const char*>(data), size}, options);
  if (!input.ok()) return 0;
  const auto a = FieldSet::FromJson((*input)["a"]);
  if (!a.ok()) {
    if (a.status().message().empty()) std::abort();
    return 0;
  }
  const auto again = FieldSet::FromJson(a->ToJson(arena));
  if (!again.ok() || !(*again == *a)) std::abort();
  for (const auto& path : a->Paths()) {
    if (!a->Has(path)) std::abort();
    (void)portcullis::api::patch::ToText(path);
  }
  const auto b = FieldSet::FromJson((*input)["b"]);
  if (!b.ok()) return 0;
  const FieldSet both = a->Union(*b);
  const FieldSet common = a->Intersection(*b);
  const FieldSet only = a->Difference(*b);
  if (!(both == b->Union(*a)) || !(common == b->Intersection(*a))) std::abort();
  if (!(only.Union(common) == *a) || !only.Intersection(*b).empty()) std::abort();
  if (!(both.Intersection(*a) == *a) || !both.Difference(*a).Difference(*b).empty()) std::abort();
  return 0;
}
