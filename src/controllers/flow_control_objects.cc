// SPDX-License-Identifier: Apache-2.0

#include "controllers/flow_control_objects.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/strings.h"
#include "flow_control/bootstrap.h"
#include "flow_control/configuration.h"

namespace portcullis::controllers {
namespace {

using flow_control::BootstrapObject;
using flow_control::kApiGroup;

constexpr std::string_view kSchemas = "flowschemas";
constexpr std::string_view kLevels = "prioritylevelconfigurations";
constexpr std::string_view kProducer = "api-priority-and-fairness-config-producer-v1";
constexpr std::string_view kConsumer = "api-priority-and-fairness-config-consumer-v1";
constexpr std::chrono::minutes kMaintainEvery{1};

std::string_view ResourceOf(json::Value object) {
  return object["kind"].AsString() == "FlowSchema" ? kSchemas : kLevels;
}

// A failure for one of the expected reasons is none.
base::Status Send(Client& client, std::string_view resource, Request request,
                  std::initializer_list<base::Reason> expected) {
  request.resource = {std::string(kApiGroup), "v1", std::string(resource)};
  base::Status status = client.Do(request).status();
  for (base::Reason reason : expected) {
    if (status.reason() == reason) return base::OkStatus();
  }
  return status;
}

// Creates the object, or gives it back what is not the operator's to change. Who is in the way is
// looked at again the next time.
base::Status Ensure(const store::Reader& store, Client& client, const BootstrapObject& wanted) {
  const std::string_view resource = ResourceOf(wanted.object);
  const std::string_view name = wanted.object["metadata"]["name"].AsString();
  const store::ObjectPtr current = store.Get({kApiGroup, resource, "", name});
  if (current == nullptr) {
    // The API may be switched off.
    return Send(client, resource,
                {.verb = engine::Verb::kCreate, .body = wanted.object, .field_manager = kProducer},
                {base::Reason::kAlreadyExists, base::Reason::kNotFound});
  }
  json::Arena arena;
  const json::Value next = flow_control::Revise(arena, wanted, current->document().root());
  if (next.is_null()) return base::OkStatus();
  return Send(
      client, resource,
      {.verb = engine::Verb::kUpdate, .name = name, .body = next, .field_manager = kProducer},
      {base::Reason::kConflict, base::Reason::kNotFound});
}

bool Exists(const store::Reader& store, std::string_view level) {
  return store.Get({kApiGroup, kLevels, "", level}) != nullptr;
}

// Says how often each FlowSchema's status has been written: six times a minute at most, that of one about
// which servers disagree, too.
class StatusLimit {
 public:
  // Counts a write, or says no.
  bool Allows(std::string_view name, base::SteadyTime now) {
    std::erase_if(writes_, [&](const auto& write) { return write.first < now - kPeriod; });
    const auto count = std::count_if(writes_.begin(), writes_.end(),
                                     [&](const auto& write) { return write.second == name; });
    if (count >= kWrites) return false;
    writes_.emplace_back(now, name);
    return true;
  }

 private:
  static constexpr std::chrono::minutes kPeriod{1};
  static constexpr int kWrites = 6;

  std::vector<std::pair<base::SteadyTime, std::string>> writes_;
};

// Writes the condition Dangling of the FlowSchema if it does not say what is, kTooManyRequests if it has been
// written too often. No `limit`: the levels are being made at this moment.
base::Status EnsureStatus(const store::Reader& store, Client& client, const base::Clock& clock,
                          std::string_view name, StatusLimit* limit = nullptr) {
  const store::ObjectPtr schema = store.Get({kApiGroup, kSchemas, "", name});
  if (schema == nullptr) return base::OkStatus();
  const json::Value object = schema->document().root();
  const std::string_view level = object["spec"]["priorityLevelConfiguration"]["name"].AsString();
  const bool exists = limit == nullptr || Exists(store, level);
  json::Arena arena;
  const json::Value wanted =
      flow_control::DanglingCondition(arena, level, exists, base::FormatTime(clock.Now()));
  for (const json::Value condition : object["status"]["conditions"].elements()) {
    if (condition["type"] == wanted["type"] && condition["status"] == wanted["status"] &&
        condition["reason"] == wanted["reason"] && condition["message"] == wanted["message"]) {
      return base::OkStatus();
    }
  }
  if (limit != nullptr && !limit->Allows(name, clock.Steady()))
    return {base::Reason::kTooManyRequests, "the status is written too often"};
  json::ArrayBuilder conditions(arena);
  conditions.Add(wanted);
  const json::Value body =
      json::ObjectBuilder(arena)
          .Set("apiVersion", "flowcontrol.apiserver.k8s.io/v1")
          .Set("kind", "FlowSchema")
          .Set("metadata", json::ObjectBuilder(arena).Set("name", name).Build())
          .Set("status", json::ObjectBuilder(arena).Set("conditions", conditions.Build()).Build())
          .Build();
  return Send(client, kSchemas,
              {.verb = engine::Verb::kPatch,
               .subresource = "status",
               .name = name,
               .body = body,
               .patch = engine::PatchType::kApply,
               .field_manager = kConsumer,
               .force = true},
              {base::Reason::kNotFound});
}

void Note(const base::Status& status) {
  if (status.ok()) return;
  base::LogWarning("an object of flow control could not be kept up", {{"error", status.message()}});
}

// Has one key: all objects of Kubernetes' own.
class FlowControlObjects final : public Controller {
 public:
  explicit FlowControlObjects(const ControllerContext& context) : context_(context) {}

