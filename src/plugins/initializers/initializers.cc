// SPDX-License-Identifier: Apache-2.0

#include "plugins/initializers/initializers.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "admission/object_interfaces.h"
#include "api/api_status.h"
#include "api/view/initializers.h"
#include "authz/authorizer.h"
#include "base/mutex.h"
#include "base/published.h"
#include "base/strings.h"
#include "plugins/common/make.h"
#include "registry/validation/initializers.h"

namespace portcullis::plugins::initializers {
namespace {

constexpr std::string_view kGroup = "admissionregistration.k8s.io";
constexpr std::string_view kMirror = "kubernetes.io/config.mirror";

using Texts = std::vector<std::string>;

Texts TextsOf(json::Value list) {
  Texts texts;
  for (const json::Value& text : list.elements()) texts.emplace_back(text.AsString());
  return texts;
}

bool Names(const Texts& texts, std::string_view text) {
  return !texts.empty() &&
         (texts.front() == "*" || std::find(texts.begin(), texts.end(), text) != texts.end());
}

struct Rule {
  Texts groups;
  Texts versions;
  Texts resources;

  bool Matches(const api::GroupVersionResource& resource) const {
    return Names(groups, resource.group) && Names(versions, resource.version) &&
           Names(resources, resource.resource);
  }
};

struct Initializer {
  std::string name;
  std::vector<Rule> rules;
};
using Initializers = std::vector<Initializer>;

Initializers Compile(json::Value configuration) {
  Initializers initializers;
  for (const json::Value& entry : configuration["initializers"].elements()) {
    Initializer& initializer = initializers.emplace_back();
    initializer.name = entry["name"].AsString();
    for (const json::Value& rule : entry["rules"].elements()) {
      initializer.rules.push_back(
          {TextsOf(rule["apiGroups"]), TextsOf(rule["apiVersions"]), TextsOf(rule["resources"])});
    }
  }
  return initializers;
}

// The initializers of all configurations, these in order of their names. Thread-safe.
class Configurations {
 public:
  explicit Configurations(admission::ObjectFeed& feed) {
    published_.Set(std::make_shared<const Initializers>());
    watch_ = feed.Watch(
        kGroup, "initializerconfigurations",
        [this](const std::vector<admission::ObjectFeed::Change>& changes) { Take(changes); });
  }

  std::shared_ptr<const Initializers> Get() const { return published_.Get(); }

 private:
  void Take(const std::vector<admission::ObjectFeed::Change>& changes) {
    const base::MutexLock lock(mutex_);
    for (const auto& change : changes) {
      if (change.object.root().is_null()) {
        by_name_.erase(std::string(change.name));
      } else {
        by_name_[std::string(change.name)] = Compile(change.object.root());
      }
    }
    auto all = std::make_shared<Initializers>();
    for (const auto& [name, own] : by_name_) all->insert(all->end(), own.begin(), own.end());
    published_.Set(std::move(all));
  }

  base::Published<Initializers> published_;
  base::Mutex mutex_;
  std::map<std::string, Initializers> by_name_ PC_GUARDED_BY(mutex_);
  std::shared_ptr<void> watch_;  // last: its callback uses everything above
};

// What the first pass has decided about a new object stays.
struct Decided final : admission::Reinvocation::State {
  bool done = false;
};

// Thread-safe.
class InitializersPlugin final : public admission::Plugin {
 public:
  explicit InitializersPlugin(const admission::PluginContext& context)
      : authorizer_(context.authorizer),
        needs_all_rules_(context.release->Has("InitializersNeedAllRules")),
        keeps_empty_(context.release->Has("InitializersMustNotBeEmpty")),
        keeps_late_(context.release->Has("InitializersStayGone")),
        hides_new_names_(context.release->Has("CreatesHaveNoName")) {
    // If the kind is not served nothing applies, as if there were no configurations.
    const bool served =
        context.objects != nullptr &&
        !context.objects->ResourcesOf({std::string(kGroup), "v1alpha1", "InitializerConfiguration"})
             .empty();
    if (served && context.feed != nullptr) {
      configurations_ = std::make_unique<Configurations>(*context.feed);
    }
  }

