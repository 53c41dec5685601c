// SPDX-License-Identifier: Apache-2.0

#include "offline/judging.h"

#include <algorithm>
#include <optional>
#include <span>

#include "base/gotext.h"
#include "base/strings.h"
#include "engine/codec/codec.h"
#include "engine/operation_trace.h"
#include "json/reader.h"
#include "json/writer.h"
#include "offline/coverage.h"
#include "offline/expression_values.h"

namespace portcullis::offline {
namespace {

using engine::Operation;
using engine::Verb;

constexpr std::pair<std::string_view, std::string_view> kSurroundingKinds[] = {
    {"", "LimitRange"},
    {"", "ResourceQuota"},
    {"", "ServiceAccount"},
    {"networking.k8s.io", "IngressClass"},
    {"node.k8s.io", "RuntimeClass"},
    {"scheduling.k8s.io", "PriorityClass"},
    {"storage.k8s.io", "StorageClass"},
    {"storage.k8s.io", "VolumeAttributesClass"},
};

constexpr std::pair<std::string_view, Verb> kOperations[] = {
    {"CREATE", Verb::kCreate}, {"UPDATE", Verb::kUpdate}, {"PATCH", Verb::kPatch},
    {"APPLY", Verb::kPatch},   {"DELETE", Verb::kDelete}, {"CONNECT", Verb::kConnect},
    {"GET", Verb::kGet},
};

Verb VerbOf(std::string_view operation) {
  for (const auto& [name, verb] : kOperations) {
    if (name == operation) return verb;
  }
  return Verb::kNone;
}

std::string KeyText(const Operation& op, std::string_view name) {
  const auto& resource = op.resource->resource;
  return base::StrCat(resource.group, "/", resource.resource, "/", op.ns, "/", name);
}

void NameResource(const Operation& op, Result& result) {
  const auto& resource = op.resource->resource;
  result.resource = resource.resource;
  if (!resource.group.empty()) result.resource += base::StrCat(".", resource.group);
  if (!op.subresource_name().empty()) result.resource += base::StrCat("/", op.subresource_name());
  result.ns = op.ns;
}

std::string TraceText(const Operation& op, admission::Trace& trace,
                      const base::Result<engine::Outcome>& outcome) {
  engine::FinishTrace(trace, outcome);
  const admission::TraceSubject subject = engine::DescribeOperation(op);
  return json::ToString(
      admission::TraceDocument(op.arena, trace, subject, {.hides_config_maps = false}));
}

void CollectPolicies(const admission::Trace& trace, Result& result) {
  for (const admission::TraceStep& step : trace.steps()) {
    if (step.actor.kind != admission::TraceActor::Kind::kPolicy) continue;
    result.policies.push_back({step.actor.name, step.actor.member, step.outcome,
                               std::string(admission::ReasonText(step.reason)), step.message,
                               step.cost});
  }
}

// Counts the request for the policies whose rules match it.
void Cover(const Operation& op, const admission::Trace& trace, bool creates,
           CoverageCounter& coverage) {
  CoveredRequest request;
  const auto& [group, version, resource] = op.resource->resource;
  const bool is_patch = op.verb == Verb::kPatch;
  const Verb verb = is_patch ? (creates ? Verb::kCreate : Verb::kUpdate) : op.verb;
  for (const auto& [name, its_verb] : kOperations) {
    if (its_verb == verb) request.operation = name;
  }
  request.group = group;
  request.version = version;
  request.resource = resource;
  if (!op.subresource_name().empty()) {
    request.resource += base::StrCat("/", op.subresource_name());
  }
  std::set<std::pair<std::string_view, std::string_view>> known;  // by one binding is enough
  for (const admission::TraceStep& step : trace.steps()) {
    if (step.actor.kind != admission::TraceActor::Kind::kPolicy || step.parent < 0) continue;
    const bool passed_over = step.outcome == admission::TraceOutcome::kSkipped &&
                             step.reason != admission::TraceReason::kMatchConditions;
    const auto& plugin = trace.steps()[static_cast<std::size_t>(step.parent)].actor.name;
    if (passed_over || !known.emplace(plugin, step.actor.name).second) continue;
    coverage.Matched(plugin, step.actor.name, request);
  }
}

void Collect(const Operation& op, const admission::Survey& survey, Result& result) {
  for (std::string& warning : op.recorder.warnings()) {
    if (std::find(result.warnings.begin(), result.warnings.end(), warning) ==
        result.warnings.end()) {
      result.warnings.push_back(std::move(warning));
    }
  }
  for (const admission::AuditAnnotation& annotation : op.recorder.annotations()) {
    result.audit_annotations.emplace_back(annotation.key, annotation.value);
  }
  for (const std::string& webhook : survey.skipped_webhooks()) {
    auto& known = result.webhooks_not_called;
    if (std::find(known.begin(), known.end(), webhook) == known.end()) known.push_back(webhook);
  }
}

// Nothing is made of an object that no admission controller would let pass.
bool IsMalformed(const Result& result) {
  return std::any_of(result.failures.begin(), result.failures.end(), [](const Failure& failure) {
    return failure.source == "decode" || failure.source == "validation";
  });
}

// The text of the object; of one in a List its JSON.
std::string BodyOf(const Manifest& manifest) {
  if (manifest.steps.empty()) return std::string(manifest.source->text());
  return json::ToString(manifest.object);
}

// Of the objects that a review has, the one whose kind is the resource's: that of a subresource is
// another kind.
json::Value NamingObject(const Review& review) {
  if (!review.subresource.empty() && review.old_object.is_object()) return review.old_object;
  return review.object.is_object() ? review.object : review.old_object;
}

}  // namespace

Judging::Judging(const Inputs& inputs, const JudgeOptions& options)
    : inputs_(inputs), options_(options), rules_(inputs.manifests, inputs.given) {
  IndexManifests();
}

void Judging::IndexManifests() {
  const auto index = [&](const Manifest& manifest) {
    if (manifest.group().empty() && manifest.kind == "Namespace") {
      namespaces_.emplace(manifest.name, &manifest);
    }
    if (manifest.group() != "admissionregistration.k8s.io") return;
    const json::Value kind = manifest.object["spec"]["paramKind"];
    if (!kind.is_object()) return;
    parameter_kinds_.emplace(kind["apiVersion"].AsString(), kind["kind"].AsString());
  };
  for (const Manifest& manifest : inputs_.given) index(manifest);
  for (const Manifest& manifest : inputs_.manifests) {
    index(manifest);
    twins_[{manifest.kind, manifest.name}].push_back(&manifest);
  }
  for (const Manifest& manifest : std::span(inputs_.manifests).first(inputs_.own)) {
    own_.insert(manifest.source.get());
  }
}

base::Status Judging::Begin() {
  cluster_ = TRY(Cluster::Create(options_.cluster));
  const auto is_role = [&](const Manifest& manifest) { return RankOf(manifest) == kRoles; };
  if (std::any_of(inputs_.manifests.begin(), inputs_.manifests.end(), is_role) ||
      std::any_of(inputs_.given.begin(), inputs_.given.end(), is_role)) {
    TRY(cluster_->MakeRoles());
  }
  report_.notes = rules_.NotesOnBindings();
  GiveAll();
  JudgeManifests();
  is_case_ = true;
  return base::OkStatus();
}

Judging::Rank Judging::RankOf(const Manifest& manifest) const {
  const std::string_view group = manifest.group();
  if (group == "admissionregistration.k8s.io") return kRules;
  if (group == "apiextensions.k8s.io") return kDefinitions;
  if (group == "rbac.authorization.k8s.io") return kRoles;
  if (parameter_kinds_.contains({manifest.api_version, manifest.kind})) return kParameters;
  if (group.empty() && manifest.kind == "Namespace") return kNamespaces;
  for (const auto& [its_group, kind] : kSurroundingKinds) {
    if (group == its_group && manifest.kind == kind) return kSurroundings;
  }
  return kOthers;
}

std::vector<std::size_t> Judging::OrderOf(const std::vector<Manifest>& manifests) const {
  std::vector<std::pair<Rank, std::size_t>> ranked;
  ranked.reserve(manifests.size());
  for (std::size_t i = 0; i < manifests.size(); ++i) ranked.emplace_back(RankOf(manifests[i]), i);
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::size_t> order;
  order.reserve(ranked.size());
  for (const auto& [rank, index] : ranked) order.push_back(index);
  return order;
}

void Judging::GiveAll() {
  for (const std::size_t i : OrderOf(inputs_.given)) {
    const Manifest& manifest = inputs_.given[i];
    const base::Status given = GiveOne(manifest);
    if (given.ok()) continue;
    report_.problems.push_back(
        {manifest.Find({}), base::StrCat("no API server stores ", manifest.kind, " ", manifest.name,
                                         ": ", given.message())});
  }
}

base::Status Judging::GiveOne(const Manifest& manifest) {
  Operation op(cluster_->world());
  TRY(engine::ResolveObject(op, manifest.object));
  if (op.resource->namespaced) {
    op.ns = TRY(NamespaceOf(manifest));
    MakeNamespaceOf(op.ns);
  }
  cluster_->Withdraw(op, manifest.name);
  TRY(cluster_->Give(manifest.object, op.ns));
  stored_.insert(KeyText(op, manifest.name));
  return base::OkStatus();
}

void Judging::JudgeManifests() {
  const bool deletes = options_.asks == Asks::kDelete;
  report_.results.resize(inputs_.manifests.size());
  const std::vector<std::size_t> order = OrderOf(inputs_.manifests);
  bool ended = false;
  if (options_.progress != nullptr) options_.progress->Expect(order.size());
  for (const std::size_t i : order) {
    const Manifest& manifest = inputs_.manifests[i];
    Result& result = report_.results[i];
    Describe(manifest, result);
    if (ended) {
      result.verdict = Verdict::kSkip;
    } else if (deletes && IsOwn(manifest)) {
      if (const base::Status given = GiveOne(manifest); !given.ok()) Fail(result, manifest, given);
    } else {
      JudgeOne(manifest, result);
    }
    ended = ended || (options_.fail_fast && IsRefusal(result.verdict));
    if (options_.progress != nullptr) options_.progress->Done();
  }
  if (deletes) JudgeDeletions(order);
}

// In the opposite order: what rules, namespaces and definitions are for goes before them.
void Judging::JudgeDeletions(const std::vector<std::size_t>& order) {
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    const Manifest& manifest = inputs_.manifests[*at];
    Result& result = report_.results[*at];
    if (!IsOwn(manifest) || result.verdict != Verdict::kAllow) continue;
    Operation op(cluster_->world());
    if (!engine::ResolveObject(op, manifest.object).ok()) continue;
    if (op.resource->namespaced) {
      const auto ns = NamespaceOf(manifest);
      if (!ns.ok()) continue;
      op.ns = *ns;
    }
    result.operation = "DELETE";
    NameResource(op, result);
    Conclude(op, Submit(op, {.verb = Verb::kDelete}, {manifest, {}, ""}, result), result);
  }
}

