// SPDX-License-Identifier: Apache-2.0

#include "controllers/workloads/revisions.h"

#include <algorithm>

#include "base/strings.h"

namespace portcullis::controllers::workloads {

using json::Value;

Value DataOf(json::Arena& arena, Value template_) {
  return json::SetPath(arena, Value(), {"spec", "template"},
                       json::ObjectBuilder(arena, template_).Set("$patch", "replace").Build());
}

Value RevisionWith(const std::vector<Value>& revisions, Value data) {
  for (const Value& revision : revisions) {
    if (revision["data"] == data) return revision;
  }
  return {};
}

std::int64_t NewestNumber(const std::vector<Value>& revisions) {
  std::int64_t newest = 0;
  for (const Value& revision : revisions) newest = std::max(newest, revision["revision"].AsInt());
  return newest;
}

Value MakeRevision(json::Arena& arena, json::ObjectBuilder metadata, std::string_view owner_name,
                   Value labels, Value data, std::int64_t number, std::string_view hash) {
  metadata.Set("name", base::StrCat(owner_name, "-", hash));
  metadata.Set("labels", json::ObjectBuilder(arena, labels).Set(kRevisionHash, hash).Build());
  return json::ObjectBuilder(arena)
      .Set("apiVersion", "apps/v1")
      .Set("kind", "ControllerRevision")
      .Set("metadata", metadata.Build())
      .Set("data", data)
      .Set("revision", number)
      .Build();
}

std::vector<Value> Surplus(std::vector<Value> revisions, const std::vector<std::string_view>& live,
                           std::int64_t limit) {
  std::erase_if(revisions, [&](Value revision) {
    return std::find(live.begin(), live.end(), NameOf(revision)) != live.end();
  });
  std::stable_sort(revisions.begin(), revisions.end(),
                   [](Value a, Value b) { return a["revision"].AsInt() < b["revision"].AsInt(); });
  const auto kept = static_cast<std::size_t>(std::max<std::int64_t>(limit, 0));
  revisions.resize(revisions.size() - std::min(revisions.size(), kept));
  return revisions;
}

}  // namespace portcullis::controllers::workloads
