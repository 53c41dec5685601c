// SPDX-License-Identifier: Apache-2.0

#include "offline/expand.h"

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/strings.h"
#include "json/writer.h"

namespace portcullis::offline {
namespace {

// A kind with a template: what it makes, who makes it, where the template is.
struct Workload {
  std::string_view group;
  std::string_view kind;
  std::string_view makes_version;
  std::string_view makes_kind;
  std::string_view asker;
  std::string_view template_path[3];  // of the template; "" ends it
  std::string_view count_field;       // of spec; "": one
};

constexpr Workload kWorkloads[] = {
    {"apps", "Deployment", "apps/v1", "ReplicaSet", "deployment-controller", {}, ""},
    {"apps", "ReplicaSet", "v1", "Pod", "replicaset-controller", {"spec", "template"}, "replicas"},
    {"apps",
     "StatefulSet",
     "v1",
     "Pod",
     "statefulset-controller",
     {"spec", "template"},
     "replicas"},
    {"apps", "DaemonSet", "v1", "Pod", "daemon-set-controller", {"spec", "template"}, ""},
    {"batch", "Job", "v1", "Pod", "job-controller", {"spec", "template"}, "parallelism"},
    {"batch", "CronJob", "batch/v1", "Job", "cronjob-controller", {"spec", "jobTemplate"}, ""},
    {"",
     "ReplicationController",
     "v1",
     "Pod",
     "replication-controller",
     {"spec", "template"},
     "replicas"},
};

constexpr std::size_t kMaxCount = 1000;

// Stands for pod-template-hash, with the alphabet of Kubernetes' safe encoding. The hash itself
// differs: Kubernetes' is of the memory of a Go program.
std::string TemplateHash(json::Value pod_template) {
  constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : json::ToString(pod_template, {.sort_keys = true})) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  }
  std::string text;
  for (int i = 0; i < 10; ++i, hash /= kAlphabet.size()) text += kAlphabet[hash % kAlphabet.size()];
  return text;
}

const Workload* FindWorkload(json::Value object) {
  const std::string_view version = object["apiVersion"].AsString();
  const auto cut = base::Cut(version, "/");
  const std::string_view group = cut ? cut->first : std::string_view();
  const std::string_view kind = object["kind"].AsString();
  for (const Workload& workload : kWorkloads) {
    if (workload.group == group && workload.kind == kind) return &workload;
  }
  return nullptr;
}

json::Value OwnersOf(json::Arena& arena, json::Value owner) {
  constexpr std::string_view kNone = "00000000-0000-0000-0000-000000000000";
  const json::Value metadata = owner["metadata"];
  const std::string_view name = metadata["name"].AsString();
  return json::ArrayBuilder(arena)
      .Add(json::ObjectBuilder(arena)
               .Set("apiVersion", owner["apiVersion"])
               .Set("kind", owner["kind"])
               .Set("name", name.empty() ? metadata["generateName"].AsString("x") : name)
               .Set("uid", metadata["uid"].AsString(kNone))
               .Set("controller", true)
               .Set("blockOwnerDeletion", true)
               .Build())
      .Build();
}

json::Value Metadata(json::Arena& arena, json::Value owner, json::Value of_template,
                     std::string_view ns, const std::string& generate_name) {
  json::ObjectBuilder metadata(arena);
  metadata.Set("generateName", generate_name).Set("namespace", ns);
  for (std::string_view name : {"labels", "annotations", "finalizers"}) {
    if (of_template.Has(name)) metadata.Set(name, of_template[name]);
  }
  metadata.Set("ownerReferences", OwnersOf(arena, owner));
  return metadata.Build();
}

json::Value MakeObject(json::Arena& arena, const Workload& workload, json::Value metadata,
                       json::Value spec) {
  return json::ObjectBuilder(arena)
      .Set("apiVersion", workload.makes_version)
      .Set("kind", workload.makes_kind)
      .Set("metadata", metadata)
      .Set("spec", spec)
      .Build();
}

std::string GeneratedName(json::Value owner) {
  const json::Value metadata = owner["metadata"];
  const std::string_view name = metadata["name"].AsString();
  if (name.empty()) return std::string(metadata["generateName"].AsString());
  return base::StrCat(name, "-");
}

