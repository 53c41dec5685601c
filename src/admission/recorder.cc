// SPDX-License-Identifier: Apache-2.0

#include "admission/recorder.h"

#include <algorithm>
#include <utility>

#include "admission/trace/trace.h"
#include "api/selector/label_selector.h"
#include "base/fiber.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "json/writer.h"

namespace portcullis::admission {
namespace {

constexpr std::size_t kTotalRunes = 4096;
constexpr std::size_t kItemRunes = 256;

bool CanBeSent(std::string_view text) {
  if (!base::IsValidUtf8(text)) return false;
  while (!text.empty()) {
    std::size_t size = 0;
    const char32_t rune = base::DecodeRune(text, size);
    if (rune < 0x20 || (rune >= 0x7F && rune < 0xA0)) return false;
    text.remove_prefix(size);
  }
  return true;
}

std::string_view CutToRunes(std::string_view text, std::size_t runes) {
  std::size_t end = 0;
  while (end < text.size() && runes > 0) {
    std::size_t size = 0;
    base::DecodeRune(text.substr(end), size);
    end += size;
    --runes;
  }
  return text.substr(0, end);
}

base::Status CheckKey(std::string_view key) {
  constexpr std::string_view kExample =
      "the right format is a DNS subdomain prefix and '/' and key name. (e.g. "
      "'podsecuritypolicy.admission.k8s.io/admit-policy')";
  if (std::count(key.begin(), key.end(), '/') != 1) {
    return base::BadRequest(base::StrCat("annotation key has invalid format, ", kExample));
  }
  const std::vector<std::string> problems = api::IsQualifiedName(key);
  if (problems.empty()) return base::OkStatus();
  return base::BadRequest(base::StrCat("annotation key has invalid format, ",
                                       base::Join(problems, ","), ". ", kExample));
}

}  // namespace

base::Status Recorder::CheckMayWait() const {
  if (may_wait_ && base::Fiber::MayHoldThread()) return base::OkStatus();
  refused_to_wait_ = true;
  return base::InternalError("the request would have to wait where nothing may");
}

void Recorder::Clear() {
  const std::lock_guard lock(mutex_);
  may_wait_ = true;
  refused_to_wait_ = false;
  warnings_.clear();
  runes_ = 0;
  truncating_ = false;
  seen_.clear();
  annotations_.clear();
  foreign_status_.reset();
  mutating_ = {};
  validating_ = {};
}

void Recorder::Warn(std::string text) {
  if (text.empty() || !CanBeSent(text)) return;
  if (trace_ != nullptr) trace_->AddWarning(text);
  const std::lock_guard lock(mutex_);
  if (truncating_ && runes_ >= kTotalRunes) return;
  if (std::find(seen_.begin(), seen_.end(), text) != seen_.end()) return;
  seen_.push_back(std::move(text));
  const std::string& added = seen_.back();
  const std::size_t length = base::RuneCount(added);
  if (truncating_ || runes_ + length <= kTotalRunes) {
    const std::string_view sent = truncating_ ? CutToRunes(added, kItemRunes) : added;
    runes_ += base::RuneCount(sent);
    warnings_.emplace_back(sent);
    return;
  }
  // Over the budget for the first time: everything so far is sent again, cut.
  truncating_ = true;
  runes_ = 0;
  warnings_.clear();
  for (const std::string& item : seen_) {
    const std::string_view sent = CutToRunes(item, kItemRunes);
    runes_ += base::RuneCount(sent);
    warnings_.emplace_back(sent);
  }
}

std::vector<std::string> Recorder::warnings() const {
  const std::lock_guard lock(mutex_);
  return warnings_;
}

base::Status Recorder::Annotate(std::string_view key, std::string_view value, AuditLevel level) {
  TRY(CheckKey(key));
  const std::lock_guard lock(mutex_);
  for (const AuditAnnotation& old : annotations_) {
    if (old.key != key) continue;
    if (old.value == value) return base::OkStatus();
    return base::BadRequest(base::StrCat(
        "admission annotations are not allowed to be overwritten, key:", base::GoQuote(key),
        ", old value: ", old.value, ", new value:", value));
  }
  if (trace_ != nullptr) trace_->AddAnnotation(key, value);
  annotations_.push_back({std::string(key), std::string(value), level});
  return base::OkStatus();
}

std::vector<AuditAnnotation> Recorder::annotations() const {
  const std::lock_guard lock(mutex_);
  return annotations_;
}

void Recorder::KeepForeignStatus(json::Value status) {
  ForeignStatus foreign;
  if (const json::Value metadata = status["metadata"]; metadata.size() != 0) {
    foreign.metadata_json = json::ToString(metadata);
  }
  const std::string_view word = status["status"].AsString();
  if (word != "Success") foreign.status = word;
  const std::lock_guard lock(mutex_);
  foreign_status_.reset();
  if (!foreign.metadata_json.empty() || !foreign.status.empty()) foreign_status_ = foreign;
}

std::optional<ForeignStatus> Recorder::foreign_status() const {
  const std::lock_guard lock(mutex_);
  return foreign_status_;
}

void Recorder::AddMutatingWebhookTime(std::chrono::nanoseconds time) {
  const std::lock_guard lock(mutex_);
  mutating_ += time;
}

void Recorder::AddValidatingWebhookTime(std::chrono::nanoseconds time) {
  const std::lock_guard lock(mutex_);
  validating_ = std::max(validating_, time);
}

std::chrono::nanoseconds Recorder::mutating_webhook_time() const {
  const std::lock_guard lock(mutex_);
  return mutating_;
}

std::chrono::nanoseconds Recorder::validating_webhook_time() const {
  const std::lock_guard lock(mutex_);
  return validating_;
}

std::string WarningHeader(std::string_view text) {
  std::string out = "299 - \"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out.push_back('\\');
    out.push_back(c);
  }
  out.push_back('"');
  return out;
}

}  // namespace portcullis::admission
