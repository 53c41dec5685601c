// SPDX-License-Identifier: Apache-2.0

// Review: one AdmissionReview (admission.k8s.io/v1, v1beta1) on its way through the chain of an engine, and
// the answer that a webhook gives: verdict, JSON Patch of what the plugins have changed, warnings, audit
// annotations. Nothing is stored, validated or defaulted: that is done by the API server that asks.
//
//   auto review = TRY(review::Review::Read(engine->world(), body));
//   std::string answer = review->Answer({admission::kMutate});
//
// Owns everything it needs but the world, which outlives it. Confined to one thread at a time.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "admission/recorder.h"
#include "admission/request.h"
#include "base/status.h"
#include "json/value.h"
#include "webhook/review.h"

namespace portcullis::engine {
struct World;
}

namespace portcullis::review {

// Which plugins judge.
struct Scope {
  admission::Phase phase = admission::kValidate;
  std::string_view plugin;  // "": every one of the chain that has the phase
};

class Review {
 public:
  // The body of a webhook's request. Errors (BadRequest): no JSON, no AdmissionReview of these versions, a
  // request without uid or resource, an operation that there is not, no object to create or update.
  static base::Result<std::unique_ptr<Review>> Read(const engine::World& world, std::string body);

  // Before Answer().
  const admission::Attributes& attributes() const { return attributes_; }
  // Until when the caller waits for the answer. Before Answer().
  void set_deadline(std::chrono::steady_clock::time_point deadline) {
    attributes_.deadline = deadline;
  }
  admission::Recorder& recorder() { return recorder_; }

  // Whether a plugin may wait for an answer from outside the process.
  bool MayWait();

  // Judges, and returns the AdmissionReview to answer with. Once.
  std::string Answer(const Scope& scope);
  // After Answer(): the refusal, or OK.
  const base::Status& verdict() const { return verdict_; }

 private:
  explicit Review(const engine::World& world) : world_(world) {}
  base::Status Take(json::Value request);
  base::Status Judge(const Scope& scope);
  base::Result<json::Value> Decode(json::Value object);
  json::Value PatchOf(json::Value sent, json::Value difference, json::Value changed);
  json::Value Response();
  json::Value Annotations();

  const engine::World& world_;
  json::Arena arena_;
  admission::Recorder recorder_;
  webhook::ReviewVersion version_ = webhook::ReviewVersion::kV1;
  std::string_view uid_;
  admission::Attributes attributes_;
  base::Status verdict_;
  json::Value patch_;  // null: nothing was changed
};

}  // namespace portcullis::review
