// SPDX-License-Identifier: Apache-2.0

// Metadata: what everything with metadata is asked for again and again. A non-owning view.
#pragma once

#include <cstdint>
#include <string_view>

#include "json/value.h"

namespace portcullis::api::view {

class Metadata {
 public:
  explicit Metadata(json::Value object) : metadata_(object["metadata"]) {}
  std::string_view name() const { return metadata_["name"].AsString(); }
  std::string_view generate_name() const { return metadata_["generateName"].AsString(); }
  std::string_view namespace_name() const { return metadata_["namespace"].AsString(); }
  std::string_view uid() const { return metadata_["uid"].AsString(); }
  std::string_view resource_version() const { return metadata_["resourceVersion"].AsString(); }
  std::string_view creation_timestamp() const { return metadata_["creationTimestamp"].AsString(); }
  std::string_view deletion_timestamp() const { return metadata_["deletionTimestamp"].AsString(); }
  std::int64_t generation() const { return metadata_["generation"].AsInt(); }
  bool is_being_deleted() const { return !deletion_timestamp().empty(); }
  json::Value labels() const { return metadata_["labels"]; }
  json::Value annotations() const { return metadata_["annotations"]; }
  json::Value finalizers() const { return metadata_["finalizers"]; }
  json::Value owner_references() const { return metadata_["ownerReferences"]; }
  std::string_view label(std::string_view key) const { return labels()[key].AsString(); }
  std::string_view annotation(std::string_view key) const { return annotations()[key].AsString(); }
  // The OwnerReference with controller: true, or null.
  json::Value controller() const;
  json::Value value() const { return metadata_; }

 private:
  json::Value metadata_;
};

}  // namespace portcullis::api::view
