#include "server/custom_api_services.h"

#include "base/strings.h"
#include "server/api_service_objects.h"

namespace portcullis::server {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kCollection = "/apis/apiregistration.k8s.io/v1/apiservices";
constexpr std::string_view kGroup = "apiregistration.k8s.io";
constexpr std::string_view kAutomanaged = "kube-aggregator.kubernetes.io/automanaged";
constexpr std::int64_t kGroupPriority = 1000;
constexpr std::int64_t kVersionPriority = 100;

bool IsOurs(json::Value service) {
  return service["metadata"]["labels"][kAutomanaged].AsString() == "true";
}

// Keys are names of APIServices.
class CustomApiServices final : public controllers::Controller {
 public:
  explicit CustomApiServices(const controllers::ControllerContext& context) : context_(context) {}

  void OnEvent(const store::Event& event, const controllers::Enqueue& enqueue) override {
    const store::Object& object = *event.object;
    if (object.resource() == "customresourcedefinitions") {
      EnqueueVersions(object, enqueue);
      if (event.previous != nullptr) EnqueueVersions(*event.previous, enqueue);
    } else if (object.resource() == "apiservices" && object.group() == kGroup) {
      enqueue(std::string(object.name()));
    }
  }

  std::optional<base::Duration> Reconcile(const std::string& name) override {
    const auto cut = base::Cut(name, ".");
    if (!cut) return std::nullopt;
    const store::ObjectPtr current = context_.store.Get({kGroup, "apiservices", "", name});
    const bool wanted = IsServed(cut->second, cut->first);
    if (current != nullptr && !IsOurs(current->document().root())) return std::nullopt;
    json::Arena arena;
    base::Status status;
    if (current == nullptr) {
      if (!wanted) return std::nullopt;
      status = Create(arena, name, cut->second, cut->first);
    } else if (!wanted) {
      status = Remove(arena, *current);
    } else {
      status = PutRight(arena, *current, cut->second, cut->first);
    }
    if (status.ok() || status.reason() == base::Reason::kAlreadyExists ||
        status.reason() == base::Reason::kNotFound) {
      return std::nullopt;
    }
    return 1s;
  }

 private:
  static void EnqueueVersions(const store::Object& definition,
                              const controllers::Enqueue& enqueue) {
    const json::Value spec = definition.document()["spec"];
    for (const json::Value& version : spec["versions"].elements()) {
      enqueue(base::StrCat(version["name"].AsString(), ".", spec["group"].AsString()));
    }
  }

  bool IsServed(std::string_view group, std::string_view version) const {
    for (const store::ObjectPtr& object :
         context_.store.List({"apiextensions.k8s.io", "customresourcedefinitions"})) {
      const json::Value spec = object->document()["spec"];
      if (spec["group"].AsString() != group) continue;
      for (const json::Value& item : spec["versions"].elements()) {
        if (item["name"].AsString() == version && item["served"].AsBool()) return true;
      }
    }
    return false;
  }

  static json::Value Spec(json::Arena& arena, std::string_view group, std::string_view version) {
    return json::ObjectBuilder(arena)
        .Set("group", group)
        .Set("version", version)
        .Set("groupPriorityMinimum", kGroupPriority)
        .Set("versionPriority", kVersionPriority)
        .Build();
  }

  // The event of the creation brings the key back, and PutRight tells the status.
  base::Status Create(json::Arena& arena, std::string_view name, std::string_view group,
                      std::string_view version) {
    const json::Value labels = json::ObjectBuilder(arena).Set(kAutomanaged, "true").Build();
    return context_.api
        .Do("POST", kCollection,
            json::ObjectBuilder(arena)
                .Set("apiVersion", "apiregistration.k8s.io/v1")
                .Set("kind", "APIService")
                .Set("metadata",
                     json::ObjectBuilder(arena).Set("name", name).Set("labels", labels).Build())
                .Set("spec", Spec(arena, group, version))
                .Build())
        .status();
  }

  base::Status Remove(json::Arena& arena, const store::Object& current) {
    const json::Value preconditions = json::ObjectBuilder(arena).Set("uid", current.uid()).Build();
    return context_.api
        .Do("DELETE", PathOf(current),
            json::ObjectBuilder(arena)
                .Set("apiVersion", "v1")
                .Set("kind", "DeleteOptions")
                .Set("preconditions", preconditions)
                .Build())
        .status();
  }

  base::Status PutRight(json::Arena& arena, const store::Object& current, std::string_view group,
                        std::string_view version) {
    const json::Value service = current.document().root();
    const json::Value spec = Spec(arena, group, version);
    if (service["spec"] != spec) {
      return context_.api.Do("PUT", PathOf(current), json::With(arena, service, "spec", spec))
          .status();
    }
    if (!service["status"]["conditions"].empty()) return base::OkStatus();
    const json::Value status = LocalServiceStatus(arena, base::FormatTime(context_.clock.Now()));
    return context_.api
        .Do("PUT", base::StrCat(PathOf(current), "/status"),
            json::With(arena, service, "status", status))
        .status();
  }

  static std::string PathOf(const store::Object& service) {
    return base::StrCat(kCollection, "/", service.name());
  }

  const controllers::ControllerContext& context_;
};

}  // namespace

const controllers::ControllerInfo kCustomApiServices = {
    .name = "custom-api-services",
    .account = "",
    .summary = "keeps the APIServices of custom resources' groups",
    .create = [](const controllers::ControllerContext& context)
        -> std::unique_ptr<controllers::Controller> {
      return std::make_unique<CustomApiServices>(context);
    },
};

}  // namespace portcullis::server
