// SPDX-License-Identifier: Apache-2.0

// Admission as the verbs use it: one chain phase over one object.
#pragma once

#include <optional>
#include <string_view>

#include "admission/asks_outside.h"
#include "admission/request.h"
#include "base/status.h"
#include "engine/operation.h"
#include "json/value.h"

namespace portcullis::engine {

// When the answer is due: the request's own time limit; the handlers of single writes have one
// besides.
base::SteadyTime TimeLimit(const Operation& op);

struct AdmissionInput {
  admission::Operation operation = admission::kCreate;
  std::string_view name;
  json::Value object;
  json::Value old_object;
  json::Value options;
  // Another kind than the call's (the pod of a binding); empty: the call's.
  const api::GroupVersionKind* kind = nullptr;
  // Where it is other than the operation's: the objects of a collection, the options of a deletion.
  std::optional<std::string_view> ns;
  std::optional<bool> dry_run;
  // The server chose the name: a new Namespace is then reviewed without its namespace.
  bool name_generated = false;
};

// The object after the mutating phase.
base::Result<json::Value> RunMutating(Operation& op, const AdmissionInput& input);
// An error too if the answer is overdue when all have agreed.
base::Status RunValidating(Operation& op, const AdmissionInput& input);
// What plugins may wait for before they have judged such an operation.
admission::Waits AdmissionWaits(const Operation& op, admission::Operation operation);
// In a survey a refusal is kept and the request goes on to the validating phase: OK. Otherwise the
// refusal.
base::Status Refuse(Operation& op, std::string_view stage, base::Status refusal);
// Both phases on one record, as deletes have it.
base::Status RunBoth(Operation& op, const AdmissionInput& input);

}  // namespace portcullis::engine
