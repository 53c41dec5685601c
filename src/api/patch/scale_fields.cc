// SPDX-License-Identifier: Apache-2.0

// Kubernetes tells the entries of a parent and of its scale apart by their names, and an Update's
// name holds the version. Since the scale has a version of its own, what an updater owns there is
// always foreign to the parent: it is taken from the parent's entry and comes back as an entry of
// its own, without a time. Appliers have no version in their name and keep what they have.

#include "api/patch/scale_fields.h"

#include <algorithm>
#include <span>
#include <utility>

#include "api/patch/managed_entries.h"

namespace portcullis::api::patch {
namespace {

using json::Value;

constexpr std::string_view kScaleVersion = "autoscaling/v1";

const FieldPathSteps& PathInScale() {
  static const FieldPathSteps kPath = {PathElement::Field("spec"), PathElement::Field("replicas")};
  return kPath;
}

FieldSet Only(const FieldPathSteps& path) {
  FieldSet out;
  out.Insert(std::span(path));
  return out;
}

Value EncodedOrNull(json::Arena& arena, Entries& entries) {
  return entries.empty() ? Value() : EncodeEntries(arena, entries);
}

}  // namespace

base::Result<Value> ScaleManagedFields(json::Arena& arena, Value parent,
                                       const ReplicasPaths& paths) {
  Entries entries = TRY(DecodeEntries(parent));
  Entries out;
  for (Entry& entry : entries) {
    const auto path = paths.find(entry.api_version);
    if (path == paths.end() || path->second.empty()) continue;
    if (!entry.fields->Has(std::span(path->second))) continue;
    entry.api_version = kScaleVersion;
    entry.fields = Only(PathInScale());
    out.push_back(std::move(entry));
  }
  return EncodedOrNull(arena, out);
}

base::Result<Value> ParentManagedFields(json::Arena& arena, Value parent, Value scale,
                                        const ReplicasPaths& paths, std::string_view api_version) {
  Entries entries = TRY(DecodeEntries(parent));
  Entries of_scale = TRY(DecodeEntries(scale));
  Entries out;
  for (Entry& entry : entries) {
    const auto path = paths.find(entry.api_version);
    if (path == paths.end()) continue;
    if (path->second.empty() || !entry.fields->Has(std::span(path->second))) {
      out.push_back(std::move(entry));
      continue;
    }
    const auto same = std::find_if(of_scale.begin(), of_scale.end(),
                                   [&](const Entry& other) { return other.IsSameAs(entry); });
    if (same != of_scale.end()) {
      of_scale.erase(same);
    } else {
      entry.fields.Update(Only(path->second), {});
    }
    if (!entry.fields->empty()) out.push_back(std::move(entry));
  }
  const auto own = paths.find(api_version);
  for (Entry& entry : of_scale) {
    if (own == paths.end() || !entry.fields->Has(std::span(PathInScale()))) continue;
    entry.api_version = api_version;
    entry.time.clear();
    entry.fields = Only(own->second);
    out.push_back(std::move(entry));
  }
  return EncodedOrNull(arena, out);
}

}  // namespace portcullis::api::patch
