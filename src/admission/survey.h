// SPDX-License-Identifier: Apache-2.0

// Survey: makes a request tell everything that refuses it, not only the first refusal. Commands that
// judge manifests use it; the API server never does.
//
//   admission::Survey survey;
//   op.recorder.set_survey(&survey);          // before the operation begins
//   auto outcome = engine::Write(op, input);
//   survey.refusals();                        // empty if the request was admitted
//
// With a survey the chain asks the plugins behind a refusal too, and validation is followed by the
// validating phase even if it fails. Nothing is written then: the operation ends with the first
// refusal, which is the one that kube-apiserver answers with. Later refusals are of the object as far
// as it had come: a mutating plugin that has refused has not changed it.
//
// Confined to the thread that runs the operation. Strings are owned.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admission/trace/trace.h"
#include "base/status.h"
#include "json/value.h"

namespace portcullis::kube_cel {
class Watch;  // kube_cel/evaluation.h
}

namespace portcullis::admission {

struct Refusal {
  // Who refuses: a stage ("validation"), a plugin, a webhook, or a policy with its binding.
  TraceActor actor;
  // Of a policy: the validation that does not hold, from 0; -1: none in particular.
  std::int32_t index = -1;
  base::Status status;
};

// What happens instead of a call to a webhook.
struct WebhookAnswer {
  // The `response` of an AdmissionReview, without its uid; null: the webhook is passed over.
  json::Value response;
};

// Decides which webhooks are called. Thread-safe.
class WebhookStandIn {
 public:
  virtual ~WebhookStandIn() = default;
  // Nothing: the webhook is called.
  virtual std::optional<WebhookAnswer> AnswerFor(std::string_view configuration,
                                                 std::string_view webhook) const = 0;
};

class Survey {
 public:
  // `stand_in` outlives it; null: every webhook is called.
  explicit Survey(const WebhookStandIn* stand_in = nullptr) : stand_in_(stand_in) {}
  Survey(const Survey&) = delete;
  Survey& operator=(const Survey&) = delete;

  // A part of a plugin refuses: one webhook of several, one validation of a policy.
  void AddPart(Refusal refusal) { refusals_.push_back(std::move(refusal)); }
  // A plugin or stage has refused, and would have ended the request. What it refuses as a whole is
  // one more refusal unless its parts have been added since there were `before`, or it has refused
  // in the mutating phase: what it has not set there, it misses in the validating phase.
  void Add(TraceActor actor, const base::Status& status, std::size_t before);

  const std::vector<Refusal>& refusals() const { return refusals_; }
  // What the request is answered with: the status of the first Add(); OK if there was none.
  const base::Status& first() const { return first_; }

  // What stands in for the webhook. One that is passed over is kept in skipped_webhooks().
  std::optional<WebhookAnswer> AnswerFor(std::string_view configuration, std::string_view webhook);
  // Sees what expressions of policies come to; null (the default): nothing does. Outlives the survey.
  void set_watch(kube_cel::Watch* watch) { watch_ = watch; }
  kube_cel::Watch* watch() const { return watch_; }

  // "configuration/webhook", in the order of the requests' rules; each once.
  const std::vector<std::string>& skipped_webhooks() const { return skipped_; }

 private:
  const WebhookStandIn* stand_in_;
  kube_cel::Watch* watch_ = nullptr;
  std::vector<Refusal> refusals_;
  base::Status first_;
  std::vector<std::string> skipped_;
};

}  // namespace portcullis::admission
