// SPDX-License-Identifier: Apache-2.0

// --audit-log-truncate-enabled and --audit-webhook-truncate-enabled: no event is larger than what
// the receiver takes.

#include <utility>

#include "audit/sink.h"
#include "base/log.h"
#include "json/reader.h"
#include "json/sorted.h"
#include "json/value.h"
#include "json/writer.h"

namespace portcullis::audit {
namespace {

// The event without what was asked and answered, which its annotation says.
json::Value Truncated(json::Arena& arena, json::Value event) {
  event = json::Without(arena, event, "requestObject");
  event = json::Without(arena, event, "responseObject");
  const json::Value* annotations = event.Find("annotations");
  const json::Value more =
      json::With(arena, annotations == nullptr ? json::MakeObject(arena, {}) : *annotations,
                 "audit.k8s.io/truncated", json::Value::StringView("true"));
  return json::With(arena, event, "annotations", json::Sorted(arena, more));
}

class Truncating final : public Sink {
 public:
  Truncating(std::unique_ptr<Sink> behind, std::size_t max_event_size, OnLost on_lost)
      : behind_(std::move(behind)), max_event_size_(max_event_size), on_lost_(std::move(on_lost)) {}

  base::Status Write(std::string event) override {
    if (IsTooLarge(event)) {
      json::Arena arena;
      const json::Value whole = TRY(json::Parse(arena, event));
      if (whole["level"].AsString() != "Metadata") {
        event = json::ToString(Truncated(arena, whole));
      }
    }
    if (IsTooLarge(event)) {
      base::LogError("audit event is lost",
                     {{"error", "event is too large even after truncating"}});
      on_lost_(1);
      return base::OkStatus();
    }
    return behind_->Write(std::move(event));
  }
  void Flush() override { behind_->Flush(); }

 private:
  // kube-apiserver counts the end of the line, too.
  bool IsTooLarge(const std::string& event) const { return event.size() + 1 > max_event_size_; }

  const std::unique_ptr<Sink> behind_;
  const std::size_t max_event_size_;
  const OnLost on_lost_;
};

}  // namespace

std::unique_ptr<Sink> MakeTruncating(std::unique_ptr<Sink> behind, std::size_t max_event_size,
                                     OnLost on_lost) {
  return std::make_unique<Truncating>(std::move(behind), max_event_size, std::move(on_lost));
}

}  // namespace portcullis::audit