json::Value ReplicaSetOf(json::Arena& arena, const Workload& workload, json::Value deployment,
                         json::Value written, std::string_view ns) {
  const json::Value spec = deployment["spec"];
  const std::string hash = TemplateHash(written["spec"]["template"]);
  const json::Value label = json::String(arena, hash);
  const auto with_hash = [&](json::Value value, std::initializer_list<std::string_view> path) {
    return json::SetPath(arena, value, path, label);
  };
  const json::Value pod_template =
      with_hash(spec["template"], {"metadata", "labels", "pod-template-hash"});
  const json::Value own =
      json::ObjectBuilder(arena)
          .Set("replicas", spec.Has("replicas") ? spec["replicas"] : json::Value::Int(1))
          .Set("selector", with_hash(spec["selector"], {"matchLabels", "pod-template-hash"}))
          .Set("template", pod_template)
          .Build();
  json::Value metadata = Metadata(arena, deployment, pod_template["metadata"], ns, "");
  metadata = json::Without(arena, metadata, "generateName");
  metadata =
      json::With(arena, metadata, "name", json::String(arena, GeneratedName(deployment) + hash));
  return MakeObject(arena, workload, metadata, own);
}

// The pods of a kind that Kubernetes does not have; their number is not known, one stands for all.
std::vector<Expansion> ExpandTemplate(json::Arena& arena, json::Value object, std::string_view ns,
                                      const PodTemplate& pod_template) {
  json::Value made = object;
  for (const std::string& step : pod_template.path) made = made[step];
  if (!made.is_object()) return {};
  constexpr Workload kPod = {"", "", "v1", "Pod", "", {}, ""};
  Expansion expansion;
  expansion.asker = "replicaset-controller";
  expansion.path = pod_template.path;
  expansion.object =
      MakeObject(arena, kPod, Metadata(arena, object, made["metadata"], ns, GeneratedName(object)),
                 made["spec"]);
  return {expansion};
}

std::size_t CountOf(const Workload& workload, json::Value spec) {
  if (workload.count_field.empty()) return 1;
  const std::int64_t wanted = spec[workload.count_field].AsInt(1);
  return static_cast<std::size_t>(std::clamp<std::int64_t>(wanted, 0, kMaxCount));
}

}  // namespace

base::Result<PodTemplate> ReadPodTemplate(std::string_view text) {
  const auto cut = base::Cut(text, "=");
  const auto name = cut ? base::Cut(cut->first, "/") : std::nullopt;
  if (!name || name->second.empty() || cut->second.empty()) {
    return base::BadRequest("must be GROUP/KIND=PATH, as argoproj.io/Rollout=spec.template");
  }
  PodTemplate made{std::string(name->first), std::string(name->second), {}};
  for (const std::string_view step : base::Split(cut->second, '.')) made.path.emplace_back(step);
  return made;
}

std::vector<Expansion> Expand(json::Arena& arena, json::Value object, json::Value written,
                              std::string_view ns, std::span<const PodTemplate> pod_templates) {
  const auto version = base::Cut(object["apiVersion"].AsString(), "/");
  for (const PodTemplate& pod_template : pod_templates) {
    if (object["kind"].AsString() != pod_template.kind) continue;
    if ((version ? version->first : std::string_view()) != pod_template.group) continue;
    return ExpandTemplate(arena, object, ns, pod_template);
  }
  const Workload* workload = FindWorkload(object);
  if (workload == nullptr) return {};
  Expansion expansion;
  expansion.asker = workload->asker;
  if (workload->kind == "Deployment") {
    if (!object["spec"]["template"].is_object()) return {};
    expansion.object =
        ReplicaSetOf(arena, *workload, object, written.is_object() ? written : object, ns);
    return {expansion};
  }
  json::Value made = object;
  for (std::string_view step : workload->template_path) {
    if (step.empty()) continue;
    made = made[step];
    expansion.path.emplace_back(step);
  }
  if (!made.is_object()) return {};
  expansion.count = CountOf(*workload, object["spec"]);
  if (expansion.count == 0) return {};
  expansion.object = MakeObject(
      arena, *workload, Metadata(arena, object, made["metadata"], ns, GeneratedName(object)),
      made["spec"]);
  return {expansion};
}

}  // namespace portcullis::offline
