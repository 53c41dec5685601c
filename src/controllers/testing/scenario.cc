// SPDX-License-Identifier: Apache-2.0

#include "controllers/testing/scenario.h"

#include <unistd.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "authz/modes.h"
#include "base/strings.h"
#include "base/testing/fake_clock.h"
#include "controllers/address_book.h"
#include "controllers/api_service_availability.h"
#include "controllers/controller.h"
#include "controllers/coordinated_election.h"
#include "controllers/custom_api_services.h"
#include "controllers/default_service_cidr.h"
#include "controllers/flow_control_objects.h"
#include "controllers/identity_lease.h"
#include "controllers/kubernetes_service.h"
#include "engine/boot/boot_objects.h"
#include "engine/engine.h"
#include "engine/testing/difference.h"
#include "engine/verbs.h"
#include "engine/write/write.h"
#include "json/writer.h"
#include "json/yaml.h"
#include "kube_cel/compiler.h"
#include "store/memory/memory_store.h"

namespace portcullis::controllers::testing {
namespace {

using engine::Verb;
using json::Value;

constexpr int kMostRounds = 1000;
constexpr std::string_view kRootCa = "-----BEGIN CERTIFICATE-----";

// The text with every `from` replaced.
std::string Replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  for (std::size_t at = text.find(from); at != std::string_view::npos; at = text.find(from)) {
    out.append(text.substr(0, at)).append(to);
    text.remove_prefix(at + from.size());
  }
  return out.append(text);
}

std::string LeaseName() {
  char host[256] = {};
  return ServerIdentity(gethostname(host, sizeof(host) - 1) == 0 ? host : "");
}

// "$any" stands for the rest of the text.
bool Fits(std::string_view wanted, std::string_view note) {
  return wanted.ends_with("$any") ? note.starts_with(wanted.substr(0, wanted.size() - 4))
                                  : note == wanted;
}

const ControllerInfo* FindController(std::string_view name) {
  std::vector<const ControllerInfo*> all = AllControllers();
  all.insert(all.end(),
             {&kIdentityLease, &kCustomApiServices, &kApiServiceAvailability,
              &kAggregatedAvailability, &kAddressRepair, &kKubernetesService, &kDefaultServiceCidr,
              &kFlowControlObjects, &kFlowSchemaStatus, &kCoordinatedElection});
  for (const ControllerInfo* info : all) {
    if (info->name == name) return info;
  }
  return nullptr;
}

// Notes what is asked for, and lets it be done unless the scenario refuses it.
class NotingClient final : public Client {
 public:
  NotingClient(const engine::World& world, Identity identity)
      : client_(MakeClient(world, std::move(identity))) {}

  base::Result<store::ObjectPtr> Do(const Request& request) override {
    const std::string_view name =
        request.name.empty() ? request.body["metadata"]["name"].AsString() : request.name;
    std::string note = base::StrCat(engine::VerbName(request.verb), " ", request.resource.resource);
    if (!request.subresource.empty()) note += base::StrCat("/", request.subresource);
    note += request.ns.empty() ? " " : base::StrCat(" ", request.ns, "/");
    if (request.verb != Verb::kDeleteCollection) note += name;
    notes_.push_back(std::move(note));
    if (refusal_ && refusal_->first == request.verb) {
      return base::Status(std::exchange(refusal_, std::nullopt)->second, "refused by the scenario");
    }
    return client_->Do(request);
  }

  std::vector<std::string> TakeNotes() { return std::exchange(notes_, {}); }
  void RefuseNext(Verb verb, base::Reason reason) { refusal_ = {verb, reason}; }
  bool refuses() const { return refusal_.has_value(); }

 private:
  const std::unique_ptr<Client> client_;
  std::vector<std::string> notes_;
  std::optional<std::pair<Verb, base::Reason>> refusal_;
};

// What ControllerRunner does, without a thread.
class Driver final : public store::Observer {
 public:
  Driver(const ControllerInfo& info, const ControllerContext& context, store::Store& store)
      : info_(info), context_(context), controller_(info.create(context)), store_(store) {}

