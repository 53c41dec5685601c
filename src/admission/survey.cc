// SPDX-License-Identifier: Apache-2.0

#include "admission/survey.h"

#include <algorithm>

#include "base/strings.h"

namespace portcullis::admission {

void Survey::Add(TraceActor actor, const base::Status& status, std::size_t before) {
  if (first_.ok()) first_ = status;
  if (refusals_.size() > before) return;
  const bool known = std::any_of(refusals_.begin(), refusals_.end(), [&](const Refusal& other) {
    return other.actor.kind == actor.kind && other.actor.name == actor.name;
  });
  if (!known) AddPart({std::move(actor), -1, status});
}

std::optional<WebhookAnswer> Survey::AnswerFor(std::string_view configuration,
                                               std::string_view webhook) {
  if (stand_in_ == nullptr) return std::nullopt;
  auto answer = stand_in_->AnswerFor(configuration, webhook);
  if (answer && answer->response.is_null()) {
    std::string name = base::StrCat(configuration, "/", webhook);
    if (std::find(skipped_.begin(), skipped_.end(), name) == skipped_.end()) {
      skipped_.push_back(std::move(name));
    }
  }
  return answer;
}

}  // namespace portcullis::admission
