// The options of requests: CreateOptions, UpdateOptions, PatchOptions, DeleteOptions, ListOptions
// and GetOptions, read from the query (and for deletes from the body) and checked with Kubernetes'
// texts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "json/value.h"
#include "server/call.h"
#include "server/codec.h"

namespace portcullis::server {

// Options of creates, updates and patches.
struct WriteOptions {
  bool dry_run = false;
  std::string field_manager;
  FieldValidation validation = FieldValidation::kWarn;
  std::optional<bool> force;  // patches only
  // The options as admission sees them, kind included: CreateOptions or UpdateOptions.
  json::Value as_create;
  json::Value as_update;
};
enum class WriteKind { kCreate, kUpdate, kPatch };
// Also tells the call whether it is a dry run.
base::Result<WriteOptions> ReadWriteOptions(Call& call, WriteKind kind);

// The manager of fields a request writes as: the one given, else the first part of the user agent.
std::string FieldManager(const Call& call, const WriteOptions& options);

struct DeleteOptions {
  bool dry_run = false;
  std::optional<std::int64_t> grace_period_seconds;
  std::string uid;                 // preconditions
  std::string resource_version;    // preconditions
  std::string propagation_policy;  // "", Orphan, Background, Foreground
  std::optional<bool> orphan_dependents;
  json::Value value;  // as admission sees them, without what a strategy adds
};
base::Result<DeleteOptions> ReadDeleteOptions(Call& call);

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
};
base::Result<ListOptions> ReadListOptions(Call& call, bool forced_watch);
// A resourceVersion as a number, 0 for "". An internal error as Kubernetes has it: callers that
// know better say so.
base::Result<std::int64_t> ReadRevision(std::string_view text);

}  // namespace portcullis::server
