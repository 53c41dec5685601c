// SPDX-License-Identifier: Apache-2.0

#include "library/handle.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "admission/trace/document.h"
#include "admission/trace/trace.h"
#include "api/api_status.h"
#include "base/clock.h"
#include "base/strings.h"
#include "engine/codec/codec.h"
#include "engine/operation_trace.h"
#include "engine/write/write.h"
#include "json/diff.h"
#include "json/reader.h"
#include "json/writer.h"
#include "library/request.h"

namespace portcullis::library {
namespace {

// What an API server writes into the metadata of an object.
constexpr std::string_view kServerFields[] = {"uid",        "resourceVersion", "creationTimestamp",
                                              "generation", "managedFields",   "selfLink"};

json::Value WithoutServerFields(json::Arena& arena, json::Value object) {
  for (const std::string_view field : kServerFields) {
    object = json::RemovePath(arena, object, {"metadata", field});
  }
  return object;
}

base::Status NoOption(std::string_view member, std::string_view wanted) {
  return base::BadRequest(base::StrCat("options.", member, " must be ", wanted));
}

base::Status ReadTexts(json::Value options, std::string_view member,
                       std::vector<std::string>& texts) {
  const json::Value list = options[member];
  if (!list.is_null() && !list.is_array()) return NoOption(member, "a list of texts");
  for (const json::Value one : list.elements()) {
    if (!one.is_string()) return NoOption(member, "a list of texts");
    texts.emplace_back(one.AsString());
  }
  return base::OkStatus();
}

struct OpenOptions {
  offline::ClusterOptions cluster;
  std::vector<std::string> files;
};

base::Result<OpenOptions> ReadOptions(std::string_view text) {
  static constexpr std::string_view kMembers[] = {
      "kubernetesVersion",          "featureGates",
      "enableAdmissionPlugins",     "disableAdmissionPlugins",
      "admissionControlConfigFile", "files"};
  OpenOptions out;
  out.cluster.read_only = true;
  if (text.empty()) return out;
  json::Arena arena;
  const auto parsed = json::Parse(arena, text);
  if (!parsed.ok()) return parsed.status().Annotate("options");
  if (!parsed->is_object()) return base::BadRequest("options must be an object");
  const json::Value options = *parsed;
  for (const json::Member& member : options.members()) {
    const auto* end = std::end(kMembers);
    if (std::find(std::begin(kMembers), end, member.name()) != end) continue;
    return base::BadRequest(base::StrCat("options.", member.name(), " is unknown: there are ",
                                         base::Join(kMembers, ", ")));
  }
  for (const json::Member& gate : options["featureGates"].members()) {
    if (!gate.value.is_bool()) return NoOption("featureGates", "an object of true and false");
    out.cluster.feature_gates[std::string(gate.name())] = gate.value.AsBool();
  }
  out.cluster.kubernetes_version =
      options["kubernetesVersion"].AsString(out.cluster.kubernetes_version);
  out.cluster.admission_control_config_file = options["admissionControlConfigFile"].AsString();
  TRY(ReadTexts(options, "enableAdmissionPlugins", out.cluster.admission_plugins.enable));
  TRY(ReadTexts(options, "disableAdmissionPlugins", out.cluster.admission_plugins.disable));
  TRY(ReadTexts(options, "files", out.files));
  return out;
}

base::Status FirstProblem(const offline::Inputs& inputs) {
  if (inputs.problems.empty()) return base::OkStatus();
  const offline::Problem& problem = inputs.problems.front();
  return base::BadRequest(base::StrCat(problem.place.ToString(), ": ", problem.message));
}

engine::Verb VerbOf(std::string_view operation) {
  if (operation == "CREATE") return engine::Verb::kCreate;
  if (operation == "UPDATE") return engine::Verb::kUpdate;
  if (operation == "DELETE") return engine::Verb::kDelete;
  return operation == "CONNECT" ? engine::Verb::kConnect : engine::Verb::kNone;
}

// The result of portcullis_admit().
class ResultWriter {
 public:
  ResultWriter(engine::Operation& op, const base::Result<engine::Outcome>& outcome)
      : op_(op), arena_(op.arena), outcome_(outcome) {}

