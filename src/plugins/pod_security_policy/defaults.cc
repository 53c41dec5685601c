// SPDX-License-Identifier: Apache-2.0

// The half of a provider that fills in what a pod leaves out.

#include <set>
#include <string>

#include "base/strings.h"
#include "json/edit.h"
#include "plugins/pod_security_policy/profiles.h"
#include "plugins/pod_security_policy/provider.h"

namespace portcullis::plugins::pod_security_policy {

std::string SeccompText(json::Value profile) {
  const std::string_view type = profile["type"].AsString();
  if (type == "RuntimeDefault") return "runtime/default";
  if (type == "Unconfined") return "unconfined";
  if (type == "Localhost")
    return base::StrCat("localhost/", profile["localhostProfile"].AsString());
  return {};
}

namespace {

// The field of an annotation's text; null for one that is none.
json::Value SeccompField(json::Arena& arena, std::string_view text) {
  constexpr std::string_view kLocalhost = "localhost/";
  const auto of = [&](std::string_view type) {
    return json::MakeObject(arena, {{"type", json::String(arena, type)}});
  };
  if (text == "runtime/default" || text == "docker/default") return of("RuntimeDefault");
  if (text == "unconfined") return of("Unconfined");
  if (!text.starts_with(kLocalhost)) return {};
  return json::With(arena, of("Localhost"), "localhostProfile",
                    json::String(arena, text.substr(kLocalhost.size())));
}

// The least number that a rule MustRunAs allows, or null.
json::Value FirstOf(json::Value strategy) {
  if (strategy["rule"].AsString() != kMustRunAs) return {};
  return strategy["ranges"][std::size_t{0}]["min"];
}

using Names = std::set<std::string_view>;

Names NamesOf(json::Value list) {
  Names names;
  for (const json::Value& name : list.elements()) names.insert(name.AsString());
  return names;
}

json::Value ListOf(json::Arena& arena, const Names& names) {
  json::ArrayBuilder list(arena);
  for (const std::string_view name : names) list.Add(json::String(arena, name));
  return list.Build();
}

// A pod that is being filled in.
class Defaults {
 public:
  Defaults(json::Arena& arena, json::Value policy, json::Value pod)
      : arena_(arena), policy_(policy), spec_(policy["spec"]), pod_(pod) {}

  json::Value Run() {
    OfPod();
    const json::Value runtime_class = spec_["runtimeClass"]["defaultRuntimeClassName"];
    if (!runtime_class.is_null() && pod_["spec"]["runtimeClassName"].is_null()) {
      pod_ = json::SetPath(arena_, pod_, {"spec", "runtimeClassName"}, runtime_class);
    }
    for (const std::string_view list : kLists) {
      const json::Value containers = pod_["spec"][list];
      if (containers.is_null()) continue;
      const json::Value changed = json::EditElements(
          arena_, containers, [&](json::Value container) { return OfContainer(container); });
      if (!changed.IsSameAs(containers)) {
        pod_ = json::SetPath(arena_, pod_, {"spec", list}, changed);
      }
    }
    return pod_;
  }

 private:
  void OfPod() {
    const json::Value given = pod_["spec"]["securityContext"];
    json::Value context = given;
    if (const json::Value group = FirstOf(spec_["supplementalGroups"]); !group.is_null()) {
      Fill(context, "supplementalGroups", json::MakeArray(arena_, {group}));
    }
    Fill(context, "fsGroup", FirstOf(spec_["fsGroup"]));
    Fill(context, "seLinuxOptions", SeLinux());
    const std::string_view profile = policy_["metadata"]["annotations"][kSeccompDefault].AsString();
    const bool has_profile = !pod_["metadata"]["annotations"][kSeccompOfPod].AsString().empty() ||
                             !given["seccompProfile"].is_null();
    if (!profile.empty() && !has_profile) {
      Annotate(std::string(kSeccompOfPod), profile);
      Fill(context, "seccompProfile", SeccompField(arena_, profile));
    }
    if (context.IsSameAs(given)) return;
    pod_ = json::SetPath(arena_, pod_, {"spec", "securityContext"}, context);
  }