void Judging::JudgeOne(const Manifest& manifest, Result& result) {
  if (IsReview(manifest)) {
    Review review = ReadReview(manifest);
    return JudgeReview(review, false, result);
  }
  Operation op(cluster_->world());
  if (const base::Status resolved = engine::ResolveObject(op, manifest.object); !resolved.ok()) {
    return Fail(result, manifest, resolved);
  }
  if (op.resource->namespaced) {
    const auto ns = NamespaceOf(manifest);
    if (!ns.ok()) return Fail(result, manifest, ns.status());
    op.ns = *ns;
    MakeNamespaceOf(*ns);
    MakeServiceAccountOf(manifest.object, *ns);
  }
  NameResource(op, result);
  const bool stored = stored_.contains(KeyText(op, manifest.name));
  if (!stored) GiveWay(manifest.name, op);
  Request request;
  std::string body = BodyOf(manifest);
  if (IsOwn(manifest) && options_.asks == Asks::kApply) {
    request.verb = Verb::kPatch;
    request.patch = engine::PatchType::kApply;
    request.force = options_.force_conflicts;
    result.operation = "APPLY";
  } else if (stored) {
    request.verb = Verb::kUpdate;
    body = json::ToString(cluster_->AsUpdate(op, manifest.object));
    result.operation = "UPDATE";
  }
  request.body = body;
  const Judged judged = Submit(op, request, {manifest, {}, ""}, result);
  Conclude(op, judged, result);
  if (!judged.admitted) {
    NoteTwin(manifest, op, result);
    // The others are judged as if it were there: each problem shows up once.
    if (RankOf(manifest) != kOthers) static_cast<void>(cluster_->Give(manifest.object, op.ns));
  }
  const json::Value made = judged.admitted ? judged.object : manifest.object;
  const bool has_place = op.ns.empty() || cluster_->HasNamespace(op.ns);
  if (options_.expand && has_place && (judged.admitted || !IsMalformed(result))) {
    JudgeExpansions(manifest, made, op.ns, {}, result);
  }
}

