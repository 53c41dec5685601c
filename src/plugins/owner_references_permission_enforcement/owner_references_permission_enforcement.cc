// SPDX-License-Identifier: Apache-2.0

#include "plugins/owner_references_permission_enforcement/owner_references_permission_enforcement.h"

#include <set>
#include <string>
#include <vector>

#include "admission/errors.h"
#include "admission/object_interfaces.h"
#include "api/names.h"
#include "authz/authorizer.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "plugins/common/make.h"

namespace portcullis::plugins::owner_references_permission_enforcement {
namespace {

json::Value OwnersOf(json::Value object) { return object["metadata"]["ownerReferences"]; }

bool OwnersChanged(const admission::Request& request) {
  const json::Value after = OwnersOf(request.object());
  if (request.operation() == admission::kCreate || request.old_object().is_null()) {
    return !after.empty();
  }
  const json::Value before = OwnersOf(request.old_object());
  if (before.empty() && after.empty()) return false;
  return !(before == after);
}

bool Blocks(json::Value owner) { return owner["blockOwnerDeletion"].AsBool(); }

// References that begin to block the deletion of their owner.
std::vector<json::Value> NewlyBlocking(const admission::Request& request) {
  std::set<std::string_view> blocked_before;
  for (const json::Value& owner : OwnersOf(request.old_object()).elements()) {
    if (Blocks(owner)) blocked_before.insert(owner["uid"].AsString());
  }
  std::vector<json::Value> out;
  for (const json::Value& owner : OwnersOf(request.object()).elements()) {
    if (Blocks(owner) && !blocked_before.contains(owner["uid"].AsString())) out.push_back(owner);
  }
  return out;
}

// Go prints a missing error as <nil>.
std::string WhyNot(const authz::Decision& decision) {
  return base::StrCat(decision.reason, ", ",
                      decision.error.empty() ? std::string_view("<nil>") : decision.error);
}

class OwnerReferencesPermissionEnforcement final : public admission::Plugin {
 public:
  explicit OwnerReferencesPermissionEnforcement(const admission::PluginContext& context)
      : authorizer_(context.authorizer), objects_(context.objects) {}

  base::Status Validate(const admission::Request& request) const override {
    if (request.IsResource("", "pods") && request.subresource() == "status") {
      return base::OkStatus();
    }
    if (authorizer_ == nullptr || !OwnersChanged(request)) return base::OkStatus();
    if (request.operation() == admission::kUpdate) TRY(CheckMayDelete(request));
    const std::vector<json::Value> blocking = NewlyBlocking(request);
    if (blocking.empty() || MayFinalizeEverything(request)) return base::OkStatus();
    for (const json::Value& owner : blocking) TRY(CheckMayFinalize(request, owner));
    return base::OkStatus();
  }

 private:
  base::Status CheckMayDelete(const admission::Request& request) const {
    authz::Attributes attributes;
    attributes.user = &request.user();
    attributes.verb = "delete";
    attributes.group = request.resource().group;
    attributes.version = request.resource().version;
    attributes.resource = request.resource().resource;
    attributes.subresource = request.subresource();
    attributes.ns = request.namespace_name();
    attributes.name = request.name();
    const authz::Decision decision = authorizer_->Authorize(attributes);
    if (decision.allowed()) return base::OkStatus();
    return admission::Forbidden(
        request, "cannot set an ownerRef on a resource you can't delete: " + WhyNot(decision));
  }

  bool MayFinalizeEverything(const admission::Request& request) const {
    authz::Attributes attributes;
    attributes.user = &request.user();
    attributes.verb = "update";
    attributes.group = "*";
    attributes.version = "*";
    attributes.resource = "*";
    attributes.subresource = "finalizers";
    attributes.name = "*";
    return authorizer_->Authorize(attributes).allowed();
  }

  base::Status CheckMayFinalize(const admission::Request& request, json::Value owner) const {
    std::string_view version = owner["apiVersion"].AsString();
    std::string_view kind = owner["kind"].AsString();
    std::vector<admission::ResourceOfKind> resources;
    const base::Result<api::GroupVersion> parsed = api::ParseGroupVersion(version);
    if (parsed.ok() && objects_ != nullptr) {
      resources = objects_->ResourcesOf({parsed->group, parsed->version, std::string(kind)});
    }
    if (resources.empty()) {
      const std::string problem = parsed.ok()
                                      ? base::StrCat("no matches for kind ", base::GoQuote(kind),
                                                     " in version ", base::GoQuote(version))
                                      : parsed.status().message();
      return admission::Forbidden(
          request, base::StrCat("cannot set blockOwnerDeletion in this case because cannot find "
                                "RESTMapping for APIVersion ",
                                version, " Kind ", kind, ": ", problem));
    }
    for (const admission::ResourceOfKind& resource : resources) {
      authz::Attributes attributes;
      attributes.user = &request.user();
      attributes.verb = "update";
      attributes.group = resource.resource.group;
      attributes.version = resource.resource.version;
      attributes.resource = resource.resource.resource;
      attributes.subresource = "finalizers";
      if (resource.namespaced) attributes.ns = request.namespace_name();
      attributes.name = owner["name"].AsString();
      const authz::Decision decision = authorizer_->Authorize(attributes);
      if (decision.allowed()) continue;
      return admission::Forbidden(request,
                                  "cannot set blockOwnerDeletion if an ownerReference refers to a "
                                  "resource you can't set finalizers on: " +
                                      WhyNot(decision));
    }
    return base::OkStatus();
  }

  const authz::Authorizer* authorizer_;
  const admission::ObjectInterfaces* objects_;
};

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "OwnerReferencesPermissionEnforcement",
    .summary =
        "changing owner references needs the right to delete, blocking the right to finalize",
    .phases = admission::kValidate,
    .operations = admission::kCreate | admission::kUpdate,
    .by_default = admission::Default::kOff,
    .create = &common::Make<OwnerReferencesPermissionEnforcement>,
};

}  // namespace portcullis::plugins::owner_references_permission_enforcement
