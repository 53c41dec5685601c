// SPDX-License-Identifier: Apache-2.0

#include "engine/testing/scenario.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "api/api_status.h"
#include "api/user_info.h"
#include "authz/authorizer.h"
#include "base/clock.h"
#include "base/strings.h"
#include "engine/codec/codec.h"
#include "engine/codec/hidden_fields.h"
#include "engine/engine.h"
#include "engine/read/listing.h"
#include "engine/read/selection.h"
#include "engine/subresources/subresources.h"
#include "engine/testing/expectation.h"
#include "engine/verbs.h"
#include "engine/write/write.h"
#include "json/writer.h"
#include "json/yaml.h"
#include "registry/services/service_network.h"
#include "store/store.h"

namespace portcullis::engine::testing {
namespace {

// All steps of a scenario happen at one moment: the order of managedFields depends on the second. What
// waits goes on.
class OneMoment final : public base::Clock {
 public:
  base::WallTime Now() const override { return now_; }
  base::SteadyTime Steady() const override { return base::SteadyTime::clock::now(); }

 private:
  const base::WallTime now_ = base::WallTime::clock::now();
};

constexpr std::string_view kVerbs[] = {"create", "update",           "patch",   "get",
                                       "delete", "deletecollection", "connect", "list"};

// Denies users the verbs of options.denied.
class DenyingAuthorizer final : public authz::Authorizer {
 public:
  explicit DenyingAuthorizer(json::Value denied) : denied_(denied) {}

  authz::Decision Authorize(const authz::Attributes& attributes) const override {
    authz::Decision decision;
    decision.verdict = authz::Verdict::kAllowed;
    for (const json::Value& verb : denied_[attributes.user->name].elements()) {
      if (verb.AsString() == attributes.verb) decision.verdict = authz::Verdict::kDenied;
    }
    return decision;
  }
  authz::Rules RulesFor(const api::UserInfo&, std::string_view) const override { return {}; }

 private:
  const json::Value denied_;
};

// A step that runs while others do.
struct Started {
  Started(const World& world, std::string its_label) : op(world), label(std::move(its_label)) {}
  Operation op;
  const std::string label;
  std::atomic<bool> done{false};
  base::Result<Outcome> outcome = Outcome();
  std::thread thread;
};

class Scenario {
 public:
  explicit Scenario(std::string_view yaml) : yaml_(yaml) {}
  ~Scenario() {
    for (const auto& started : started_) {
      if (started->thread.joinable()) started->thread.join();
    }
  }

  ScenarioResult Run() {
    const auto parsed = json::ParseYaml(arena_, yaml_);
    if (!parsed.ok()) return Failed(parsed.status().message());
    const json::Value file = *parsed;
    result_.description = std::string(file["description"].AsString());
    CheckNames(file, "the file", {"description", "options", "given", "steps"});
    auto engine = MakeEngine(file["options"]);
    if (!engine.ok()) return Failed(engine.status().message());
    engine_ = *std::move(engine);
    if (!Prepare(file["given"])) return result_;
    for (const json::Value& step : file["steps"].elements()) {
      step_ = base::StrCat("step ", std::to_string(++result_.steps));
      if (step.Has("fact")) step_ += base::StrCat(" (", step["fact"].AsString(), ")");
      RunStep(step);
    }
    if (result_.steps == 0) Note("no steps");
    return result_;
  }

 private:
  ScenarioResult Failed(std::string_view why) {
    Note(why);
    return result_;
  }

  void Note(std::string_view failure) {
    result_.failures.push_back(step_.empty() ? std::string(failure)
                                             : base::StrCat(step_, ": ", failure));
  }

  void CheckNames(json::Value map, std::string_view what,
                  const std::vector<std::string_view>& known) {
    for (const json::Member& member : map.members()) {
      if (std::find(known.begin(), known.end(), member.name()) == known.end()) {
        Note(base::StrCat(what, " has no \"", member.name(), "\""));
      }
    }
  }

  base::Result<std::unique_ptr<Engine>> MakeEngine(json::Value options) {
    CheckNames(options, "options",
               {"featureGates", "runtimeConfig", "disablePlugins", "enablePlugins", "version",
                "admissionControl", "serviceRanges", "denied"});
    EngineOptions made;
    made.clock = &clock_;
    authorizer_.emplace(options["denied"]);
    if (options.Has("denied")) made.authorizer = &*authorizer_;
    for (const json::Value& name : options["admissionControl"].elements()) {
      made.admission_plugins.admission_control.emplace_back(name.AsString());
    }
    for (const json::Member& gate : options["featureGates"].members()) {
      made.feature_gates[std::string(gate.name())] = gate.value.AsBool();
    }
    for (const json::Value& name : options["disablePlugins"].elements()) {
      made.admission_plugins.disable.emplace_back(name.AsString());
    }
    for (const json::Value& name : options["enablePlugins"].elements()) {
      made.admission_plugins.enable.emplace_back(name.AsString());
    }
    if (options.Has("runtimeConfig")) {
      made.runtime_config =
          TRY(api::catalog::ParseRuntimeConfig(options["runtimeConfig"].AsString()));
    }
    if (options.Has("serviceRanges")) {
      made.services =
          TRY(registry::ServiceNetwork::Create(options["serviceRanges"].AsString(), "30000-32767"));
    }
    if (options.Has("version")) made.kubernetes_version = options["version"].AsString();
    return Engine::Create(std::move(made));
  }