void Judging::Describe(const Manifest& manifest, Result& result) {
  result.place = manifest.Find({});
  result.api_version = manifest.api_version;
  result.kind = manifest.kind;
  result.ns = manifest.ns;
  result.name = manifest.name;
  if (result.name.empty()) result.name = manifest.object["metadata"]["generateName"].AsString();
}

void Judging::Fail(Result& result, const Manifest& manifest, const base::Status& status) {
  const admission::Refusal refusal{
      {admission::TraceActor::Kind::kStage, "request", {}, {}}, -1, status};
  result.verdict = Verdict::kError;
  result.code = status.http_code();
  result.message = status.message();
  result.failures = Blame(refusal, {manifest, {}, ""}, rules_);
}

// -n and metadata.namespace, as kubectl settles them.
base::Result<std::string> Judging::NamespaceOf(const Manifest& manifest) const {
  if (manifest.ns.empty()) return options_.ns.empty() ? "default" : options_.ns;
  if (!options_.ns.empty() && manifest.ns != options_.ns) {
    return base::BadRequest(
        base::StrCat("the namespace from the provided object ", base::GoQuote(manifest.ns),
                     " does not match the namespace ", base::GoQuote(options_.ns),
                     ". You must pass '--namespace=", manifest.ns, "' to perform this operation."));
  }
  return manifest.ns;
}

