// SPDX-License-Identifier: Apache-2.0

// What workload controllers would make of an object: the ReplicaSet of a Deployment, the Job of a
// CronJob, the Pods of both and of StatefulSets, DaemonSets, Jobs, ReplicaSets and
// ReplicationControllers. Kubernetes' controllers, pkg/controller.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "json/value.h"

namespace portcullis::offline {

struct Expansion {
  json::Value object;      // to be created; named by generateName
  std::string_view asker;  // the controller's service account in kube-system
  std::size_t count = 1;   // how many of it are made
  // Where what becomes of it stands in the object it is made from: {"spec", "template"}.
  std::vector<std::string> path;
};

// Where a kind that Kubernetes does not have keeps the template of its pods.
struct PodTemplate {
  std::string group;
  std::string kind;
  std::vector<std::string> path;  // {"spec", "template"}
};

// "argoproj.io/Rollout=spec.template".
base::Result<PodTemplate> ReadPodTemplate(std::string_view text);

// Nothing if the object makes nothing. `written`: the object as its file has it, whose template names
// the ReplicaSet of a Deployment, so that the name is the same whatever admission has added; null: the
// object. Values live in `arena` and in those of the objects.
std::vector<Expansion> Expand(json::Arena& arena, json::Value object, json::Value written,
                              std::string_view ns, std::span<const PodTemplate> pod_templates = {});

}  // namespace portcullis::offline