  // The namespace "team" with its service account, and what the file says.
  bool Prepare(json::Value given) {
    constexpr std::string_view kAlways[] = {
        R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"team"}})",
        R"({"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"default","namespace":"team"}})",
    };
    for (std::string_view text : kAlways) {
      if (!Give(text)) return false;
    }
    for (const json::Value& object : given.elements()) {
      if (!Give(json::ToString(object))) return false;
    }
    return true;
  }

  bool Give(std::string_view text) {
    Operation op(engine_->world());
    const auto object = json::ParseYaml(op.arena, text);
    base::Status status = object.ok() ? ResolveObject(op, *object) : object.status();
    if (status.ok()) {
      op.verb = Verb::kCreate;
      op.name.clear();
      SetUser(op, "admin");
      Input input;
      input.body = text;
      input.options.field_manager = "given";
      status = Write(op, input).status();
    }
    if (!status.ok()) Note(base::StrCat("given ", text, ": ", status.message()));
    return status.ok();
  }

  static void SetUser(Operation& op, std::string_view name) {
    op.user.name = name;
    op.user.groups.clear();
    if (name == "admin") op.user.groups.emplace_back(api::kGroupMasters);
    op.user.groups.emplace_back(api::kGroupAuthenticated);
  }

  // "deployments.apps" or "pods/eviction" of the step's version.
  base::Status ResolveStep(Operation& op, json::Value step, std::string_view what) {
    const auto slash = base::Cut(what, "/");
    const std::string_view full = slash ? slash->first : what;
    const auto dot = base::Cut(full, ".");
    ResourcePath path;
    path.resource = dot ? dot->first : full;
    path.group = dot ? dot->second : std::string_view();
    path.subresource = slash ? slash->second : std::string_view();
    const auto catalog = engine_->world().catalog->Get();
    const api::catalog::GroupInfo* group = catalog->FindGroup(path.group);
    const std::string_view version = step["version"].AsString();
    for (std::size_t i = 0; group != nullptr && i < group->versions.size(); ++i) {
      const std::string_view served = group->versions[i].version;
      const auto* resource = catalog->Find(path.group, served, path.resource);
      if (resource == nullptr || (!version.empty() && version != served)) continue;
      path.version = served;
      const bool namespaced = resource->namespaced;
      path.ns = !namespaced             ? std::string_view()
                : step.Has("namespace") ? step["namespace"].AsString()
                                        : std::string_view("team");
      path.name = step["name"].AsString();
      return Resolve(op, path);
    }
    return base::InternalError(base::StrCat("no such resource: ", what));
  }

  void RunStep(json::Value step) {
    CheckNames(step, "a step",
               {"fact",
                "create",
                "update",
                "patch",
                "get",
                "delete",
                "deletecollection",
                "connect",
                "namespace",
                "name",
                "version",
                "user",
                "dryRun",
                "body",
                "text",
                "type",
                "manager",
                "validation",
                "force",
                "options",
                "selector",
                "list",
                "start",
                "finish",
                "timeoutMs",
                "includeUninitialized",
                "expect"});
    CheckNames(step["expect"], "expect", ExpectationNames());
    if (step.Has("finish")) return FinishStep(step);
    if (step.Has("start")) return StartStep(step);
    for (std::string_view verb : kVerbs) {
      if (!step.Has(verb)) continue;
      Operation op(engine_->world());
      if (const auto ready = MakeReady(op, step, verb); !ready.ok()) return Note(ready.message());
      const auto outcome = Perform(op, step);
      for (const std::string& text : Differences(op, step["expect"], outcome)) Note(text);
      return;
    }
    Note("no verb");
  }

  base::Status MakeReady(Operation& op, json::Value step, std::string_view verb) {
    op.verb = VerbNamed(verb);
    TRY(ResolveStep(op, step, step[verb].AsString()));
    SetUser(op, step.Has("user") ? step["user"].AsString() : "admin");
    op.dry_run = step["dryRun"].AsBool();
    if (step.Has("timeoutMs")) {
      op.deadline = op.started + std::chrono::milliseconds(step["timeoutMs"].AsInt());
    }
    return base::OkStatus();
  }

  // A create in a thread of its own, from when its object is stored.
  void StartStep(json::Value step) {
    started_.push_back(
        std::make_unique<Started>(engine_->world(), std::string(step["start"].AsString())));
    Started& started = *started_.back();
    if (const auto ready = MakeReady(started.op, step, "create"); !ready.ok()) {
      return Note(ready.message());
    }
    const std::int64_t before = engine_->world().store->revision();
    started.thread = std::thread([this, &started, step] {
      started.outcome = Perform(started.op, step);
      started.done = true;
    });
    while (engine_->world().store->revision() == before && !started.done) {
      std::this_thread::yield();
    }
  }

  void FinishStep(json::Value step) {
    for (const auto& started : started_) {
      if (started->label != step["finish"].AsString() || !started->thread.joinable()) continue;
      started->thread.join();
      for (const std::string& text : Differences(started->op, step["expect"], started->outcome)) {
        Note(text);
      }
      return;
    }
    Note("nothing of this name has been started");
  }

  static base::Result<Outcome> List(Operation& op, const ListOptions& options) {
    return NamesOf(op, TRY(ListObjects(op, options, TRY(ReadSelection(op, options)))));
  }

  static Outcome NamesOf(Operation& op, const Listing& listing) {
    json::ArrayBuilder names(op.arena);
    for (const store::ObjectPtr& object : listing.objects) names.Add(object->name());
    return PlainOutcome(200, names.Build());
  }

  base::Result<Outcome> Perform(Operation& op, json::Value step) {
    if (op.verb == Verb::kList) return List(op, ListOptionsOf(step));
    if (op.verb == Verb::kDelete || op.verb == Verb::kDeleteCollection) return Remove(op, step);
    std::string text;
    if (step.Has("text")) {
      text = step["text"].AsString();
    } else if (step.Has("body")) {
      text = json::ToString(step["body"]);
    }
    Input input;
    input.body = text;
    input.options = OptionsOf(op, step);
    input.parameters = step["options"];
    const std::string_view type = step["type"].AsString();
    if (type == "yaml") input.type = MediaType::kYaml;
    input.patch = type == "json"        ? PatchType::kJson
                  : type == "strategic" ? PatchType::kStrategic
                  : type == "apply"     ? PatchType::kApply
                                        : PatchType::kMerge;
    switch (op.verb) {
      case Verb::kCreate:
      case Verb::kUpdate:
      case Verb::kPatch:
        return Write(op, input);
      case Verb::kConnect:
        return Connect(op, input);
      default:
        return Read(op, input);
    }
  }

  static base::Result<Outcome> Read(Operation& op, const Input& input) {
    if (const Function function = FindFunction(op)) return Finish(op, *function(op, input));
    Outcome outcome;
    outcome.stored = op.world.store->Get(KeyOf(op, op.name));
    if (outcome.stored == nullptr) return api::NotFoundStatus(op.group_resource(), op.name);
    if (op.subresource == nullptr) outcome.stored = TRY(Shown(*op.resource, outcome.stored));
    return outcome;
  }

  static WriteOptions OptionsOf(Operation& op, json::Value step) {
    WriteOptions options;
    options.dry_run = op.dry_run;
    options.include_uninitialized = step["includeUninitialized"].AsBool();
    options.field_manager = step.Has("manager") ? step["manager"].AsString() : "test";
    options.validation =
        FieldValidationNamed(step["validation"].AsString()).value_or(FieldValidation::kWarn);
    if (step.Has("force")) options.force = step["force"].AsBool();
    GivenWriteOptions given;
    if (op.dry_run) given.dry_run = {"All"};
    SetOptionsForAdmission(op.arena, given, options);
    return options;
  }

  base::Result<Outcome> Remove(Operation& op, json::Value step) {
    const json::Value given = step["options"];
    DeleteOptions options;
    options.dry_run = op.dry_run;
    if (given.Has("gracePeriodSeconds")) {
      options.grace_period_seconds = given["gracePeriodSeconds"].AsInt();
    }
    options.uid = given["preconditions"]["uid"].AsString();
    options.resource_version = given["preconditions"]["resourceVersion"].AsString();
    options.propagation_policy = given["propagationPolicy"].AsString();
    if (given.Has("orphanDependents"))
      options.orphan_dependents = given["orphanDependents"].AsBool();
    options.ignores_read_errors = given[kIgnoresReadErrors].AsBool();
    options.value = given.is_object() ? given : json::MakeObject(op.arena, {});
    if (op.verb == Verb::kDelete) return Delete(op, options);
    return NamesOf(op, TRY(DeleteCollection(op, ListOptionsOf(step), options)));
  }

  static ListOptions ListOptionsOf(json::Value step) {
    ListOptions list;
    list.label_selector = step["selector"]["labels"].AsString();
    list.field_selector = step["selector"]["fields"].AsString();
    list.shard_selector = step["selector"]["shards"].AsString();
    list.include_uninitialized = step["includeUninitialized"].AsBool();
    return list;
  }

  const std::string_view yaml_;
  json::Arena arena_;
  const OneMoment clock_;
  std::optional<DenyingAuthorizer> authorizer_;
  std::unique_ptr<Engine> engine_;
  std::vector<std::unique_ptr<Started>> started_;
  ScenarioResult result_;
  std::string step_;
};

}  // namespace

ScenarioResult RunScenario(std::string_view yaml) { return Scenario(yaml).Run(); }

}  // namespace portcullis::engine::testing
