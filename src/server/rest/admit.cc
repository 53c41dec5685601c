#include "server/rest/admit.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "admission/chain.h"

namespace portcullis::server::rest {
namespace {

// Besides the request's own time limit, the handlers of single writes have one.
constexpr std::chrono::seconds kWriteLimit{34};

// When plugins must have answered: never for connections, which may live long.
std::optional<base::SteadyTime> AdmissionDeadline(const Call& call,
                                                  admission::Operation operation) {
  if (operation == admission::kConnect) return std::nullopt;
  const std::string& verb = call.info.verb;
  if (verb == "create" || verb == "update" || verb == "patch" || verb == "delete") {
    return std::min(call.deadline, call.exchange->received_at() + kWriteLimit);
  }
  return call.deadline;
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

base::Result<json::Value> RunMutating(Call& call, const AdmissionInput& input) {
  if (!call.env.chain->Handles(input.operation, admission::kMutate)) return input.object;
  admission::Request request(MakeAttributes(call, input), call.arena, call.recorder);
  TRY(call.env.chain->Mutate(request));
  return request.object();
}

base::Status RunValidating(Call& call, const AdmissionInput& input) {
  if (!call.env.chain->Handles(input.operation, admission::kValidate)) return base::OkStatus();
  const admission::Request request(MakeAttributes(call, input), call.arena, call.recorder);
  return call.env.chain->Validate(request);
}

base::Status RunBoth(Call& call, const AdmissionInput& input) {
  admission::Request request(MakeAttributes(call, input), call.arena, call.recorder);
  TRY(call.env.chain->Mutate(request));
  return call.env.chain->Validate(request);
}

}  // namespace portcullis::server::rest