  base::Status Mutate(admission::Request& request) const override {
    if (!request.subresource().empty()) return base::OkStatus();
    const json::Value metadata = request.object()["metadata"];
    if (!metadata.is_object()) return base::OkStatus();
    return request.operation() == admission::kUpdate ? Update(request) : Create(request, metadata);
  }

 private:
  static Decided& StateOf(admission::Request& request) {
    return request.reinvocation().StateOf<Decided>("Initializers");
  }

  base::Status Create(admission::Request& request, json::Value metadata) const {
    const auto given = api::view::Initializers::OfMetadata(metadata);
    if (given.present()) {
      if (std::exchange(StateOf(request).done, true)) return base::OkStatus();
      TRY(CheckMayInitialize(request, "create with initializers denied"));
      if (given.empty()) Remove(request);
      return base::OkStatus();
    }
    if (configurations_ == nullptr) return base::OkStatus();
    const auto configured = configurations_->Get();
    if (configured->empty() || std::exchange(StateOf(request).done, true)) return base::OkStatus();
    if (request.Is("", "pods") && metadata["annotations"].Has(kMirror)) return base::OkStatus();
    json::Arena& arena = request.arena();
    json::ArrayBuilder pending(arena);
    for (const Initializer& initializer : *configured) {
      if (!Applies(initializer, request.resource())) continue;
      pending.Add(json::MakeObject(arena, {{"name", json::String(arena, initializer.name)}}));
    }
    if (pending.size() == 0) return base::OkStatus();
    request.set_object(json::SetPath(arena, request.object(),
                                     {"metadata", api::view::kInitializersField},
                                     json::MakeObject(arena, {{"pending", pending.Build()}})));
    return base::OkStatus();
  }

  base::Status Update(admission::Request& request) const {
    const api::view::Initializers before(request.old_object());
    const api::view::Initializers after(request.object());
    const bool keeps = keeps_empty_ || (keeps_late_ && !before.present());
    if (after.present() && after.empty() && !keeps) Remove(request);
    if (!before.present() && !api::view::Initializers(request.object()).present()) {
      return base::OkStatus();
    }
    api::FieldErrors errors;
    registry::CheckInitializersUpdate(request.object(), request.old_object(), errors);
    if (!errors.empty()) {
      return api::InvalidStatus(request.kind().group_kind(), request.name(), errors);
    }
    return CheckMayInitialize(request, "update to uninitialized resource denied");
  }

  bool Applies(const Initializer& initializer, const api::GroupVersionResource& resource) const {
    const auto matches = [&](const Rule& rule) { return rule.Matches(resource); };
    const auto& rules = initializer.rules;
    if (!needs_all_rules_) return std::any_of(rules.begin(), rules.end(), matches);
    return !rules.empty() && std::all_of(rules.begin(), rules.end(), matches);
  }

  static void Remove(admission::Request& request) {
    request.set_object(json::RemovePath(request.arena(), request.object(),
                                        {"metadata", api::view::kInitializersField}));
  }

  base::Status CheckMayInitialize(const admission::Request& request, std::string_view what) const {
    if (authorizer_ == nullptr) return base::OkStatus();
    authz::Attributes attributes;
    attributes.user = &request.user();
    attributes.verb = "initialize";
    attributes.group = request.resource().group;
    attributes.version = request.resource().version;
    attributes.resource = request.resource().resource;
    attributes.ns = request.namespace_name();
    attributes.name = request.name();
    if (hides_new_names_ && request.operation() == admission::kCreate) attributes.name = "";
    const authz::Decision decision = authorizer_->Authorize(attributes);
    if (decision.allowed()) return base::OkStatus();
    return api::ForbiddenStatus(request.resource().group_resource(), attributes.name,
                                base::StrCat(what, ": ", decision.reason));
  }

  const authz::Authorizer* authorizer_;
  const bool needs_all_rules_;
  const bool keeps_empty_;
  const bool keeps_late_;  // an initialized object gets not even an empty field
  const bool hides_new_names_;
  std::unique_ptr<Configurations> configurations_;  // null: the kind is not served
};

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "Initializers",
    .summary = "gives new objects tasks to be done by controllers before they show",
    .phases = admission::kMutate,
    .operations = admission::kCreate | admission::kUpdate,
    .by_default = admission::Default::kOff,
    .create = &common::Make<InitializersPlugin>,
    .until_minor = 13,
    .legacy = true,
};

}  // namespace portcullis::plugins::initializers
