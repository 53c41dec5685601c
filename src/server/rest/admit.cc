#include "server/rest/admit.h"

#include "admission/chain.h"

namespace portcullis::server::rest {
namespace {

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
    attributes.namespace_name = attributes.name;
  }
  attributes.object = input.object;
  attributes.old_object = input.old_object;
  attributes.options = input.options;
  attributes.dry_run = call.dry_run;
  attributes.user = call.user;
  attributes.deadline = call.deadline;
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
