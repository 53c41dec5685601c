// SPDX-License-Identifier: Apache-2.0

// DefaultStrategy: what can be said about any kind from the catalog alone. Strategies of particular
// kinds derive from it and call it for the common part.
#pragma once

#include "registry/disabled_fields.h"
#include "registry/strategy.h"

namespace portcullis::registry {

// How names of a kind are checked.
enum class NameStyle : std::uint8_t {
  kSubdomain,    // DNS-1123 subdomain
  kLabel,        // DNS-1123 label
  kPathSegment,  // anything that can stand between two slashes: events, disruption budgets
  // Likewise, and a generateName is checked as if it were all of the name: roles, API services.
  kWholePathSegment,
  // DNS-1123 subdomain, declared of the name alone: a generateName is not checked.
  kDeclaredSubdomain,
  kAny,  // what every name is held to once the rest of a new object is right
};

// What a write of the status cannot change of the metadata.
enum class StatusKeeps {
  kNothing,
  kLabels,
  kMetadata,  // labels, annotations, owners and finalizers (ResetObjectMetaForStatus)
  kWholeMetadata,
};

struct Traits {
  bool has_status = false;          // a status subresource: the main resource cannot write status
  bool counts_generation = false;   // metadata.generation is kept
  bool counts_annotations = false;  // a change of annotations alone is a new generation, too
  bool returns_deleted = false;     // see Strategy::ReturnsDeletedObject
  bool created_by_put = false;      // see Strategy::AllowCreateOnUpdate
  bool created_by_apply_status = false;  // see Strategy::AllowCreateOnApplyStatus
  bool needs_version = false;            // not Strategy::AllowUnconditionalUpdate
  StatusKeeps status_keeps = StatusKeeps::kNothing;
  bool free_finalizers = false;  // they need not be qualified names
  bool metadata_last = false;    // see Strategy::ChecksMetadataLast
  NameStyle names = NameStyle::kSubdomain;
  // A list or map that a client sends empty is a new generation: Go's reflect.DeepEqual compares it
  // with the stored object, which has none.
  bool counts_empty = false;
  bool counts_dropped = false;  // the generation is counted before disabled fields are dropped
};

struct Kind;

// Immutable after construction.
class DefaultStrategy : public Strategy {
 public:
  explicit DefaultStrategy(const Kind& kind);  // a row of the table of kinds; outlives this

  bool ChecksMetadataLast() const override;
  json::Value PrepareForCreate(const Context& ctx, json::Value object) const override;
  json::Value PrepareForUpdate(const Context& ctx, json::Value object,
                               json::Value old) const override;
  // The row's functions, then its rules about single fields.
  void Validate(const Context& ctx, json::Value object, api::FieldErrors& errors) const override;
  void ValidateUpdate(const Context& ctx, json::Value object, json::Value old,
                      api::FieldErrors& errors) const override;
  void ValidateBetween(const Context& ctx, json::Value object, json::Value old,
                       api::FieldErrors& errors) const override;
  void Warnings(const Context& ctx, json::Value object,
                std::vector<std::string>& warnings) const override;
  void UpdateWarnings(const Context& ctx, json::Value object, json::Value old,
                      std::vector<std::string>& warnings) const override;
  std::vector<std::string> CheckName(const Context& ctx, std::string_view name,
                                     bool is_prefix) const override;
  std::vector<std::string_view> ResetFields(const Context& ctx) const override;
  std::string_view MetadataChecks(std::string_view subresource) const override;
  bool ReturnsDeletedObject() const override;
  bool AllowCreateOnUpdate() const override;
  bool AllowCreateOnApplyStatus() const override;
  bool AllowUnconditionalUpdate() const override;

 protected:
  const Traits& traits() const;
  // Without the fields of gates that are off; see DisabledFields.
  json::Value WithoutDisabled(const Context& ctx, json::Value object, json::Value old) const;
  // The kind's own fields among them, whose paths are those of the version in which it is judged.
  json::Value WithoutOwnDisabled(const Context& ctx, json::Value object, json::Value old) const;

 private:
  json::Value StatusOf(const Context& ctx, json::Value object, json::Value old) const;
  json::Value Judged(const Context& ctx, json::Value object) const;
  // The context with what was sent in that version, too.
  Context Judging(const Context& ctx) const;

  const Kind& kind_;
  const DisabledFields disabled_;
};

}  // namespace portcullis::registry
