// SPDX-License-Identifier: Apache-2.0

#include "controllers/custom_api_services.h"

#include <set>

#include "base/strings.h"
#include "json/reader.h"

namespace portcullis::controllers {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kGroup = "apiregistration.k8s.io";
constexpr std::string_view kAutomanaged = "kube-aggregator.kubernetes.io/automanaged";
constexpr std::int64_t kGroupPriority = 1000;
constexpr std::int64_t kVersionPriority = 100;

bool IsOurs(json::Value service) {
  return service["metadata"]["labels"][kAutomanaged].AsString() == "true";
}

// Keys are groups. Definitions are parsed aside: kept parsed, they are large.
class CustomApiServices final : public Controller {
 public:
  explicit CustomApiServices(const ControllerContext& context) : context_(context) {}

  // Definitions are named <plural>.<group>, APIServices <version>.<group>.
  void OnEvent(const store::Event& event, const Enqueue& enqueue) override {
    const store::Object& object = *event.object;
    const bool definition = object.resource() == "customresourcedefinitions";
    if (!definition && (object.resource() != "apiservices" || object.group() != kGroup)) return;
    if (const auto cut = base::Cut(object.name(), ".")) enqueue(std::string(cut->second));
  }

  std::optional<base::Duration> Reconcile(const std::string& group) override {
    const std::set<std::string> served = ServedVersions(group);
    bool done = true;
    for (const std::string& version : served) {
      done = IsDone(Settle(group, version)) && done;
    }
    for (const store::ObjectPtr& service : context_.store.List({kGroup, "apiservices"})) {
      const auto cut = base::Cut(service->name(), ".");
      if (!cut || cut->second != group || served.contains(std::string(cut->first))) continue;
      json::Arena arena;
      const auto value = json::Parse(arena, service->bytes(), {.borrow_text = true});
      if (value.ok() && IsOurs(*value)) done = IsDone(Remove(*service)) && done;
    }
    if (done) return std::nullopt;
    return 1s;
  }

 private:
  static bool IsDone(const base::Status& status) {
    return status.ok() || status.reason() == base::Reason::kAlreadyExists ||
           status.reason() == base::Reason::kNotFound;
  }

  std::set<std::string> ServedVersions(const std::string& group) const {
    std::set<std::string> versions;
    for (const store::ObjectPtr& object :
         context_.store.List({"apiextensions.k8s.io", "customresourcedefinitions"})) {
      const auto cut = base::Cut(object->name(), ".");
      if (!cut || cut->second != group) continue;
      json::Arena arena;
      const auto definition = json::Parse(arena, object->bytes(), {.borrow_text = true});
      if (!definition.ok()) continue;
      for (const json::Value& item : (*definition)["spec"]["versions"].elements()) {
        if (item["served"].AsBool()) versions.emplace(item["name"].AsString());
      }
    }
    return versions;
  }

  base::Status Settle(const std::string& group, const std::string& version) {
    json::Arena arena;
    const std::string name = base::StrCat(version, ".", group);
    const store::ObjectPtr current = context_.store.Get({kGroup, "apiservices", "", name});
    if (current == nullptr) return Create(arena, name, group, version);
    const json::Value service = TRY(json::Parse(arena, current->bytes(), {.borrow_text = true}));
    // Those of built-in groups, and what somebody looks after himself.
    if (!IsOurs(service)) return base::OkStatus();
    const json::Value spec = Spec(arena, group, version);
    if (service["spec"] == spec) return base::OkStatus();
    return Send({.verb = engine::Verb::kUpdate,
                 .name = current->name(),
                 .body = json::With(arena, service, "spec", spec)});
  }

  static json::Value Spec(json::Arena& arena, std::string_view group, std::string_view version) {
    return json::ObjectBuilder(arena)
        .Set("group", group)
        .Set("version", version)
        .Set("groupPriorityMinimum", kGroupPriority)
        .Set("versionPriority", kVersionPriority)
        .Build();
  }

  base::Status Create(json::Arena& arena, std::string_view name, std::string_view group,
                      std::string_view version) {
    const json::Value labels = json::ObjectBuilder(arena).Set(kAutomanaged, "true").Build();
    const json::Value service =
        json::ObjectBuilder(arena)
            .Set("apiVersion", "apiregistration.k8s.io/v1")
            .Set("kind", "APIService")
            .Set("metadata",
                 json::ObjectBuilder(arena).Set("name", name).Set("labels", labels).Build())
            .Set("spec", Spec(arena, group, version))
            .Build();
    return Send({.verb = engine::Verb::kCreate, .body = service});
  }

  base::Status Remove(const store::Object& current) {
    return Send({.verb = engine::Verb::kDelete, .name = current.name(), .uid = current.uid()});
  }

  base::Status Send(Request request) {
    request.resource = {std::string(kGroup), "v1", "apiservices"};
    return context_.client.Do(request).status();
  }

  const ControllerContext& context_;
};

constexpr store::Collection kHears[] = {{"apiextensions.k8s.io", "customresourcedefinitions"},
                                        {kGroup, "apiservices"}};

}  // namespace

const ControllerInfo kCustomApiServices = {
    .name = "custom-api-services",
    .account = "",
    .summary = "keeps the APIServices of custom resources' groups",
    .create = [](const ControllerContext& context) -> std::unique_ptr<Controller> {
      return std::make_unique<CustomApiServices>(context);
    },
    .hears = kHears,
};

}  // namespace portcullis::controllers