  void Start() {
    subscription_ = store_.Subscribe({info_.hears.begin(), info_.hears.end()}, *this,
                                     [this] { AddExisting(); });
  }

  void OnCommit(std::span<const store::EventPtr> events) override {
    for (const store::EventPtr& event : events) Tell(*event);
  }

  // Until there is nothing to do; false if that does not end.
  bool Work() {
    for (int round = 0; round < kMostRounds; ++round) {
      TakeDue();
      if (ready_.empty()) return true;
      const std::string key = *ready_.begin();
      ready_.erase(ready_.begin());
      later_.erase(key);
      if (const auto again = controller_->Reconcile(key)) {
        later_[key] = context_.clock.Steady() + *again;
      }
    }
    return false;
  }

  // The time until it looks again by itself.
  std::optional<base::Duration> Next() const {
    std::optional<base::Duration> next;
    for (const auto& [key, at] : later_) {
      const base::Duration wait = at - context_.clock.Steady();
      next = next ? std::min(*next, wait) : wait;
    }
    return next;
  }

 private:
  void Tell(const store::Event& event) {
    controller_->OnEvent(event, [this](std::string key) { ready_.insert(std::move(key)); });
  }

  void AddExisting() {
    std::set<std::pair<std::string_view, std::string_view>> collections;
    for (const store::Collection& collection : info_.hears) {
      collections.emplace(collection.group, collection.resource);
    }
    const auto catalog = context_.catalog.Get();
    for (const auto* resource : catalog->resources()) {
      if (!info_.hears.empty()) break;
      collections.emplace(resource->storage_kind.group, resource->resource.resource);
    }
    for (const auto& [group, resource] : collections) {
      for (const store::ObjectPtr& object : store_.List({group, resource})) {
        store::Event event;
        event.revision = object->revision();
        event.object = object;
        Tell(event);
      }
    }
  }

  void TakeDue() {
    for (auto at = later_.begin(); at != later_.end();) {
      if (at->second > context_.clock.Steady()) {
        ++at;
        continue;
      }
      ready_.insert(at->first);
      at = later_.erase(at);
    }
  }

  const ControllerInfo& info_;
  const ControllerContext& context_;
  const std::unique_ptr<Controller> controller_;
  store::Store& store_;
  std::set<std::string> ready_;
  std::map<std::string, base::SteadyTime> later_;
  std::unique_ptr<store::Subscription> subscription_;
};

class Scenario {
 public:
  explicit Scenario(std::string_view yaml) : yaml_(Replaced(yaml, "$lease", LeaseName())) {}

  ScenarioResult Run() {
    const base::Status prepared = Prepare();
    if (!prepared.ok()) {
      Note(prepared.message());
      return result_;
    }
    Judge(file_["start"]);
    for (const Value& step : file_["steps"].elements()) {
      where_ = base::StrCat("step ", std::to_string(++result_.steps), ": ");
      CheckNames(step, {"create", "patch", "delete", "advance", "subresource", "policy", "refuse",
                        "expect"});
      const base::Status done = Act(step);
      if (!done.ok()) Note(done.message());
      Judge(step["expect"]);
    }
    if (client_->refuses()) Note("the write that is to be refused was not asked for");
    return result_;
  }

 private:
  void Note(std::string_view failure) { result_.failures.push_back(base::StrCat(where_, failure)); }

  void CheckNames(Value map, std::initializer_list<std::string_view> known) {
    for (const json::Member& member : map.members()) {
      if (std::find(known.begin(), known.end(), member.name()) == known.end()) {
        Note(base::StrCat("there is no \"", member.name(), "\""));
      }
    }
  }