  json::Value OfContainer(json::Value container) {
    const json::Value given = container["securityContext"];
    json::Value context = given;
    const auto fill = [&](std::string_view field, json::Value value) {
      if (Effective(pod_, container, field).is_null()) Fill(context, field, value);
    };
    fill("runAsUser", FirstOf(spec_["runAsUser"]));
    fill("runAsGroup", FirstOf(spec_["runAsGroup"]));
    fill("seLinuxOptions", SeLinux());
    const std::string key = base::StrCat(kAppArmorOfContainer, container["name"].AsString());
    const std::string_view profile =
        policy_["metadata"]["annotations"][kAppArmorDefault].AsString();
    if (!profile.empty() && pod_["metadata"]["annotations"][key].AsString().empty()) {
      Annotate(key, profile);
    }
    if (spec_["runAsUser"]["rule"].AsString() == "MustRunAsNonRoot" &&
        Effective(pod_, container, "runAsUser").is_null()) {
      fill("runAsNonRoot", json::Value::Bool(true));
    }
    context = WithCapabilities(context);
    if (spec_["readOnlyRootFilesystem"].AsBool()) {
      Fill(context, "readOnlyRootFilesystem", json::Value::Bool(true));
    }
    Fill(context, "allowPrivilegeEscalation", spec_["defaultAllowPrivilegeEscalation"]);
    if (!spec_["allowPrivilegeEscalation"].AsBool(true)) {
      Fill(context, "allowPrivilegeEscalation", json::Value::Bool(false));
    }
    return context.IsSameAs(given) ? container
                                   : json::With(arena_, container, "securityContext", context);
  }

  // Adds what is added by default, unless the container drops it, and drops what must be dropped.
  json::Value WithCapabilities(json::Value context) const {
    const json::Value capabilities = context["capabilities"];
    Names add = NamesOf(capabilities["add"]);
    Names drop = NamesOf(capabilities["drop"]);
    const std::size_t before = add.size() + drop.size();
    for (const json::Value& name : spec_["defaultAddCapabilities"].elements()) {
      if (!drop.contains(name.AsString())) add.insert(name.AsString());
    }
    drop.merge(NamesOf(spec_["requiredDropCapabilities"]));
    if (add.size() + drop.size() == before) return context;
    json::Value changed = json::MakeObject(arena_, {});
    if (!add.empty()) changed = json::With(arena_, changed, "add", ListOf(arena_, add));
    if (!drop.empty()) changed = json::With(arena_, changed, "drop", ListOf(arena_, drop));
    return json::With(arena_, OrEmpty(context), "capabilities", changed);
  }

  json::Value SeLinux() const {
    const json::Value strategy = spec_["seLinux"];
    return strategy["rule"].AsString() == kMustRunAs ? strategy["seLinuxOptions"] : json::Value();
  }

  json::Value OrEmpty(json::Value object) const {
    return object.is_null() ? json::MakeObject(arena_, {}) : object;
  }
  void Fill(json::Value& context, std::string_view field, json::Value value) const {
    if (value.is_null() || !context[field].is_null()) return;
    context = json::With(arena_, OrEmpty(context), field, value);
  }
  void Annotate(const std::string& key, std::string_view value) {
    pod_ =
        json::SetPath(arena_, pod_, {"metadata", "annotations", key}, json::String(arena_, value));
  }

  json::Arena& arena_;
  const json::Value policy_;
  const json::Value spec_;
  json::Value pod_;
};

}  // namespace

json::Value Provider::Mutate(json::Arena& arena, json::Value pod) const {
  return Defaults(arena, policy_, pod).Run();
}

}  // namespace portcullis::plugins::pod_security_policy