base::Status Judging::ResolveReview(Operation& op, Review& review) const {
  if (review.resource.resource.empty()) {
    TRY(engine::ResolveObject(op, NamingObject(review)));
    review.resource = op.resource->resource;
  }
  const auto& [group, version, resource] = review.resource;
  TRY(engine::Resolve(op, {group, version, resource, review.subresource, review.ns, review.name}));
  if (!op.resource->namespaced) op.ns.clear();
  return base::OkStatus();
}

// What is stored before the request. A create finds nothing of its name.
base::Status Judging::Prepare(Operation& op, const Review& review) {
  const bool creates = review.operation == "CREATE" && review.subresource.empty();
  const json::Value stored = review.operation == "CONNECT" ? review.object : review.old_object;
  cluster_->Withdraw(op, review.name);
  if (creates || !stored.is_object()) return base::OkStatus();
  return cluster_->Give(stored, op.ns);
}

void Judging::JudgeReview(Review& review, bool steps, Result& result) {
  const Manifest& manifest = review.manifest;
  Describe(manifest, result);
  result.operation = review.operation;
  Operation op(cluster_->world());
  if (const base::Status resolved = ResolveReview(op, review); !resolved.ok()) {
    return Fail(result, manifest, resolved);
  }
  if (!op.ns.empty()) MakeNamespaceOf(op.ns);
  MakeServiceAccountOf(manifest.object, op.ns);
  NameResource(op, result);
  if (!steps) {
    if (const base::Status given = Prepare(op, review); !given.ok()) {
      return Fail(result, manifest, given.Annotate("the stored object"));
    }
  }
  Request request;
  request.verb = VerbOf(review.operation);
  if (request.verb == Verb::kNone) {
    return Fail(result, manifest,
                base::BadRequest(base::StrCat("no operation is called ", review.operation)));
  }
  request.user = review.user.name.empty() ? nullptr : &review.user;
  request.patch = review.operation == "APPLY" ? engine::PatchType::kApply : review.patch_type;
  request.field_manager = review.field_manager;
  request.force = review.force;
  if (request.verb == Verb::kConnect) {
    request.parameters = json::ObjectBuilder(op.arena, review.options)
                             .Set("kind", op.kind().kind)
                             .Set("apiVersion", engine::ApiVersion(op.kind()))
                             .Build();
  }
  const json::Value object = request.verb == Verb::kUpdate ? cluster_->AsUpdate(op, review.object)
                             : review.operation == "PATCH" ? review.patch
                                                           : review.object;
  const std::string body = request.verb == Verb::kConnect ? "" : json::ToString(object);
  request.body = body;
  const Judged judged = Submit(op, request, {manifest, {}, ""}, result);
  Conclude(op, judged, result);
  if (steps) return;
  cluster_->Withdraw(op, review.name);
  const std::string_view made = judged.object["metadata"]["name"].AsString();
  if (judged.admitted && op.subresource == nullptr) cluster_->Withdraw(op, made);
}

