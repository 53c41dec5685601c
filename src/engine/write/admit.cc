// SPDX-License-Identifier: Apache-2.0

#include "engine/write/admit.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "admission/chain.h"
#include "admission/errors.h"
#include "admission/survey.h"

namespace portcullis::engine {
namespace {

constexpr std::chrono::seconds kWriteLimit{34};

// When plugins must have answered: never for connections, which may live long.
std::optional<base::SteadyTime> AdmissionDeadline(const Operation& op,
                                                  admission::Operation operation) {
  if (operation == admission::kConnect) return std::nullopt;
  return TimeLimit(op);
}

// A webhook that took all of the time may have been passed over for it.
base::Status Validate(const Operation& op, const admission::Request& request) {
  TRY(op.world.chain->Validate(request));
  const auto& deadline = request.deadline();
  if (deadline && op.world.clock->Steady() >= *deadline) return admission::RequestTimeout();
  return base::OkStatus();
}

// In a survey: the first refusal of all that the request has met.
base::Status Surveyed(const Operation& op) {
  const admission::Survey* survey = op.recorder.survey();
  return survey == nullptr ? base::OkStatus() : survey->first();
}

// The namespace as admission sees it: a Namespace is in itself.
std::string_view NamespaceOf(const Operation& op, const AdmissionInput& input) {
  const api::GroupVersionResource& resource = op.resource->resource;
  if (resource.resource != "namespaces" || !resource.group.empty()) return input.ns.value_or(op.ns);
  return input.name_generated ? std::string_view() : input.name;
}

admission::Attributes MakeAttributes(const Operation& op, const AdmissionInput& input) {
  const api::GroupVersionKind& kind = input.kind != nullptr ? *input.kind : op.kind();
  const bool custom = op.resource->custom && kind == op.resource->kind;
  return {.operation = input.operation,
          .resource = op.resource->resource,
          .subresource = std::string(op.subresource_name()),
          .kind = kind,
          .namespace_name = std::string(NamespaceOf(op, input)),
          .name = std::string(input.name),
          .object = input.object,
          .old_object = input.old_object,
          .options = input.options,
          .dry_run = input.dry_run.value_or(op.dry_run),
          .custom = custom,
          .has_fresh_times = op.has_fresh_times && !custom,
          .sent = op.sent,
          .user = op.user,
          .deadline = AdmissionDeadline(op, input.operation)};
}

}  // namespace

base::SteadyTime TimeLimit(const Operation& op) {
  if (op.verb == Verb::kCreate || op.verb == Verb::kUpdate || op.verb == Verb::kPatch ||
      op.verb == Verb::kDelete) {
    return std::min(op.deadline, op.started + kWriteLimit);
  }
  return op.deadline;
}

base::Result<json::Value> RunMutating(Operation& op, const AdmissionInput& input) {
  if (op.by_server) return input.object;
  if (!op.world.chain->Handles(input.operation, admission::kMutate)) return input.object;
  admission::Request request(MakeAttributes(op, input), op.arena, op.recorder);
  TRY(op.world.chain->Mutate(request));
  op.sent = request.sent();
  return request.object();
}

base::Status RunValidating(Operation& op, const AdmissionInput& input) {
  if (op.by_server) return base::OkStatus();
  if (op.world.chain->Handles(input.operation, admission::kValidate)) {
    const admission::Request request(MakeAttributes(op, input), op.arena, op.recorder);
    TRY(Validate(op, request));
  }
  return Surveyed(op);
}

admission::Waits AdmissionWaits(const Operation& op, admission::Operation operation) {
  if (op.by_server) return admission::Waits::kForNothing;
  json::Arena arena;
  admission::Recorder recorder;
  const AdmissionInput input{.operation = operation, .name = op.name};
  const admission::Request request(MakeAttributes(op, input), arena, recorder);
  const admission::Waits waits = op.world.chain->WaitsOf(request);
  if (waits != admission::Waits::kOnFiber || !op.world.initializers) return waits;
  // A create may have to wait for initializers when its webhooks have been called already.
  return admission::Waits::kOnThread;
}

base::Status Refuse(Operation& op, std::string_view stage, base::Status refusal) {
  admission::Survey* const survey = op.recorder.survey();
  if (survey == nullptr || refusal.ok()) return refusal;
  survey->Add({admission::TraceActor::Kind::kStage, std::string(stage), {}, {}}, refusal,
              survey->refusals().size());
  return base::OkStatus();
}

base::Status RunBoth(Operation& op, const AdmissionInput& input) {
  admission::Request request(MakeAttributes(op, input), op.arena, op.recorder);
  TRY(op.world.chain->Mutate(request));
  TRY(Validate(op, request));
  return Surveyed(op);
}

}  // namespace portcullis::engine
