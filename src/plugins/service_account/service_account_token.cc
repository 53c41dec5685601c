// SPDX-License-Identifier: Apache-2.0

#include "plugins/service_account/service_account_token.h"

#include <string>
#include <string_view>

#include "base/random.h"
#include "json/edit.h"

namespace portcullis::plugins::service_account {
namespace {

constexpr std::string_view kVolumePrefix = "kube-api-access-";
constexpr std::string_view kMountPath = "/var/run/secrets/kubernetes.io/serviceaccount";
// An hour, and some seconds by which the node tells our tokens from others.
constexpr std::int64_t kTokenSeconds = 3607;

json::Value Text(std::string_view literal) { return json::Value::StringView(literal); }

json::Value MakeVolume(json::Arena& arena, json::Value name) {
  const json::Value token = json::MakeObject(
      arena, {{"expirationSeconds", json::Value::Int(kTokenSeconds)}, {"path", Text("token")}});
  const json::Value certificate =
      json::MakeObject(arena, {{"key", Text("ca.crt")}, {"path", Text("ca.crt")}});
  const json::Value authority = json::MakeObject(
      arena,
      {{"name", Text("kube-root-ca.crt")}, {"items", json::MakeArray(arena, {certificate})}});
  const json::Value field = json::MakeObject(
      arena, {{"apiVersion", Text("v1")}, {"fieldPath", Text("metadata.namespace")}});
  const json::Value own_namespace =
      json::MakeObject(arena, {{"path", Text("namespace")}, {"fieldRef", field}});
  const json::Value downward =
      json::MakeObject(arena, {{"items", json::MakeArray(arena, {own_namespace})}});
  const json::Value sources =
      json::MakeArray(arena, {json::MakeObject(arena, {{"serviceAccountToken", token}}),
                              json::MakeObject(arena, {{"configMap", authority}}),
                              json::MakeObject(arena, {{"downwardAPI", downward}})});
  return json::MakeObject(
      arena, {{"name", name},
              {"projected", json::MakeObject(arena, {{"sources", sources},
                                                     {"defaultMode", json::Value::Int(420)}})}});
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