bool Judging::GiveObjectOf(const HttpRequest& request, json::Value known) {
  Operation op(cluster_->world());
  HttpRequest whole = request;
  if (known.is_object()) whole.subresource.clear();  // it is of the whole object
  if (!Resolve(op, whole).ok() || op.subresource != nullptr || op.name.empty()) return false;
  if (known.is_object()) {
    if (known["kind"].AsString() != op.kind().kind) return false;
  } else {
    if (request.method != "PUT") return false;
    const auto object = json::Parse(op.arena, request.body);
    if (!object.ok()) return false;
    known = *object;
  }
  if (op.resource->namespaced) MakeNamespaceOf(op.ns);
  return cluster_->Give(known, op.ns).ok();
}

void Judging::JudgeHttp(const HttpRequest& request, const api::UserInfo& user,
                        const Manifest& manifest, Result& result) {
  Describe(manifest, result);
  result.operation = request.method;
  result.name = request.name;
  Operation op(cluster_->world());
  const base::Status resolved = Resolve(op, request);
  if (!resolved.ok()) {
    result.status = json::ToString(StatusValue(op, resolved));
    Fail(result, manifest, resolved);
    result.verdict = Verdict::kDeny;
    return;
  }
  NameResource(op, result);
  // A log seldom has the namespaces of its requests.
  if (op.resource->namespaced && !options_.strict) MakeNamespaceOf(op.ns);
  const engine::Input input = ReadInput(op, request);
  Request asked;
  asked.verb = op.verb;
  asked.body = request.body;
  asked.type = input.type;
  asked.patch = input.patch;
  asked.options = &input.options;
  asked.parameters = input.parameters;
  asked.user = user.name.empty() ? nullptr : &user;
  const auto deletion = ReadDeleteOptions(op, request);
  const engine::ListOptions list = ReadListOptions(request);
  if (deletion.ok()) asked.deletion = &*deletion;
  asked.list = &list;
  Conclude(op, Submit(op, asked, {manifest, {}, ""}, result), result);
}

// What every cluster begins with, or was needed before its turn came, gives way once to the manifest
// or request of that name: it says what the object is.
bool Judging::GiveWay(const std::string& name, const Operation& op) {
  if (!op.resource->resource.group.empty()) return false;
  const std::string& resource = op.resource->resource.resource;
  const bool gives_way = resource == "namespaces"
                             ? given_namespaces_.erase(name) > 0
                             : resource == "serviceaccounts" && name == "default" &&
                                   own_accounts_.insert(op.ns).second;
  if (gives_way) cluster_->Withdraw(op, name);
  return gives_way;
}

bool Judging::GiveWayTo(const HttpRequest& request) {
  Operation op(cluster_->world());
  const auto object = json::Parse(op.arena, request.body);
  if (!object.ok() || !Resolve(op, request).ok()) return false;
  return GiveWay(std::string((*object)["metadata"]["name"].AsString()), op);
}

// Where the object that has the same name stands.
void Judging::NoteTwin(const Manifest& manifest, const Operation& op, Result& result) const {
  if (result.code != 409 || result.failures.empty()) return;
  const auto found = twins_.find({manifest.kind, manifest.name});
  if (found == twins_.end()) return;
  for (const Manifest* other : found->second) {
    if (other == &manifest) continue;
    if (op.resource->namespaced) {
      const auto ns = NamespaceOf(*other);
      if (ns.ok() && *ns != op.ns) continue;
    }
    result.failures[0].advice =
        base::StrCat("the same object stands at ", other->Find({}).ToString());
    return;
  }
}

