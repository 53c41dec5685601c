// SPDX-License-Identifier: Apache-2.0

#include "offline/judge.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <span>
#include <utility>

#include "api/api_status.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "engine/codec/codec.h"
#include "engine/operation_trace.h"
#include "json/writer.h"
#include "offline/blame.h"
#include "offline/cases.h"
#include "offline/expand.h"
#include "offline/review.h"

namespace portcullis::offline {
namespace {

using engine::Operation;

// The order in which manifests come into the cluster, so that each is judged by all that the files
// give: policies and webhooks first, for nothing judges them; then what they and plugins look at.
enum Rank : int { kRules, kDefinitions, kRoles, kParameters, kNamespaces, kSurroundings, kOthers };

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

// Of one request: what became of it, and what it was about.
struct Judged {
  bool admitted = false;
  base::Status status;
  json::Value object;  // as it was stored, or would have been; lives as long as the operation
};

class Judging {
 public:
  Judging(const Inputs& inputs, const JudgeOptions& options)
      : inputs_(inputs), options_(options), rules_(inputs.manifests) {}

  base::Result<Report> Run() {
    TRY(Begin());
    report_.problems = inputs_.problems;
    report_.files = inputs_.files;
    report_.ignored = inputs_.ignored;
    return std::move(report_);
  }

  // Judges the manifests; their cluster is there from then on.
  base::Status Begin() {
    cluster_ = TRY(Cluster::Create(options_.cluster));
    CollectParameterKinds();
    const bool has_roles =
        std::any_of(inputs_.manifests.begin(), inputs_.manifests.end(),
                    [&](const Manifest& manifest) { return RankOf(manifest) == kRoles; });
    if (has_roles) TRY(cluster_->MakeRoles());
    report_.results.resize(inputs_.manifests.size());
    std::vector<std::size_t> order(inputs_.manifests.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return RankOf(inputs_.manifests[a]) < RankOf(inputs_.manifests[b]);
    });
    bool ended = false;
    for (const std::size_t i : order) {
      Describe(inputs_.manifests[i], report_.results[i]);
      if (ended) {
        report_.results[i].verdict = Verdict::kSkip;
        continue;
      }
      JudgeOne(inputs_.manifests[i], report_.results[i]);
      ended = options_.fail_fast && report_.results[i].verdict != Verdict::kAllow;
    }
    return base::OkStatus();
  }

  const Report& report() const { return report_; }

  // The request of a case of a test file, whose resource follows from its object.
  void JudgeCase(Review& review, Result& result) {
    Operation op(cluster_->world());
    const base::Status resolved = engine::ResolveObject(op, review.manifest.object);
    if (!resolved.ok()) return Fail(result, review.manifest, resolved);
    review.resource = op.resource->resource;
    if (!op.resource->namespaced) review.ns.clear();
    JudgeReview(review, result);
  }

 private:
  void CollectParameterKinds() {
    for (const Manifest& manifest : inputs_.manifests) {
      if (manifest.group() != "admissionregistration.k8s.io") continue;
      const json::Value kind = manifest.object["spec"]["paramKind"];
      if (!kind.is_object()) continue;
      parameter_kinds_.emplace(kind["apiVersion"].AsString(), kind["kind"].AsString());
    }
  }