  std::string Write(admission::Trace* trace) {
    json::ObjectBuilder result(arena_);
    result.Set("allowed", outcome_.ok())
        .Set("code", outcome_.ok() ? outcome_->code : outcome_.status().http_code());
    if (!outcome_.ok()) {
      result.Set("message", std::string_view(outcome_.status().message()))
          .Set("status", api::StatusToJson(arena_, outcome_.status()));
    }
    AddRecords(result);
    if (outcome_.ok()) AddObject(result);
    if (trace != nullptr) {
      engine::FinishTrace(*trace, outcome_);
      result.Set("trace", admission::TraceDocument(arena_, *trace, engine::DescribeOperation(op_),
                                                   {.hides_config_maps = false}));
    }
    return json::ToString(result.Build());
  }

 private:
  void AddRecords(json::ObjectBuilder& result) {
    json::ArrayBuilder warnings(arena_);
    for (const std::string& text : op_.recorder.warnings()) warnings.Add(std::string_view(text));
    result.Set("warnings", warnings.Build());
    json::ObjectBuilder annotations(arena_);
    for (const admission::AuditAnnotation& one : op_.recorder.annotations()) {
      annotations.Set(arena_.Copy(one.key), std::string_view(one.value));
    }
    result.Set("auditAnnotations", annotations.Build());
  }

  void AddObject(json::ObjectBuilder& result) {
    if (outcome_->plain) return;
    json::Value object = outcome_->object;
    if (outcome_->stored != nullptr) {
      const auto stored = engine::FromStore(op_, outcome_->stored);
      if (stored.ok()) object = *stored;
    }
    if (object.is_null()) return;
    result.Set("object", object);
    if (op_.request_object.is_null() || op_.verb == engine::Verb::kDelete) return;
    result.Set("patch", json::Diff(arena_, WithoutServerFields(arena_, op_.request_object),
                                   WithoutServerFields(arena_, object)));
  }

