// SPDX-License-Identifier: Apache-2.0

// A cluster in memory with policies, for tests and benchmarks.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "admission/catalog_objects.h"
#include "admission/plugin.h"
#include "admission/store_feed.h"
#include "admission/trace/trace.h"
#include "api/catalog/catalog.h"
#include "api/schema/defaulting.h"
#include "base/strings.h"
#include "json/reader.h"
#include "json/verbatim.h"
#include "json/writer.h"
#include "policy/cel_policy/policy_plugin.h"
#include "store/memory/memory_store.h"
#include "store/testing/partly_readable.h"

namespace portcullis::policy::testing {

// Confined to one thread.
class Cluster {
 public:
  explicit Cluster(const base::Clock& clock = base::SystemClock())
      : catalog_(api::catalog::Catalog::BuiltIn({}).value()),
        defaulter_(api::schema::Defaulter::BuiltIn().value()),
        objects_([this] { return catalog_; }, defaulter_.get()),
        store_(store::OpenMemory()),
        feed_(admission::MakeStoreFeed(*store_)) {
    Put("", "namespaces", "", R"({"metadata":{"name":"default","labels":{"tier":"one"}}})");
    admission::PluginContext context;
    context.reader = &reader_;
    context.feed = feed_.get();
    context.objects = &objects_;
    context.clock = &clock;
    validating_ = PolicyPluginCore::Create(context, PolicyType::kValidating).value();
    mutating_ = PolicyPluginCore::Create(context, PolicyType::kMutating).value();
  }

  // Stores an object; replaces one of the same name.
  void Put(std::string_view group, std::string_view resource, std::string_view ns,
           std::string_view text) {
    json::Arena arena;
    json::Value object = json::Parse(arena, text).value();
    const std::string name(object["metadata"]["name"].AsString());
    object =
        json::SetPath(arena, object, {"metadata", "resourceVersion"}, json::Value::StringView(""));
    store::Encoded encoded;
    encoded.bytes = json::ToString(object);
    encoded.revision_at = encoded.bytes.find(R"("resourceVersion":")") + 19;
    Remove(group, resource, ns, name);
    (void)store_->Create({group, resource, ns, name}, std::move(encoded));
  }

  void Remove(std::string_view group, std::string_view resource, std::string_view ns,
              std::string_view name) {
    (void)store_->Delete({group, resource, ns, name}, {});
  }

  // A policy for creates of config maps with a binding of the same name. `spec` are its other
  // members, `binding` those of the binding.
  void Validating(const std::string& name, std::string_view spec,
                  std::string_view binding = R"("validationActions":["Deny"])") {
    Policy("validatingadmissionpolicies", name, spec);
    Binding("validatingadmissionpolicybindings", name, name, binding);
  }
  void Mutating(const std::string& name, std::string_view spec) {
    Policy("mutatingadmissionpolicies", name, spec);
    Binding("mutatingadmissionpolicybindings", name, name, "");
  }

  void Policy(std::string_view resource, const std::string& name, std::string_view spec,
              std::string_view rule_resource = "configmaps") {
    Put(kGroup, resource, "",
        base::StrCat(R"({"metadata":{"name":")", name,
                     R"("},"spec":{"matchConstraints":{"matchPolicy":"Equivalent",)"
                     R"("namespaceSelector":{},"objectSelector":{},"resourceRules":[{)"
                     R"("apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],)"
                     R"("resources":[")",
                     rule_resource, R"("]}]},)", spec, "}}"));
  }
  void Binding(std::string_view resource, const std::string& name, const std::string& policy,
               std::string_view spec) {
    Put(kGroup, resource, "",
        base::StrCat(R"({"metadata":{"name":")", name, R"("},"spec":{"policyName":")", policy, "\"",
                     spec.empty() ? "" : ",", spec, "}}"));
  }

  // A create of `text`, a config map.
  base::Status Validate(std::string_view text,
                        api::GroupVersionResource resource = {"", "v1", "configmaps"},
                        api::GroupVersionKind kind = {"", "v1", "ConfigMap"}) {
    Start(text, std::move(resource), std::move(kind));
    return Traced(admission::kValidate, [&]() -> base::Status {
      const auto policies = validating_->PoliciesFor(*request_);
      if (policies == nullptr) return base::OkStatus();
      return DispatchValidating(validating_->services(), *policies, *request_);
    });
  }
  base::Status Mutate(std::string_view text) {
    Start(text, {"", "v1", "configmaps"}, {"", "v1", "ConfigMap"});
    return Traced(admission::kMutate, [&]() -> base::Status {
      const auto policies = mutating_->PoliciesFor(*request_);
      if (policies == nullptr) return base::OkStatus();
      return DispatchMutating(mutating_->services(), *policies, *request_);
    });
  }
  // Of the requests from now on; null: they are not traced.
  void set_trace(admission::Trace* trace) { trace_ = trace; }
  admission::Request& request() { return *request_; }
  // Through which policies read.
  store::testing::PartlyReadable& reader() { return reader_; }
  admission::Recorder& recorder() { return *recorder_; }

  static constexpr std::string_view kGroup = "admissionregistration.k8s.io";

 private:
  // As the chain traces a plugin.
  template <typename Run>
  base::Status Traced(admission::Phase phase, Run&& run) {
    if (trace_ != nullptr) trace_->BeginPlugin(*request_, "plugin", phase);
    base::Status status = run();
    if (trace_ != nullptr) trace_->EndPlugin(*request_, status);
    return status;
  }

  void Start(std::string_view text, api::GroupVersionResource resource,
             api::GroupVersionKind kind) {
    request_.reset();
    recorder_ = std::make_unique<admission::Recorder>();
    recorder_->set_trace(trace_);
    arena_ = std::make_unique<json::Arena>();
    admission::Attributes attributes;
    attributes.resource = std::move(resource);
    attributes.kind = std::move(kind);
    attributes.namespace_name = "default";
    attributes.object = json::ParseVerbatim(*arena_, text).value();
    attributes.name = attributes.object["metadata"]["name"].AsString();
    attributes.user.name = "alice";
    request_ = std::make_unique<admission::Request>(std::move(attributes), *arena_, *recorder_);
  }

  std::shared_ptr<const api::catalog::Catalog> catalog_;
  std::shared_ptr<const api::schema::Defaulter> defaulter_;
  admission::CatalogObjects objects_;
  std::unique_ptr<store::Store> store_;
  store::testing::PartlyReadable reader_{*store_};
  std::unique_ptr<admission::ObjectFeed> feed_;
  std::unique_ptr<PolicyPluginCore> validating_;
  std::unique_ptr<PolicyPluginCore> mutating_;
  admission::Trace* trace_ = nullptr;
  std::unique_ptr<json::Arena> arena_;
  std::unique_ptr<admission::Recorder> recorder_;
  std::unique_ptr<admission::Request> request_;
};

}  // namespace portcullis::policy::testing