  int RankOf(const Manifest& manifest) const {
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

  static void Describe(const Manifest& manifest, Result& result) {
    result.place = manifest.Find({});
    result.api_version = manifest.api_version;
    result.kind = manifest.kind;
    result.ns = manifest.ns;
    result.name = manifest.name;
    if (result.name.empty()) result.name = manifest.object["metadata"]["generateName"].AsString();
  }

  void Fail(Result& result, const Manifest& manifest, const base::Status& status) {
    const admission::Refusal refusal{
        {admission::TraceActor::Kind::kStage, "request", {}, {}}, -1, status};
    result.verdict = Verdict::kError;
    result.code = status.http_code();
    result.message = status.message();
    result.failures = Blame(refusal, {manifest, {}, ""}, rules_);
  }

  // -n and metadata.namespace, as kubectl settles them.
  base::Result<std::string> NamespaceOf(const Manifest& manifest) const {
    if (manifest.ns.empty()) return options_.ns.empty() ? "default" : options_.ns;
    if (!options_.ns.empty() && manifest.ns != options_.ns) {
      return base::BadRequest(base::StrCat(
          "the namespace from the provided object ", base::GoQuote(manifest.ns),
          " does not match the namespace ", base::GoQuote(options_.ns),
          ". You must pass '--namespace=", manifest.ns, "' to perform this operation."));
    }
    return manifest.ns;
  }

  // A recorded request: what it is about is as the review says before it, and gone behind it.
  void JudgeReview(const Review& review, Result& result) {
    const Manifest& manifest = review.manifest;
    Describe(manifest, result);
    result.operation = review.operation;
    if (review.operation == "CONNECT" || !manifest.object.is_object()) {
      result.verdict = Verdict::kSkip;
      result.message = "reviews of CONNECT, and those without an object, are not judged";
      return;
    }
    Operation op(cluster_->world());
    const auto& [group, version, resource] = review.resource;
    const base::Status resolved =
        engine::Resolve(op, {group, version, resource, review.subresource, review.ns, review.name});
    if (!resolved.ok()) return Fail(result, manifest, resolved);
    if (!op.resource->namespaced) op.ns.clear();
    if (!op.ns.empty()) MakeNamespaceOf(op.ns);
    MakeServiceAccountOf(manifest.object, op.ns);
    NameResource(op, result);
    Request request;
    request.user = review.user.name.empty() ? nullptr : &review.user;
    json::Value object = review.object;
    cluster_->Withdraw(op, review.name);
    if (review.operation != "CREATE") {
      const base::Status given = cluster_->Give(review.old_object, op.ns);
      if (!given.ok()) return Fail(result, manifest, given);
      request.verb = review.operation == "UPDATE" ? engine::Verb::kUpdate : engine::Verb::kDelete;
      object = cluster_->AsUpdate(op, object);
    }
    const std::string body = json::ToString(object);
    request.body = body;
    const Judged judged = Submit(op, request, {manifest, {}, ""}, result);
    const int done = review.operation == "CREATE" ? 201 : 200;
    result.code = judged.admitted ? done : judged.status.http_code();
    result.message = judged.status.message();
    if (!judged.admitted) result.verdict = Verdict::kDeny;
    if (judged.admitted && !judged.object.is_null()) result.object = json::ToString(judged.object);
    cluster_->Withdraw(op, review.name);
  }

  static void NameResource(const Operation& op, Result& result) {
    const auto& resource = op.resource->resource;
    result.resource = resource.resource;
    if (!resource.group.empty()) result.resource += base::StrCat(".", resource.group);
    if (!op.subresource_name().empty()) result.resource += base::StrCat("/", op.subresource_name());
    result.ns = op.ns;
  }

  void JudgeOne(const Manifest& manifest, Result& result) {
    if (IsReview(manifest)) return JudgeReview(ReadReview(manifest), result);
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
    GiveWay(manifest, op);
    NameResource(op, result);
    const std::string body = BodyOf(manifest);
    const Judged judged = Submit(op, {.body = body}, {manifest, {}, ""}, result);
    result.code = judged.admitted ? 201 : judged.status.http_code();
    result.message = judged.status.message();
    if (judged.admitted) {
      result.object = json::ToString(judged.object);
    } else {
      result.verdict = Verdict::kDeny;
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

  // What every cluster begins with, or was needed before its turn came, gives way once to the
  // manifest of that name: the files say what it is.
  void GiveWay(const Manifest& manifest, const Operation& op) {
    if (!op.resource->resource.group.empty()) return;
    const std::string& resource = op.resource->resource.resource;
    if (resource == "namespaces" && given_namespaces_.erase(manifest.name) > 0) {
      cluster_->Withdraw(op, manifest.name);
    } else if (resource == "serviceaccounts" && manifest.name == "default" &&
               own_accounts_.insert(op.ns).second) {
      cluster_->Withdraw(op, manifest.name);
    }
  }

  // Nothing is made of an object that no admission controller would let pass.
  static bool IsMalformed(const Result& result) {
    return std::any_of(result.failures.begin(), result.failures.end(), [](const Failure& failure) {
      return failure.source == "decode" || failure.source == "validation";
    });
  }

  // The text of the object; of one in a List its JSON.
  std::string BodyOf(const Manifest& manifest) const {
    if (manifest.steps.empty()) return std::string(manifest.source->text());
    return json::ToString(manifest.object);
  }

  // Where the object that has the same name stands.
  void NoteTwin(const Manifest& manifest, const Operation& op, Result& result) const {
    if (result.code != 409 || result.failures.empty()) return;
    for (const Manifest& other : inputs_.manifests) {
      if (&other == &manifest || other.kind != manifest.kind || other.name != manifest.name)
        continue;
      if (op.resource->namespaced && NamespaceOf(other).ok() && *NamespaceOf(other) != op.ns)
        continue;
      result.failures[0].advice =
          base::StrCat("the same object stands at ", other.Find({}).ToString());
      return;
    }
  }

  Judged Submit(Operation& op, const Request& request, const Blamed& blamed, Result& result) {
    admission::Survey survey(options_.stand_in);
    op.recorder.set_survey(&survey);
    std::optional<admission::Trace> trace;
    if (options_.traces && blamed.subject.empty() && IsOwn(blamed.manifest)) {
      op.recorder.set_trace(&trace.emplace(*cluster_->world().clock));
    }
    auto outcome = cluster_->Submit(op, request);
    op.recorder.set_survey(nullptr);
    op.recorder.set_trace(nullptr);
    Collect(op, survey, result);
    if (trace) result.trace = TraceText(op, *trace, outcome);
    Judged judged;
    judged.admitted = outcome.ok();
    if (outcome.ok()) {
      judged.object = outcome->object;
      if (outcome->stored != nullptr) {
        const auto shown = engine::FromStore(op, outcome->stored);
        if (shown.ok()) judged.object = *shown;
      }
      return judged;
    }
    judged.status = outcome.status();
    for (const admission::Refusal& refusal : survey.refusals())
      AddFailures(refusal, blamed, result);
    if (survey.refusals().empty()) {
      // The decoder, or the store: nothing that a survey asks.
      const bool decoded = !op.request_object.is_null();
      AddFailures({{admission::TraceActor::Kind::kStage, decoded ? "store" : "decode", {}, {}},
                   -1,
                   judged.status},
                  blamed, result);
    }
    return judged;
  }

  // Whether the manifest is of a document of the inputs' own.
  bool IsOwn(const Manifest& manifest) const {
    const std::span<const Manifest> own(inputs_.manifests.data(), inputs_.own);
    return std::any_of(own.begin(), own.end(), [&](const Manifest& other) {
      return other.source == manifest.source && other.steps.size() <= manifest.steps.size() &&
             std::equal(other.steps.begin(), other.steps.end(), manifest.steps.begin());
    });
  }

  static std::string TraceText(const Operation& op, admission::Trace& trace,
                               const base::Result<engine::Outcome>& outcome) {
    engine::FinishTrace(trace, outcome);
    const admission::TraceSubject subject = engine::DescribeOperation(op);
    return json::ToString(
        admission::TraceDocument(op.arena, trace, subject, {.hides_config_maps = false}));
  }

  void AddFailures(const admission::Refusal& refusal, const Blamed& blamed, Result& result) const {
    for (Failure& failure : Blame(refusal, blamed, rules_)) {
      const bool known =
          std::any_of(result.failures.begin(), result.failures.end(), [&](const Failure& other) {
            return other.message == failure.message && other.subject == failure.subject;
          });
      if (!known) result.failures.push_back(std::move(failure));
    }
  }

  static void Collect(const Operation& op, const admission::Survey& survey, Result& result) {
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

  void MakeNamespaceOf(const std::string& ns) {
    if (cluster_->HasNamespace(ns)) return;
    for (const Manifest& manifest : inputs_.manifests) {
      if (manifest.kind != "Namespace" || manifest.name != ns || !manifest.group().empty())
        continue;
      if (cluster_->Give(manifest.object, "").ok()) given_namespaces_.insert(ns);
      return;
    }
    if (options_.strict) return;
    if (cluster_->MakeNamespace(ns).ok()) {
      report_.notes.push_back(
          base::StrCat("namespace ", ns, " is in no file: one without labels was made"));
    }
  }

  void MakeServiceAccountOf(json::Value object, const std::string& ns) {
    if (object["kind"].AsString() != "Pod" || !object["spec"].is_object()) return;
    const std::string name(object["spec"]["serviceAccountName"].AsString("default"));
    if (name.empty() || options_.strict || !cluster_->HasNamespace(ns)) return;
    if (cluster_->HasServiceAccount(ns, name)) return;
    if (cluster_->MakeServiceAccount(ns, name).ok()) {
      report_.notes.push_back(
          base::StrCat("service account ", ns, "/", name, " is in no file: it was made"));
    }
  }

  // Judges what controllers would make of the object, and of that in turn.
  void JudgeExpansions(const Manifest& manifest, json::Value object, const std::string& ns,
                       const std::vector<std::string>& prefix, Result& result) {
    json::Arena arena;
    for (const Expansion& expansion : Expand(arena, object, ns)) {
      std::vector<std::string> path = prefix;
      path.insert(path.end(), expansion.path.begin(), expansion.path.end());
      // A quota is used up by every pod; without one, each pod is judged as the first one is.
      const std::size_t count = cluster_->HasQuota(ns) ? expansion.count : 1;
      for (std::size_t i = 0; i < count; ++i) {
        if (!JudgeExpansion(manifest, expansion, i, {ns, path}, result)) break;
      }
    }
  }

  struct Site {
    const std::string& ns;
    const std::vector<std::string>& path;
  };

  bool JudgeExpansion(const Manifest& manifest, const Expansion& expansion, std::size_t index,
                      const Site& site, Result& result) {
    Operation op(cluster_->world());
    if (!engine::ResolveObject(op, expansion.object).ok()) return false;
    op.ns = site.ns;
    MakeServiceAccountOf(expansion.object, site.ns);
    api::UserInfo user;
    user.name = base::StrCat("system:serviceaccount:kube-system:", expansion.asker);
    user.groups = {"system:serviceaccounts", "system:serviceaccounts:kube-system",
                   std::string(api::kGroupAuthenticated)};
    const std::string kind = base::ToLower(expansion.object["kind"].AsString());
    std::string subject = base::StrCat(kind, " of ", manifest.kind, " ", manifest.name);
    if (index > 0) {
      subject =
          base::StrCat(kind, " ", std::to_string(index + 1), " of ",
                       std::to_string(expansion.count), " of ", manifest.kind, " ", manifest.name);
    }
    const std::size_t before = result.failures.size();
    const std::string body = json::ToString(expansion.object);
    const Judged judged =
        Submit(op, {.body = body, .user = &user}, {manifest, site.path, subject}, result);
    HideGeneratedName(expansion.object, before, result);
    if (!judged.admitted) {
      if (result.verdict == Verdict::kAllow) {
        result.verdict = Verdict::kDeny;
        result.code = judged.status.http_code();
        result.message = result.failures.size() > before ? result.failures[before].message
                                                         : judged.status.message();
        result.object.clear();
      }
    }
    // A ReplicaSet has its Deployment's fields in the same places.
    JudgeExpansions(manifest, judged.admitted ? judged.object : expansion.object, site.ns,
                    site.path, result);
    return judged.admitted;
  }

  // Names that the server would choose differ from run to run; reports do not.
  static void HideGeneratedName(json::Value object, std::size_t first, Result& result) {
    const std::string_view prefix = object["metadata"]["generateName"].AsString();
    if (prefix.empty()) return;
    constexpr std::size_t kRandom = 5;
    const std::string quoted = base::StrCat("\"", prefix);
    for (std::size_t i = first; i < result.failures.size(); ++i) {
      std::string& message = result.failures[i].message;
      const std::size_t at = message.find(quoted);
      if (at == std::string::npos) continue;
      const std::size_t end = at + quoted.size() + kRandom;
      if (end < message.size() && message[end] == '"') {
        message.replace(end - kRandom, kRandom, std::string(kRandom, '?'));
      }
    }
  }

  const Inputs& inputs_;
  const JudgeOptions& options_;
  const Rules rules_;
  std::unique_ptr<Cluster> cluster_;
  std::set<std::pair<std::string, std::string>> parameter_kinds_;
  // Namespaces that were made before they were judged.
  std::set<std::string> given_namespaces_ = {"default", "kube-system", "kube-public",
                                             "kube-node-lease"};
  std::set<std::string> own_accounts_;  // namespaces whose service account "default" is of a file
  Report report_;
};

}  // namespace

std::string_view VerdictText(Verdict verdict) {
  constexpr std::string_view kTexts[] = {"allow", "deny", "error", "skip", "pass", "fail"};
  return kTexts[static_cast<std::size_t>(verdict)];
}

std::size_t Report::Count(Verdict verdict) const {
  return static_cast<std::size_t>(
      std::count_if(results.begin(), results.end(),
                    [&](const Result& result) { return result.verdict == verdict; }));
}

std::size_t Report::warnings() const {
  std::size_t count = 0;
  for (const Result& result : results) count += result.warnings.size();
  return count;
}

std::size_t Report::refusals() const {
  return static_cast<std::size_t>(
      std::count_if(results.begin(), results.end(),
                    [](const Result& result) { return IsRefusal(result.verdict); }));
}

base::Result<Report> Judge(const Inputs& inputs, const JudgeOptions& options) {
  return Judging(inputs, options).Run();
}

namespace {

std::string PathOf(const Manifest& manifest) {
  return std::filesystem::path(manifest.source->path()).lexically_normal().string();
}

// Runs one test file; its results are added to the report. What its own files have that is refused
// would not be there: a problem. Errors are flags' that do not fit.
base::Status RunTest(const Manifest& manifest, std::span<const Manifest> shared,
                     const JudgeOptions& options, std::set<std::string>& used, Report& report) {
  json::Arena arena;
  Location wrong;
  auto read = ReadTest(arena, manifest, wrong);
  if (!read.ok()) {
    report.problems.push_back({wrong, read.status().message()});
    return base::OkStatus();
  }
  TestFile test = *std::move(read);
  Inputs& inputs = test.inputs;
  for (const Manifest& given : inputs.manifests) used.insert(PathOf(given));
  inputs.manifests.insert(inputs.manifests.end(), shared.begin(), shared.end());
  Judging judging(inputs, options);
  TRY(judging.Begin());
  report.files += inputs.files;
  report.problems.insert(report.problems.end(), inputs.problems.begin(), inputs.problems.end());
  for (const Result& given : judging.report().results) {
    if (IsRefusal(given.verdict)) report.problems.push_back({given.place, given.message});
  }
  for (Case& one : test.cases) {
    Result judged;
    judging.JudgeCase(one.review, judged);
    report.results.push_back(Compare(one, manifest, test.name, judged));
  }
  return base::OkStatus();
}

}  // namespace

base::Result<Report> RunTests(const Inputs& inputs, const JudgeOptions& options) {
  Report report;
  report.problems = inputs.problems;
  report.files = inputs.files;
  report.ignored = inputs.ignored;
  // Files of --filename belong to the cluster of every test.
  const std::span<const Manifest> shared = std::span(inputs.manifests).subspan(inputs.own);
  const std::span<const Manifest> own = std::span(inputs.manifests).first(inputs.own);
  std::set<std::string> used;  // the files that tests name
  for (const Manifest& manifest : own) {
    if (IsTest(manifest)) TRY(RunTest(manifest, shared, options, used, report));
  }
  const auto others = std::count_if(own.begin(), own.end(), [&](const Manifest& manifest) {
    return !IsTest(manifest) && !used.contains(PathOf(manifest));
  });
  if (others > 0) {
    report.notes.push_back(base::StrCat(std::to_string(others),
                                        others == 1 ? " manifest is" : " manifests are",
                                        " not judged beside tests: name files without tests"));
  }
  return report;
}

}  // namespace portcullis::offline