  base::Status Prepare() {
    file_ = TRY(json::ParseYaml(arena_, yaml_));
    CheckNames(file_, {"description", "controller", "gate", "serve", "given", "start", "steps"});
    result_.description = file_["description"].AsString();
    result_.controller = file_["controller"].AsString();
    const ControllerInfo* info = FindController(result_.controller);
    if (info == nullptr) return base::NotFound("no such controller");
    TRY(OpenEngine());
    for (const Value& object : file_["given"].elements()) TRY(Create(object));
    client_.emplace(engine_->world(), IdentityOf(info->account));
    context_.reset(new ControllerContext{*store_, *client_, *engine_->world().catalog, clock_,
                                         engine_->compiler(), std::string(kRootCa),
                                         *engine_->world().release, engine_->world().services,
                                         false, "10.0.0.1"});
    driver_.emplace(*info, *context_, *store_);
    driver_->Start();
    return base::OkStatus();
  }

  base::Status OpenEngine() {
    authz::ModeOptions modes;
    modes.modes = {"RBAC"};
    auto assembled = TRY(authz::Assemble(modes, *store_));
    authorizer_ = std::move(assembled.authorizer);
    rbac_ = std::move(assembled.rbac);
    engine::EngineOptions options;
    options.clock = &clock_;
    options.store = store_.get();
    options.authorizer = authorizer_.get();
    options.rbac = rbac_.get();
    options.admission_plugins.disable = {"ServiceAccount"};
    if (file_.Has("gate")) options.feature_gates[std::string(file_["gate"].AsString())] = true;
    if (file_.Has("serve")) {
      options.runtime_config = TRY(api::catalog::ParseRuntimeConfig(file_["serve"].AsString()));
    }
    engine_ = TRY(engine::Engine::Create(std::move(options)));
    return engine::MakeBootObjects(engine_->world(), {.writers = 1});
  }

  // An operation of the admin on what the object names.
  base::Status Resolve(engine::Operation& op, Value object, Verb verb) {
    TRY(engine::ResolveObject(op, object));
    op.verb = verb;
    op.deadline = base::SteadyTime::max();
    op.user.name = "admin";
    op.user.groups = {std::string(api::kGroupMasters)};
    return base::OkStatus();
  }

  // "$uid ConfigMap team/a" is the uid of that object.
  std::string WithUids(std::string text) {
    constexpr std::string_view kUid = "\"$uid ";
    for (std::size_t at = text.find(kUid); at != std::string::npos; at = text.find(kUid)) {
      const std::size_t end = text.find('"', at + kUid.size());
      const std::string words = text.substr(at + kUid.size(), end - at - kUid.size());
      const auto kind = base::Cut(words, " ");
      const auto name = kind ? base::Cut(kind->second, "/") : std::nullopt;
      if (!name) return text;
      const Value meant = json::MakeObject(
          arena_,
          {{"apiVersion", json::Value::StringView("v1")},
           {"kind", json::String(arena_, kind->first)},
           {"metadata", json::MakeObject(arena_, {{"namespace", json::String(arena_, name->first)},
                                                  {"name", json::String(arena_, name->second)}})}});
      const store::ObjectPtr stored = Stored(meant);
      if (stored == nullptr) Note(base::StrCat("is not there: ", words));
      text.replace(at + 1, end - at - 1, stored != nullptr ? stored->uid() : "none");
    }
    return text;
  }

  base::Status Create(Value object) {
    engine::Operation op(engine_->world());
    TRY(Resolve(op, object, Verb::kCreate));
    engine::Input input;
    input.body = op.arena.Copy(WithUids(json::ToString(object)));
    TRY(engine::Write(op, input));
    if (object["status"].is_null() || op.resource->FindSubresource("status") == nullptr) {
      return base::OkStatus();
    }
    return Patch(json::MakeObject(arena_, {{"apiVersion", object["apiVersion"]},
                                           {"kind", object["kind"]},
                                           {"metadata", object["metadata"]},
                                           {"status", object["status"]}}),
                 "status");
  }

  base::Status Patch(Value patch, std::string_view subresource) {
    engine::Operation op(engine_->world());
    TRY(Resolve(op, patch, Verb::kPatch));
    if (!subresource.empty()) op.subresource = op.resource->FindSubresource(subresource);
    engine::Input input;
    input.body = op.arena.Copy(WithUids(json::ToString(patch)));
    return engine::Write(op, input).status();
  }

