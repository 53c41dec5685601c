#include "server/rest/admit.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "admission/chain.h"
#include "admission/errors.h"

namespace portcullis::server::rest {
namespace {

constexpr std::chrono::seconds kWriteLimit{34};

// When plugins must have answered: never for connections, which may live long.
std::optional<base::SteadyTime> AdmissionDeadline(const Call& call,
                                                  admission::Operation operation) {
  if (operation == admission::kConnect) return std::nullopt;
  return TimeLimit(call);
}

// A webhook that took all of the time may have been passed over for it.
base::Status Validate(const Call& call, const admission::Request& request) {
  TRY(call.env.chain->Validate(request));
  const auto& deadline = request.deadline();
  if (deadline && call.env.clock->Steady() >= *deadline) return admission::RequestTimeout();
  return base::OkStatus();
}

admission::Attributes MakeAttributes(Call& call, const AdmissionInput& input) {
  admission::Attributes attributes;
  attributes.operation = input.operation;
  attributes.resource = call.resource->resource;
  attributes.subresource = call.info.subresource;
  attributes.kind = input.kind != nullptr ? *input.kind : call.kind();
  attributes.namespace_name = call.info.name_space;
  attributes.name = std::string(input.name);
  // A Namespace is in itself.
  if (call.resource->resource.resource == "namespaces" && call.resource->resource.group.empty()) {
    attributes.namespace_name = input.name_generated ? std::string() : attributes.name;
  }
  attributes.object = input.object;
  attributes.old_object = input.old_object;
  attributes.options = input.options;
  attributes.dry_run = call.dry_run;
  attributes.user = call.user;
  attributes.deadline = AdmissionDeadline(call, input.operation);
  return attributes;
}

}  // namespace

base::SteadyTime TimeLimit(const Call& call) {
  const std::string& verb = call.info.verb;
  if (verb == "create" || verb == "update" || verb == "patch" || verb == "delete") {
    return std::min(call.deadline, call.exchange->received_at() + kWriteLimit);
  }
  return call.deadline;
}

base::Result<json::Value> RunMutating(Call& call, const AdmissionInput& input) {
  if (!call.env.chain->Handles(input.operation, admission::kMutate)) return input.object;
  admission::Request request(MakeAttributes(call, input), call.arena, call.recorder);
  TRY(call.env.chain->Mutate(request));
  return request.object();
}

base::Status RunValidating(Call& call, const AdmissionInput& input) {
  if (!call.env.chain->Handles(input.operation, admission::kValidate)) return base::OkStatus();
  const admission::Request request(MakeAttributes(call, input), call.arena, call.recorder);
  return Validate(call, request);
}

base::Status RunBoth(Call& call, const AdmissionInput& input) {
  admission::Request request(MakeAttributes(call, input), call.arena, call.recorder);
  TRY(call.env.chain->Mutate(request));
  return Validate(call, request);
}

}  // namespace portcullis::server::rest
