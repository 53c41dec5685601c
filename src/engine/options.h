// SPDX-License-Identifier: Apache-2.0

// The options of operations: CreateOptions, UpdateOptions, PatchOptions, DeleteOptions and
// ListOptions of meta.k8s.io/v1, read and checked by the caller (server/rest_options.h reads them
// from a query).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "engine/codec/media_type.h"
#include "json/value.h"

namespace portcullis::engine {

// How unknown and repeated fields of a body are treated.
enum class FieldValidation : std::uint8_t { kIgnore, kWarn, kStrict };

// Options of creates, updates and patches.
struct WriteOptions {
  bool dry_run = false;
  // Who owns the fields that the write sets: the manager given, else the client's own name.
  std::string field_manager;
  FieldValidation validation = FieldValidation::kWarn;
  std::optional<bool> force;  // patches only
  // Creates only: answer with an object that is not initialized yet instead of waiting.
  bool include_uninitialized = false;
  // The options as admission sees them, kind included: CreateOptions or UpdateOptions.
  json::Value as_create;
  json::Value as_update;
};

// The options of a write as its client gave them; what is empty was not given.
struct GivenWriteOptions {
  std::vector<std::string> dry_run;
  std::string_view field_manager;
  std::string_view field_validation;
};

// Sets `as_create` and `as_update`.
void SetOptionsForAdmission(json::Arena& arena, const GivenWriteOptions& given,
                            WriteOptions& options);

// "Ignore", "Warn" or "Strict".
std::string_view FieldValidationName(FieldValidation validation);
// kWarn for "", nothing for other names.
std::optional<FieldValidation> FieldValidationNamed(std::string_view name);

// Of deletions: the object goes although it cannot be read.
inline constexpr std::string_view kIgnoresReadErrors =
    "ignoreStoreReadErrorWithClusterBreakingPotential";

struct DeleteOptions {
  bool dry_run = false;
  bool ignores_read_errors = false;  // never without its gate
  std::optional<std::int64_t> grace_period_seconds;
  std::string uid;                 // preconditions
  std::string resource_version;    // preconditions
  std::string propagation_policy;  // "", Orphan, Background, Foreground
  std::optional<bool> orphan_dependents;
  json::Value value;  // as admission sees them, without what a strategy adds
};

// What is wrong with options of which `value` has been set (ValidateDeleteOptions), as the Status of a
// refusal.
base::Status CheckDeleteOptions(const DeleteOptions& options);

struct ListOptions {
  std::string label_selector;
  std::string field_selector;
  std::string resource_version;
  std::string resource_version_match;
  std::int64_t limit = 0;
  std::string continue_token;
  bool watch = false;
  bool allow_bookmarks = false;
  std::optional<bool> send_initial_events;
  std::optional<std::int64_t> timeout_seconds;
  bool include_uninitialized = false;
  std::string name;  // of the URL, for a watch of one object; else ""
  std::string shard_selector;
};

enum class PatchType : std::uint8_t { kJson, kMerge, kStrategic, kApply };

// What comes with a create, an update, a patch or a connect. The bytes outlive the operation.
struct Input {
  std::string_view body;
  MediaType type = MediaType::kJson;
  PatchType patch = PatchType::kMerge;  // of patches
  // The object of an apply, for callers in this process who have it parsed; null: `body` is YAML
  // or CBOR.
  // Its memory outlives the write.
  json::Value applied;
  WriteOptions options;
  json::Value parameters;  // of a connect or a log: the options object, e.g. PodExecOptions
};

}  // namespace portcullis::engine
