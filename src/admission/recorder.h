// SPDX-License-Identifier: Apache-2.0

// Recorder: what one HTTP request collects on its way, besides its outcome: warnings for the
// client, annotations for its audit event, and the time spent waiting for webhooks.
//
// The server owns one per HTTP request, and hands it to every Request it makes for it.
// Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "json/value.h"

namespace portcullis::admission {

class Survey;
class Trace;

// The audit level from which on an annotation is part of the audit event.
enum class AuditLevel : std::uint8_t { kMetadata = 1, kRequest = 2, kRequestResponse = 3 };

struct AuditAnnotation {
  std::string key;
  std::string value;
  AuditLevel level = AuditLevel::kMetadata;
};

// What a webhook's Status object may hold and base::Status does not. The server puts it into the
// Status object it answers with.
struct ForeignStatus {
  std::string metadata_json;  // of `metadata`, or "" for an empty one
  std::string status;         // instead of "Failure", or ""
};

// The place a request takes among those that may be under way at once (the server's limits). While
// it waits for somebody else, e.g. a webhook, the place is free for others.
class Place {
 public:
  virtual ~Place() = default;
  virtual void Leave() = 0;
  virtual void Return() = 0;
};

class Recorder {
 public:
  // `place` outlives the recorder's use; null (the default): there are no limits.
  void set_place(Place* place) { place_ = place; }
  Place* place() const { return place_; }

  // Where steps are noted (trace/trace.h); null (the default): nowhere. `trace` outlives the
  // recorder's use. Before the request runs.
  void set_trace(Trace* trace) { trace_ = trace; }
  Trace* trace() const { return trace_; }

  // Collects what refuses the request (survey.h); null (the default): the first refusal ends it.
  // `survey` outlives the recorder's use. Before the request runs.
  void set_survey(Survey* survey) { survey_ = survey; }
  Survey* survey() const { return survey_; }

  // The request runs where nothing may wait, as on fibers anyway, for it is not expected to. A plugin
  // that must hold the thread (its configuration has changed meanwhile) asks first, and fails with it:
  // the caller finds refused_to_wait() and runs the request anew where it may wait, after Clear().
  void ForbidWaiting() { may_wait_ = false; }
  base::Status CheckMayWait() const;
  bool refused_to_wait() const { return refused_to_wait_; }
  // Forgets everything that was recorded, and allows to wait.
  void Clear();

  // Records a warning by the rules of Kubernetes: empty, repeated, with control characters or
  // invalid UTF-8: dropped; over a total of 4096 runes texts are cut to 256 and later ones dropped.
  void Warn(std::string text);
  // The warnings as they are to be sent, in order, without header syntax.
  std::vector<std::string> warnings() const;

  // Why a key or a second value of it is not acceptable, or OK.
  base::Status Annotate(std::string_view key, std::string_view value, AuditLevel level);
  std::vector<AuditAnnotation> annotations() const;

  // Remembers what is peculiar about the Status object of the webhook that has refused the request.
  void KeepForeignStatus(json::Value status);
  std::optional<ForeignStatus> foreign_status() const;

  // Time spent in webhooks: the sum of the mutating calls, the longest of the validating ones.
  void AddMutatingWebhookTime(std::chrono::nanoseconds time);
  void AddValidatingWebhookTime(std::chrono::nanoseconds time);
  std::chrono::nanoseconds mutating_webhook_time() const;
  std::chrono::nanoseconds validating_webhook_time() const;

 private:
  Place* place_ = nullptr;    // set before the request runs
  Trace* trace_ = nullptr;    // likewise
  Survey* survey_ = nullptr;  // likewise
  bool may_wait_ = true;      // likewise
  mutable std::atomic<bool> refused_to_wait_{false};
  mutable std::mutex mutex_;
  std::vector<std::string> warnings_;
  std::size_t runes_ = 0;
  bool truncating_ = false;
  std::vector<std::string> seen_;
  std::vector<AuditAnnotation> annotations_;
  std::optional<ForeignStatus> foreign_status_;
  std::chrono::nanoseconds mutating_{0};
  std::chrono::nanoseconds validating_{0};
};

// Around a wait for somebody else, on the request's thread.
class WaitingForOthers {
 public:
  explicit WaitingForOthers(const Recorder& recorder) : place_(recorder.place()) {
    if (place_ != nullptr) place_->Leave();
  }
  ~WaitingForOthers() {
    if (place_ != nullptr) place_->Return();
  }
  WaitingForOthers(const WaitingForOthers&) = delete;
  WaitingForOthers& operator=(const WaitingForOthers&) = delete;

 private:
  Place* place_;
};

// The value of a `Warning` header: 299 - "<text>", quotes and backslashes escaped.
std::string WarningHeader(std::string_view text);

}  // namespace portcullis::admission
