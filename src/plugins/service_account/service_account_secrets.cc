// SPDX-License-Identifier: Apache-2.0

#include "plugins/service_account/service_account_secrets.h"

#include <set>
#include <string_view>

#include "base/strings.h"
#include "golang/strconv.h"
#include "plugins/common/pod_references.h"

namespace portcullis::plugins::service_account {
namespace {

constexpr std::string_view kEnforce = "kubernetes.io/enforce-mountable-secrets";

bool LimitsSecrets(json::Value account) {
  const json::Value value = account["metadata"]["annotations"][kEnforce];
  if (value.is_null()) return false;
  const auto enforce = golang::ParseBool(value.AsString());
  return enforce.ok() && *enforce;
}

std::set<std::string_view> NameSet(json::Value references) {
  std::set<std::string_view> names;
  for (const json::Value& reference : references.elements()) {
    names.insert(reference["name"].AsString());
  }
  return names;
}

std::string NotAllowed(std::string_view what, std::string_view secret, json::Value account,
                       std::string_view noun) {
  return base::StrCat(what, "\"", secret, "\" is not allowed because service account ",
                      account["metadata"]["name"].AsString(), " does not reference that ", noun);
}

// `kind` is "container", "init container" or "ephemeral container".
std::string ContainersProblem(json::Value containers, std::string_view kind, json::Value account,
                              const std::set<std::string_view>& allowed) {
  for (const json::Value& container : containers.elements()) {
    const std::string who = base::StrCat(kind, " ", container["name"].AsString(), " with ");
    for (const json::Value& variable : container["env"].elements()) {
      const json::Value reference = variable["valueFrom"]["secretKeyRef"];
      std::string_view secret = reference["name"].AsString();
      if (reference.is_null() || allowed.contains(secret)) continue;
      return NotAllowed(base::StrCat(who, "envVar ", variable["name"].AsString(),
                                     " referencing secret.secretName="),
                        secret, account, "secret");
    }
    for (const json::Value& source : container["envFrom"].elements()) {
      const json::Value reference = source["secretRef"];
      std::string_view secret = reference["name"].AsString();
      if (reference.is_null() || allowed.contains(secret)) continue;
      return NotAllowed(who + "envFrom referencing secret.secretName=", secret, account, "secret");
    }
  }
  return {};
}

}  // namespace

std::string MirrorPodProblem(json::Value pod_spec) {
  if (!pod_spec["serviceAccountName"].AsString().empty()) {
    return "a mirror pod may not reference service accounts";
  }
  if (!common::VisitSecretNames(pod_spec, [](std::string_view) { return false; })) {
    return "a mirror pod may not reference secrets";
  }
  for (const json::Value& volume : pod_spec["volumes"].elements()) {
    for (const json::Value& source : volume["projected"]["sources"].elements()) {
      if (!source["serviceAccountToken"].is_null()) {
        return "a mirror pod may not use ServiceAccountToken volume projections";
      }
    }
  }
  return {};
}

std::string SecretsProblem(json::Value pod_spec, json::Value account) {
  if (!LimitsSecrets(account)) return {};
  const std::set<std::string_view> allowed = NameSet(account["secrets"]);
  for (const json::Value& volume : pod_spec["volumes"].elements()) {
    const json::Value source = volume["secret"];
    std::string_view secret = source["secretName"].AsString();
    if (source.is_null() || allowed.contains(secret)) continue;
    return NotAllowed("volume with secret.secretName=", secret, account, "secret");
  }
  std::string problem =
      ContainersProblem(pod_spec["initContainers"], "init container", account, allowed);
  if (problem.empty()) {
    problem = ContainersProblem(pod_spec["containers"], "container", account, allowed);
  }
  if (!problem.empty()) return problem;
  const std::set<std::string_view> pull_secrets = NameSet(account["imagePullSecrets"]);
  const json::Value wanted = pod_spec["imagePullSecrets"];
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    std::string_view secret = wanted[i]["name"].AsString();
    if (pull_secrets.contains(secret)) continue;
    return NotAllowed(base::StrCat("imagePullSecrets[", std::to_string(i), "].name="), secret,
                      account, "imagePullSecret");
  }
  return {};
}

std::string EphemeralSecretsProblem(json::Value pod_spec, json::Value account) {
  if (!LimitsSecrets(account)) return {};
  return ContainersProblem(pod_spec["ephemeralContainers"], "ephemeral container", account,
                           NameSet(account["secrets"]));
}

}  // namespace portcullis::plugins::service_account