  // The first sign that there is something to look after; the rest is a matter of time.
  void OnEvent(const store::Event& event, const Enqueue& enqueue) override {
    if (event.type == store::EventType::kAdded &&
        event.object->name() == flow_control::kCatchAllName) {
      enqueue("all");
    }
  }

  std::optional<base::Duration> Reconcile(const std::string&) override {
    json::Arena arena;
    const auto wanted = flow_control::BootstrapObjects(arena);
    for (const BootstrapObject& one : wanted) Note(Ensure(context_.store, context_.client, one));
    for (std::string_view resource : {kSchemas, kLevels}) {
      for (const store::ObjectPtr& object : context_.store.List({kApiGroup, resource})) {
        if (!flow_control::IsUnwanted(object->document().root(), wanted)) continue;
        Note(Send(context_.client, resource,
                  {.verb = engine::Verb::kDelete, .name = object->name()},
                  {base::Reason::kNotFound}));
      }
    }
    return kMaintainEvery;
  }

 private:
  const ControllerContext& context_;
};

// Keys: the name of a FlowSchema, or "" for all: a level has come or gone.
class FlowSchemaStatus final : public Controller {
 public:
  explicit FlowSchemaStatus(const ControllerContext& context) : context_(context) {}

  void OnEvent(const store::Event& event, const Enqueue& enqueue) override {
    const store::Object& object = *event.object;
    if (object.resource() == kSchemas) {
      if (event.type != store::EventType::kDeleted) enqueue(std::string(object.name()));
    } else if (event.type != store::EventType::kModified) {
      enqueue("");
    }
  }

  std::optional<base::Duration> Reconcile(const std::string& key) override {
    std::vector<std::string> names = {key};
    if (key.empty()) {
      names.clear();
      for (const store::ObjectPtr& schema : context_.store.List({kApiGroup, kSchemas}))
        names.emplace_back(schema->name());
    }
    bool delayed = false;
    for (const std::string& name : names) {
      const base::Status status =
          EnsureStatus(context_.store, context_.client, context_.clock, name, &limit_);
      if (status.reason() == base::Reason::kTooManyRequests) {
        delayed = true;
      } else {
        Note(status);
      }
    }
    if (!delayed) return std::nullopt;
    return kDelay;
  }

 private:
  // kube-apiserver takes 30 to 74 seconds, so that servers do not meet again.
  static constexpr std::chrono::seconds kDelay{45};

  const ControllerContext& context_;
  StatusLimit limit_;
};

constexpr store::Collection kHears[] = {{kApiGroup, kSchemas}, {kApiGroup, kLevels}};

}  // namespace

std::vector<std::function<base::Status()>> FlowControlBootJobs(const store::Reader& store,
                                                               Client& client,
                                                               const base::Clock& clock,
                                                               json::Arena& arena,
                                                               bool with_status) {
  std::vector<std::function<base::Status()>> jobs;
  for (const BootstrapObject& wanted : flow_control::BootstrapObjects(arena)) {
    jobs.emplace_back([&store, &client, &clock, wanted, with_status] {
      const std::string_view name = wanted.object["metadata"]["name"].AsString();
      base::Status status = Ensure(store, client, wanted);
      if (status.ok() && with_status && ResourceOf(wanted.object) == kSchemas) {
        status = EnsureStatus(store, client, clock, name);
      }
      return status.ok() ? status : status.Annotate(name);
    });
  }
  return jobs;
}

const ControllerInfo kFlowControlObjects = {
    .name = "flow-control-objects",
    .account = "",
    .summary = "keeps the mandatory and suggested FlowSchemas and PriorityLevelConfigurations",
    .create = [](const ControllerContext& context) -> std::unique_ptr<Controller> {
      return std::make_unique<FlowControlObjects>(context);
    },
    .hears = kHears,
};

const ControllerInfo kFlowSchemaStatus = {
    .name = "flow-schema-status",
    .account = "",
    .summary = "tells of each FlowSchema whether its priority level exists",
    .create = [](const ControllerContext& context) -> std::unique_ptr<Controller> {
      return std::make_unique<FlowSchemaStatus>(context);
    },
    .hears = kHears,
};

}  // namespace portcullis::controllers
