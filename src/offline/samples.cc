// SPDX-License-Identifier: Apache-2.0

#include "offline/samples.h"

#include "base/strings.h"
#include "json/writer.h"

namespace portcullis::offline {
namespace {

constexpr std::string_view kPodSpec =
    "  spec: {containers: [{name: app, image: example.com/app:1}]}\n";
constexpr std::string_view kWorkload =
    "  spec:\n    replicas: 1\n    selector: {matchLabels: {app: example}}\n    template:\n"
    "      metadata: {labels: {app: example}}\n"
    "      spec: {containers: [{name: app, image: example.com/app:1}]}\n";
constexpr std::string_view kDaemon =
    "  spec:\n    selector: {matchLabels: {app: example}}\n    template:\n"
    "      metadata: {labels: {app: example}}\n"
    "      spec: {containers: [{name: app, image: example.com/app:1}]}\n";
constexpr std::string_view kJob =
    "  spec:\n    template:\n      spec:\n        restartPolicy: Never\n"
    "        containers: [{name: app, image: example.com/app:1}]\n";
constexpr std::string_view kCronJob =
    "  spec:\n    schedule: '@daily'\n    jobTemplate:\n      spec:\n        template:\n"
    "          spec:\n            restartPolicy: Never\n"
    "            containers: [{name: app, image: example.com/app:1}]\n";
constexpr std::string_view kClaim =
    "  spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n";
constexpr std::string_view kIngress =
    "  spec: {defaultBackend: {service: {name: example, port: {number: 80}}}}\n";

constexpr Sample kSamples[] = {
    {"pods", "v1", "Pod", kPodSpec},
    {"deployments", "apps/v1", "Deployment", kWorkload},
    {"statefulsets", "apps/v1", "StatefulSet", kWorkload},
    {"replicasets", "apps/v1", "ReplicaSet", kWorkload},
    {"daemonsets", "apps/v1", "DaemonSet", kDaemon},
    {"jobs", "batch/v1", "Job", kJob},
    {"cronjobs", "batch/v1", "CronJob", kCronJob},
    {"services", "v1", "Service", "  spec: {ports: [{port: 80}]}\n"},
    {"configmaps", "v1", "ConfigMap", "  data: {}\n"},
    {"secrets", "v1", "Secret", "  stringData: {}\n"},
    {"serviceaccounts", "v1", "ServiceAccount", ""},
    {"persistentvolumeclaims", "v1", "PersistentVolumeClaim", kClaim},
    {"ingresses", "networking.k8s.io/v1", "Ingress", kIngress},
    {"networkpolicies", "networking.k8s.io/v1", "NetworkPolicy", "  spec: {podSelector: {}}\n"},
    {"namespaces", "v1", "Namespace", ""},
};

bool Names(json::Value list, std::string_view text) {
  for (const json::Value& one : list.elements()) {
    if (one.AsString() == text || one.AsString() == "*") return true;
  }
  return false;
}

}  // namespace

std::string_view Sample::group() const {
  const auto cut = base::Cut(api_version, "/");
  return cut ? cut->first : "";
}

std::string_view Sample::version() const {
  const auto cut = base::Cut(api_version, "/");
  return cut ? cut->second : api_version;
}

std::span<const Sample> Samples() { return kSamples; }

const Sample* SampleFor(json::Value rules) {
  for (const json::Value& rule : rules.elements()) {
    for (const Sample& sample : kSamples) {
      if (Names(rule["resources"], sample.resource)) return &sample;
    }
  }
  return nullptr;
}

std::string SampleText(const Sample& sample, json::Value labels) {
  const std::string more =
      labels.is_object() ? base::StrCat(", labels: ", json::ToString(labels)) : "";
  return base::StrCat("  apiVersion: ", sample.api_version, "\n  kind: ", sample.kind,
                      "\n  metadata: {name: example", more, "}\n", sample.fields);
}

}  // namespace portcullis::offline