  base::Status Delete(Value object, std::string_view policy) {
    engine::Operation op(engine_->world());
    TRY(Resolve(op, object, Verb::kDelete));
    engine::DeleteOptions options;
    options.propagation_policy = policy;
    options.value = json::MakeObject(op.arena, {});
    return engine::Delete(op, options).status();
  }

  base::Status Act(Value step) {
    if (step.Has("refuse")) {
      const Value refuse = step["refuse"];
      const Verb verb = engine::VerbNamed(refuse["verb"].AsString());
      if (verb == Verb::kNone) return base::BadRequest("refuse names no verb");
      const bool conflict = refuse["reason"].AsString() == "Conflict";
      client_->RefuseNext(verb, conflict ? base::Reason::kConflict : base::Reason::kInternalError);
    }
    if (step.Has("create")) return Create(step["create"]);
    if (step.Has("patch")) return Patch(step["patch"], step["subresource"].AsString());
    if (step.Has("delete")) return Delete(step["delete"], step["policy"].AsString());
    clock_.Advance(std::chrono::seconds(step["advance"].AsInt()));
    return base::OkStatus();
  }

  // Lets the controller work, and compares what came of it.
  void Judge(Value expect) {
    CheckNames(expect, {"writes", "objects", "gone", "again"});
    if (!driver_->Work()) Note("the controller does not come to an end");
    const std::vector<std::string> notes = client_->TakeNotes();
    std::vector<std::string> wanted;
    for (const Value& text : expect["writes"].elements()) wanted.emplace_back(text.AsString());
    if (!std::equal(wanted.begin(), wanted.end(), notes.begin(), notes.end(), Fits)) {
      Note(base::StrCat("it has asked for [", base::Join(notes, ", "), "], wanted [",
                        base::Join(wanted, ", "), "]"));
    }
    for (const Value& object : expect["objects"].elements()) JudgeObject(object);
    for (const Value& object : expect["gone"].elements()) {
      if (Stored(object) != nullptr) Note(base::StrCat("is there: ", json::ToString(object)));
    }
    if (expect.Has("again")) JudgeAgain(expect["again"]);
  }

  void JudgeAgain(Value wanted) {
    const auto next = driver_->Next();
    const bool same =
        wanted.is_null() ? !next : next && *next == std::chrono::seconds(wanted.AsInt());
    if (same) return;
    Note(base::StrCat("it looks again ",
                      next ? "after " + base::FormatDuration(*next) : std::string("never")));
  }

  store::ObjectPtr Stored(Value object) {
    engine::Operation op(engine_->world());
    const base::Status resolved = Resolve(op, object, Verb::kGet);
    if (!resolved.ok()) Note(resolved.message());
    return resolved.ok() ? store_->Get(engine::KeyOf(op, op.name)) : nullptr;
  }

  void JudgeObject(Value wanted) {
    const store::ObjectPtr stored = Stored(wanted);
    if (stored == nullptr) return Note(base::StrCat("is not there: ", json::ToString(wanted)));
    const std::string difference = engine::testing::Difference(
        wanted, stored->document().root(), std::string(wanted["kind"].AsString()));
    if (!difference.empty()) Note(difference);
  }

  const std::string yaml_;
  json::Arena arena_;
  Value file_;
  std::string where_;
  ScenarioResult result_;
  base::FakeClock clock_;
  const std::unique_ptr<store::Store> store_ = store::OpenMemory();
  std::shared_ptr<const authz::Authorizer> authorizer_;
  std::shared_ptr<authz::rbac::RuleBook> rbac_;
  std::unique_ptr<engine::Engine> engine_;
  std::optional<NotingClient> client_;
  std::unique_ptr<ControllerContext> context_;
  std::optional<Driver> driver_;
};

}  // namespace

ScenarioResult RunScenario(std::string_view yaml) { return Scenario(yaml).Run(); }

}  // namespace portcullis::controllers::testing