  engine::Operation& op_;
  json::Arena& arena_;
  const base::Result<engine::Outcome>& outcome_;
};

}  // namespace

base::Result<std::unique_ptr<Handle>> Handle::Open(std::string_view options) {
  OpenOptions read = TRY(ReadOptions(options));
  std::unique_ptr<Handle> handle(new Handle);
  offline::InputOptions paths;
  paths.paths = std::move(read.files);
  const offline::Inputs inputs = offline::ReadInputs(paths);
  TRY(FirstProblem(inputs));
  const base::MutexLock lock(handle->mutex_);
  handle->cluster_ = TRY(offline::Cluster::Create(std::move(read.cluster)));
  TRY(handle->cluster_->MakeRoles());
  TRY(handle->Give(inputs));
  return handle;
}

base::Status Handle::Give(const offline::Inputs& inputs) {
  for (const offline::Manifest* manifest : offline::InOrderOfCreation(inputs)) {
    const base::Status given = GiveOne(*manifest);
    if (!given.ok()) return given.Annotate(manifest->Find({}).ToString());
  }
  return base::OkStatus();
}

base::Status Handle::GiveOne(const offline::Manifest& manifest) {
  engine::Operation op(cluster_->world());
  TRY(engine::ResolveObject(op, manifest.object));
  if (op.resource->namespaced) {
    if (op.ns.empty()) op.ns = "default";
    if (!cluster_->HasNamespace(op.ns)) TRY(cluster_->MakeNamespace(op.ns));
  }
  cluster_->Withdraw(op, manifest.name);
  return cluster_->Give(manifest.object, op.ns);
}

base::Result<int> Handle::Add(std::string_view objects) {
  offline::Inputs inputs;
  offline::ReadText("objects", std::string(objects), true, inputs);
  TRY(FirstProblem(inputs));
  const base::MutexLock lock(mutex_);
  TRY(Give(inputs));
  return static_cast<int>(inputs.manifests.size());
}

base::Status Handle::Resolve(engine::Operation& op, offline::Review& review) {
  if (review.resource.resource.empty()) {
    const bool by_old = !review.subresource.empty() && review.old_object.is_object();
    TRY(engine::ResolveObject(
        op, by_old || !review.object.is_object() ? review.old_object : review.object));
    review.resource = op.resource->resource;
  }
  const auto& [group, version, resource] = review.resource;
  TRY(engine::Resolve(op, {group, version, resource, review.subresource, review.ns, review.name}));
  if (!op.resource->namespaced) {
    op.ns.clear();
  } else if (op.ns.empty()) {
    op.ns = review.manifest.ns.empty() ? "default" : review.manifest.ns;
  }
  return base::OkStatus();
}

// What is stored before the request: a create finds nothing of its name.
base::Status Handle::Prepare(engine::Operation& op, const offline::Review& review) {
  if (!op.ns.empty() && !cluster_->HasNamespace(op.ns)) TRY(cluster_->MakeNamespace(op.ns));
  const json::Value spec = review.object["spec"];
  if (op.resource->resource.resource == "pods" && review.subresource.empty() && spec.is_object()) {
    const std::string_view account = spec["serviceAccountName"].AsString("default");
    if (!cluster_->HasServiceAccount(op.ns, account)) {
      TRY(cluster_->MakeServiceAccount(op.ns, account));
    }
  }
  if (review.operation == "CREATE" && review.subresource.empty()) {
    cluster_->Withdraw(op, review.name);
  } else if (review.old_object.is_object()) {
    cluster_->Withdraw(op, review.name);
    TRY(cluster_->Give(review.old_object, op.ns));
  }
  return base::OkStatus();
}

base::Result<engine::Outcome> Handle::Submit(engine::Operation& op, const offline::Review& review,
                                             bool dry_run) {
  offline::Request request;
  request.verb = VerbOf(review.operation);
  request.user = review.user.name.empty() ? nullptr : &review.user;
  request.dry_run = dry_run;
  if (request.verb == engine::Verb::kConnect) {
    request.parameters = json::ObjectBuilder(op.arena, review.options)
                             .Set("kind", op.kind().kind)
                             .Set("apiVersion", engine::ApiVersion(op.kind()))
                             .Build();
  }
  std::string body;
  if (request.verb == engine::Verb::kCreate) body = json::ToString(review.object);
  if (request.verb == engine::Verb::kUpdate) {
    body = json::ToString(cluster_->AsUpdate(op, review.object));
  }
  request.body = body;
  return cluster_->Submit(op, request);
}

base::Result<std::string> Handle::Admit(std::string_view text) {
  Request asked = TRY(ReadRequest(text));
  offline::Review& review = asked.review;
  if (VerbOf(review.operation) == engine::Verb::kNone) {
    return base::BadRequest(base::StrCat("operation is ", review.operation,
                                         ", not one of CREATE, UPDATE, DELETE, CONNECT"));
  }
  const base::MutexLock lock(mutex_);
  engine::Operation op(cluster_->world());
  TRY(Resolve(op, review));
  store::Store& store = *op.world.store;
  const store::ObjectPtr before =
      review.name.empty() ? nullptr : store.Get(engine::KeyOf(op, review.name));
  TRY(Prepare(op, review));
  std::optional<admission::Trace> trace;
  if (asked.wants_trace) op.recorder.set_trace(&trace.emplace(*op.world.clock));
  const auto outcome = Submit(op, review, asked.dry_run);
  op.recorder.set_trace(nullptr);
  const std::string result = ResultWriter(op, outcome).Write(trace ? &*trace : nullptr);
  // The cluster as it was before.
  const bool names = outcome.ok() && outcome->stored != nullptr;
  const std::string name = names ? std::string(outcome->stored->name()) : review.name;
  if (!name.empty()) cluster_->Withdraw(op, name);
  if (before != nullptr) {
    json::Arena arena;
    TRY(store.Create(engine::KeyOf(op, review.name),
                     engine::EncodeAsIs(arena, before->document().root(), op.resource->custom)));
  }
  return result;
}

base::Result<std::string> Handle::Review(std::string_view body, const review::Scope& scope) const {
  const auto review = TRY(review::Review::Read(cluster_->world(), std::string(body)));
  return review->Answer(scope);
}

}  // namespace portcullis::library
