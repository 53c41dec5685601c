// SPDX-License-Identifier: Apache-2.0

#include "plugins/service_account/service_account_token.h"

#include <memory>
#include <string>
#include <string_view>

#include "base/random.h"
#include "json/edit.h"
#include "json/reader.h"

namespace portcullis::plugins::service_account {
namespace {

constexpr std::string_view kVolumePrefix = "kube-api-access-";
constexpr std::string_view kMountPath = "/var/run/secrets/kubernetes.io/serviceaccount";

json::Value Text(std::string_view literal) { return json::Value::StringView(literal); }

// An hour, and some seconds by which the node tells our tokens from others. As Go writes it: parsed once, it is
// written to each pod as it stands here.
constexpr std::string_view kSources =
    R"([{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},)"
    R"({"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt","path":"ca.crt"}]}},)"
    R"({"downwardAPI":{"items":[{"path":"namespace","fieldRef":{"apiVersion":"v1",)"
    R"("fieldPath":"metadata.namespace"}}]}}])";

json::Value Sources() {
  static const json::Document sources = [] {
    auto arena = std::make_shared<json::Arena>();
    const auto parsed = json::Parse(*arena, kSources, {.borrow_text = true});
    return json::Document(arena, parsed.ok() ? *parsed : json::Value());
  }();
  return sources.root();
}

json::Value MakeVolume(json::Arena& arena, json::Value name) {
  const json::Value projected =
      json::MakeObject(arena, {{"sources", Sources()}, {"defaultMode", json::Value::Int(420)}});
  return json::MakeObject(arena, {{"name", name}, {"projected", projected}});
}

// The name of the first volume that looks like ours, or null.
json::Value ExistingVolume(json::Value pod_spec) {
  for (const json::Value& volume : pod_spec["volumes"].elements()) {
    if (volume["name"].AsString().starts_with(kVolumePrefix)) return volume["name"];
  }
  return {};
}

bool MountsAtPath(json::Value container) {
  for (const json::Value& mount : container["volumeMounts"].elements()) {
    if (mount["mountPath"].AsString() == kMountPath) return true;
  }
  return false;
}

}  // namespace

bool ShouldMountToken(json::Value pod_spec, json::Value account) {
  constexpr std::string_view kSwitch = "automountServiceAccountToken";
  return pod_spec[kSwitch].AsBool(account[kSwitch].AsBool(true));
}

json::Value MountToken(json::Arena& arena, json::Value pod_spec) {
  const json::Value existing = ExistingVolume(pod_spec);
  const json::Value name =
      existing.is_string()
          ? existing
          : json::String(arena, std::string(kVolumePrefix) + base::RandomSuffix(5));
  const json::Value mount = json::MakeObject(
      arena,
      {{"name", name}, {"readOnly", json::Value::Bool(true)}, {"mountPath", Text(kMountPath)}});
  json::Value spec = pod_spec;
  bool mounted = false;
  for (std::string_view list : {"initContainers", "containers"}) {
    const auto mount_into = [&](json::Value container) {
      if (MountsAtPath(container)) return container;
      mounted = true;
      return json::With(arena, container, "volumeMounts",
                        json::Append(arena, container["volumeMounts"], mount));
    };
    const json::Value containers = json::EditElements(arena, spec[list], mount_into);
    if (!containers.empty()) spec = json::With(arena, spec, list, containers);
  }
  if (!mounted) return pod_spec;
  if (existing.is_string()) return spec;
  return json::With(arena, spec, "volumes",
                    json::Append(arena, spec["volumes"], MakeVolume(arena, name)));
}

json::Value NamesOf(json::Arena& arena, json::Value references) {
  json::ArrayBuilder names(arena);
  for (const json::Value& reference : references.elements()) {
    names.Add(json::MakeObject(arena, {{"name", reference["name"]}}));
  }
  return names.Build();
}

}  // namespace portcullis::plugins::service_account
