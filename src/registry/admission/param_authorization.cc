// SPDX-License-Identifier: Apache-2.0

#include "registry/admission/param_authorization.h"

#include <vector>

#include "api/catalog/catalog.h"
#include "authz/authorizer.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "json/reader.h"
#include "store/store.h"

namespace portcullis::registry {
namespace {

constexpr std::string_view kGroup = "admissionregistration.k8s.io";

// Which resource has to be readable; what is not known counts as all.
struct Target {
  std::string group = "*";
  std::string version = "*";
  std::string resource = "*";
  bool parsed = true;
  bool resolved = true;
};

Target ResolveParamKind(const Context& ctx, json::Value kind) {
  Target target;
  const auto version = api::ParseGroupVersion(kind["apiVersion"].AsString());
  target.parsed = version.ok();
  if (!target.parsed) return target;
  target.group = version->group;
  target.version = version->version;
  const api::catalog::ResourceInfo* info =
      ctx.catalog == nullptr ? nullptr
                             : ctx.catalog->FindKind({version->group, version->version,
                                                      std::string(kind["kind"].AsString())});
  target.resolved = info != nullptr;
  if (info != nullptr) target.resource = info->resource.resource;
  return target;
}

bool IsAsked(const Context& ctx) {
  return ctx.authorizer != nullptr && !ctx.user.InGroup(api::kGroupMasters);
}

authz::Attributes AttributesOf(const Context& ctx, const Target& target, std::string_view verb,
                               std::string_view ns, std::string_view name) {
  authz::Attributes attributes;
  attributes.user = &ctx.user;
  attributes.verb = verb;
  attributes.group = target.group;
  attributes.version = target.version;
  attributes.resource = target.resource;
  attributes.ns = ns;
  attributes.name = name;
  return attributes;
}

// What the refusal of a binding says, with what kept the question from being narrower.
std::string RefText(const Target& target, json::Value policy, std::string_view policy_name,
                    PolicyKind kind, std::string_view verb, const std::string& user) {
  const std::string quoted = base::GoQuote(verb);
  std::string_view what;
  std::string_view value;
  if (policy.is_null()) {
    what = "get policy";
    value = policy_name;
  } else if (!target.parsed) {
    what = "parse paramKind";
    value = policy["spec"]["paramKind"]["apiVersion"].AsString();
  } else if (!target.resolved) {
    what = "resolve paramKind";
    value = policy["spec"]["paramKind"]["kind"].AsString();
  } else {
    return base::StrCat("user ", user, " does not have ", quoted,
                        " permission on the object referenced by paramRef");
  }
  // For mutating policies Kubernetes has user and verb in the wrong order.
  const bool swapped = kind == PolicyKind::kMutating;
  return base::StrCat(
      "unable to ", what, " ", value, " to determine minimum required permissions and user ",
      swapped ? std::string(verb) : user, " does not have \"", swapped ? user : std::string(verb),
      "\" permission for all groups, versions and resources");
}

}  // namespace

std::string GoUserText(const api::UserInfo& user) {
  std::string extra;
  for (const auto& [key, values] : user.extra) {
    if (!extra.empty()) extra += ' ';
    extra += base::StrCat(key, ":", base::GoList(values));
  }
  return base::StrCat("&{", user.name, " ", user.uid, " ", base::GoList(user.groups), " map[",
                      extra, "]}");
}

void AuthorizeParamKind(const Context& ctx, json::Value policy, json::Value old,
                        api::FieldErrors& errors) {
  const json::Value kind = policy["spec"]["paramKind"];
  if (!kind.is_object() || kind == old["spec"]["paramKind"] || !IsAsked(ctx)) return;
  const Target target = ResolveParamKind(ctx, kind);
  if (ctx.authorizer->Authorize(AttributesOf(ctx, target, "get", "*", "*")).allowed()) return;
  errors.push_back(api::Forbidden(
      api::FieldPath("spec").Child("paramKind"),
      base::StrCat(
          "user ", GoUserText(ctx.user),
          " must have \"get\" permission on all objects of the referenced paramKind (kind=",
          kind["kind"].AsString(), ", apiVersion=", kind["apiVersion"].AsString(), ")")));
}

void AuthorizeParamRef(const Context& ctx, json::Value binding, PolicyKind kind,
                       api::FieldErrors& errors) {
  const json::Value ref = binding["spec"]["paramRef"];
  if (!ref.is_object() || !IsAsked(ctx)) return;
  const std::string_view policy_name = binding["spec"]["policyName"].AsString();
  const store::ObjectPtr policy =
      ctx.reader == nullptr
          ? nullptr
          : ctx.reader->Get({kGroup,
                             kind == PolicyKind::kValidating ? "validatingadmissionpolicies"
                                                             : "mutatingadmissionpolicies",
                             "", policy_name});
  // Not the object's own document, which would stay in memory as long as the object.
  json::Arena arena;
  json::Value document;
  if (policy != nullptr) {
    const auto parsed = json::Parse(arena, policy->bytes(), {.borrow_text = true});
    if (parsed.ok()) document = *parsed;
  }
  Target target;
  if (const json::Value param_kind = document["spec"]["paramKind"]; param_kind.is_object()) {
    target = ResolveParamKind(ctx, param_kind);
  }
  const std::string_view name = ref["name"].AsString();
  const std::string_view verb = name.empty() ? "list" : "get";
  const auto attributes = AttributesOf(ctx, target, verb, ref["namespace"].AsString(), name);
  if (ctx.authorizer->Authorize(attributes).allowed()) return;
  errors.push_back(
      api::Forbidden(api::FieldPath("spec").Child("paramRef"),
                     RefText(target, document, policy_name, kind, verb, GoUserText(ctx.user))));
}

}  // namespace portcullis::registry