Judging::Judged Judging::Submit(Operation& op, const Request& request, const Blamed& blamed,
                                Result& result) {
  admission::Survey survey(options_.stand_in);
  op.recorder.set_survey(&survey);
  std::optional<admission::Trace> trace;
  const bool shown = options_.traces && blamed.subject.empty() && IsOwn(blamed.manifest);
  if (shown || is_case_) op.recorder.set_trace(&trace.emplace(*cluster_->world().clock));
  const bool covers = is_case_ && options_.coverage != nullptr;
  const bool creates = covers && !cluster_->Has(op, op.name);
  ExpressionValues values;
  survey.set_watch(options_.watch);
  if (covers) survey.set_watch(options_.coverage);
  if (shown) survey.set_watch(&values);
  const auto outcome = cluster_->Submit(op, request);
  op.recorder.set_survey(nullptr);
  op.recorder.set_trace(nullptr);
  Collect(op, survey, result);
  if (is_case_) CollectPolicies(*trace, result);
  if (covers) Cover(op, *trace, creates, *options_.coverage);
  if (shown) result.trace = TraceText(op, *trace, outcome);
  if (shown && request.verb != Verb::kPatch) result.sent = request.body;
  Judged judged;
  judged.admitted = outcome.ok();
  if (outcome.ok()) {
    judged.code = outcome->code;
    judged.object = outcome->object;
    if (outcome->stored != nullptr) {
      const auto stored = engine::FromStore(op, outcome->stored);
      if (stored.ok()) judged.object = *stored;
    }
    return judged;
  }
  judged.status = outcome.status();
  judged.code = judged.status.http_code();
  for (const admission::Refusal& refusal : survey.refusals()) AddFailures(refusal, blamed, result);
  for (Failure& failure : result.failures) {
    if (shown) failure.values = values.Of(failure.policy, failure.expression);
  }
  if (!survey.refusals().empty()) return judged;
  // The decoder, or the store: nothing that a survey asks.
  const bool decoded = !op.request_object.is_null();
  AddFailures({{admission::TraceActor::Kind::kStage, decoded ? "store" : "decode", {}, {}},
               -1,
               judged.status},
              blamed, result);
  return judged;
}

void Judging::Conclude(Operation& op, const Judged& judged, Result& result) {
  result.code = judged.code;
  result.message = judged.status.message();
  if (!judged.admitted) result.verdict = Verdict::kDeny;
  if (judged.admitted && !judged.object.is_null()) result.object = json::ToString(judged.object);
  if (!judged.status.ok()) {
    result.status = json::ToString(StatusValue(op, judged.status));
  }
}

void Judging::AddFailures(const admission::Refusal& refusal, const Blamed& blamed,
                          Result& result) const {
  for (Failure& failure : Blame(refusal, blamed, rules_)) {
    const bool known =
        std::any_of(result.failures.begin(), result.failures.end(), [&](const Failure& other) {
          return other.message == failure.message && other.subject == failure.subject;
        });
    if (!known) result.failures.push_back(std::move(failure));
  }
}

void Judging::MakeNamespaceOf(const std::string& ns) {
  if (cluster_->HasNamespace(ns)) return;
  if (const auto found = namespaces_.find(ns); found != namespaces_.end()) {
    if (cluster_->Give(found->second->object, "").ok()) given_namespaces_.insert(ns);
    return;
  }
  if (options_.strict) return;
  if (cluster_->MakeNamespace(ns).ok()) {
    report_.notes.push_back(
        base::StrCat("namespace ", ns, " is in no file: one without labels was made"));
  }
}

void Judging::MakeServiceAccountOf(json::Value object, const std::string& ns) {
  if (object["kind"].AsString() != "Pod" || !object["spec"].is_object()) return;
  const std::string name(object["spec"]["serviceAccountName"].AsString("default"));
  if (name.empty() || options_.strict || !cluster_->HasNamespace(ns)) return;
  if (cluster_->HasServiceAccount(ns, name)) return;
  if (cluster_->MakeServiceAccount(ns, name).ok()) {
    report_.notes.push_back(
        base::StrCat("service account ", ns, "/", name, " is in no file: it was made"));
  }
}

}  // namespace portcullis::offline
