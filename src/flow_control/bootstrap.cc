// SPDX-License-Identifier: Apache-2.0

#include "flow_control/bootstrap.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "base/gotext.h"
#include "base/strings.h"
#include "flow_control/configuration.h"
#include "golang/strconv.h"

namespace portcullis::flow_control {
namespace {

constexpr std::string_view kVersion = "flowcontrol.apiserver.k8s.io/v1";

struct Level {
  std::string_view name;
  std::int64_t shares;
  std::int64_t lendable;
  std::int64_t queues;  // 0: requests beyond the limit are rejected
  std::int64_t hand_size;
};

// All but "exempt", which has no limits.
constexpr Level kLevels[] = {
    {"catch-all", 5, 0, 0, 0},          {"system", 30, 33, 64, 6},
    {"node-high", 40, 25, 64, 6},       {"leader-election", 10, 0, 16, 4},
    {"workload-high", 40, 50, 128, 6},  {"workload-low", 100, 90, 128, 6},
    {"global-default", 20, 50, 128, 6},
};
constexpr std::int64_t kQueueLength = 50;

// Subjects are group:NAME, user:NAME or sa:NAMESPACE/NAME, separated by spaces.
struct Schema {
  std::string_view name;
  std::string_view level;
  std::int64_t precedence;
  std::string_view distinguisher;  // "": none
  std::string_view subjects;
  std::string_view rules;  // what Rules() takes
};

// All requests; probes; leases of leaders; nodes and leases of nodes.
constexpr std::string_view kAll = "all";
constexpr std::string_view kProbes = "probes";
constexpr std::string_view kLeaders = "leaders";
constexpr std::string_view kNodes = "nodes";
constexpr std::string_view kEverybody = "group:system:unauthenticated group:system:authenticated";

constexpr Schema kSchemas[] = {
    {"exempt", "exempt", 1, "", "group:system:masters", kAll},
    {"catch-all", "catch-all", 10000, "ByUser", kEverybody, kAll},
    {"system-nodes", "system", 500, "ByUser", "group:system:nodes", kAll},
    {"system-node-high", "node-high", 400, "ByUser", "group:system:nodes", kNodes},
    {"probes", "exempt", 2, "", kEverybody, kProbes},
    {"system-leader-election", "leader-election", 100, "ByUser",
     "user:system:kube-controller-manager user:system:kube-scheduler sa:kube-system/*", kLeaders},
    {"kube-controller-manager", "workload-high", 800, "ByNamespace",
     "user:system:kube-controller-manager", kAll},
    {"kube-scheduler", "workload-high", 800, "ByNamespace", "user:system:kube-scheduler", kAll},
    {"kube-system-service-accounts", "workload-high", 900, "ByNamespace", "sa:kube-system/*", kAll},
    {"service-accounts", "workload-low", 9000, "ByUser", "group:system:serviceaccounts", kAll},
    {"global-default", "global-default", 9900, "ByUser", kEverybody, kAll},
};

json::Value List(json::Arena& arena, std::initializer_list<std::string_view> items) {
  json::ArrayBuilder list(arena);
  for (std::string_view item : items) list.Add(item);
  return list.Build();
}

json::Value Named(json::Arena& arena, std::string_view kind, std::string_view name,
                  json::Value spec) {
  const json::Value annotations =
      json::ObjectBuilder(arena).Set("apf.kubernetes.io/autoupdate-spec", "true").Build();
  return json::ObjectBuilder(arena)
      .Set("apiVersion", kVersion)
      .Set("kind", kind)
      .Set("metadata",
           json::ObjectBuilder(arena).Set("name", name).Set("annotations", annotations).Build())
      .Set("spec", spec)
      .Build();
}

json::Value ExemptLevel(json::Arena& arena) {
  const json::Value exempt = json::ObjectBuilder(arena)
                                 .Set("nominalConcurrencyShares", std::int64_t{0})
                                 .Set("lendablePercent", std::int64_t{0})
                                 .Build();
  return Named(arena, "PriorityLevelConfiguration", "exempt",
               json::ObjectBuilder(arena).Set("type", "Exempt").Set("exempt", exempt).Build());
}

json::Value LimitedLevel(json::Arena& arena, const Level& level) {
  json::ObjectBuilder response(arena);
  response.Set("type", level.queues > 0 ? "Queue" : "Reject");
  if (level.queues > 0) {
    response.Set("queuing", json::ObjectBuilder(arena)
                                .Set("queues", level.queues)
                                .Set("handSize", level.hand_size)
                                .Set("queueLengthLimit", kQueueLength)
                                .Build());
  }
  const json::Value limited = json::ObjectBuilder(arena)
                                  .Set("nominalConcurrencyShares", level.shares)
                                  .Set("lendablePercent", level.lendable)
                                  .Set("limitResponse", response.Build())
                                  .Build();
  return Named(arena, "PriorityLevelConfiguration", level.name,
               json::ObjectBuilder(arena).Set("type", "Limited").Set("limited", limited).Build());
}

json::Value Subjects(json::Arena& arena, std::string_view text) {
  json::ArrayBuilder subjects(arena);
  for (std::string_view word : base::Split(text, ' ')) {
    const std::size_t colon = word.find(':');
    const std::string_view sort = word.substr(0, colon);
    const std::string_view name = word.substr(colon + 1);
    json::ObjectBuilder subject(arena);
    if (sort == "sa") {
      const std::size_t slash = name.find('/');
      subject.Set("kind", "ServiceAccount");
      subject.Set("serviceAccount", json::ObjectBuilder(arena)
                                        .Set("namespace", name.substr(0, slash))
                                        .Set("name", name.substr(slash + 1))
                                        .Build());
    } else {
      subject.Set("kind", sort == "user" ? "User" : "Group");
      subject.Set(sort, json::ObjectBuilder(arena).Set("name", name).Build());
    }
    subjects.Add(subject.Build());
  }
  return subjects.Build();
}

json::Value ResourceRule(json::Arena& arena, json::Value verbs, std::string_view group,
                         json::Value resources, bool cluster_scope) {
  json::ObjectBuilder rule(arena);
  rule.Set("verbs", verbs).Set("apiGroups", List(arena, {group})).Set("resources", resources);
  if (cluster_scope) rule.Set("clusterScope", true);
  return rule.Set("namespaces", List(arena, {"*"})).Build();
}

json::Value PathRules(json::Arena& arena, std::string_view verb, json::Value paths) {
  json::ArrayBuilder rules(arena);
  rules.Add(json::ObjectBuilder(arena)
                .Set("verbs", List(arena, {verb}))
                .Set("nonResourceURLs", paths)
                .Build());
  return rules.Build();
}

json::Value Rules(json::Arena& arena, const Schema& schema) {
  json::ObjectBuilder rule(arena);
  rule.Set("subjects", Subjects(arena, schema.subjects));
  json::ArrayBuilder resources(arena);
  if (schema.rules == kAll) {
    resources.Add(ResourceRule(arena, List(arena, {"*"}), "*", List(arena, {"*"}), true));
  } else if (schema.rules == kLeaders) {
    resources.Add(ResourceRule(arena, List(arena, {"get", "create", "update"}),
                               "coordination.k8s.io", List(arena, {"leases"}), false));
  } else if (schema.rules == kNodes) {
    resources.Add(
        ResourceRule(arena, List(arena, {"*"}), "", List(arena, {"nodes", "nodes/status"}), true));
    resources.Add(ResourceRule(arena, List(arena, {"*"}), "coordination.k8s.io",
                               List(arena, {"leases"}), false));
  }
  if (resources.size() > 0) rule.Set("resourceRules", resources.Build());
  if (schema.rules == kAll) {
    rule.Set("nonResourceRules", PathRules(arena, "*", List(arena, {"*"})));
  } else if (schema.rules == kProbes) {
    rule.Set("nonResourceRules",
             PathRules(arena, "get", List(arena, {"/healthz", "/readyz", "/livez"})));
  }
  json::ArrayBuilder rules(arena);
  return rules.Add(rule.Build()).Build();
}

json::Value SchemaObject(json::Arena& arena, const Schema& schema) {
  json::ObjectBuilder spec(arena);
  spec.Set("priorityLevelConfiguration",
           json::ObjectBuilder(arena).Set("name", schema.level).Build());
  spec.Set("matchingPrecedence", schema.precedence);
  if (!schema.distinguisher.empty()) {
    spec.Set("distinguisherMethod",
             json::ObjectBuilder(arena).Set("type", schema.distinguisher).Build());
  }
  spec.Set("rules", Rules(arena, schema));
  return Named(arena, "FlowSchema", schema.name, spec.Build());
}

// What the annotation says; none if it is not there or says neither.
std::optional<bool> AutoUpdateOf(json::Value object) {
  const auto value = golang::ParseBool(object["metadata"]["annotations"][kAutoUpdate].AsString());
  return value.ok() ? std::optional(*value) : std::nullopt;
}

// Whether the spec is the wanted one. The shares of "exempt" are the operator's.
bool HasSpec(json::Arena& arena, json::Value wanted, json::Value current) {
  json::Value spec = wanted["spec"];
  if (const json::Value theirs = current["spec"]["exempt"]; theirs.is_object()) {
    for (std::string_view field : {"nominalConcurrencyShares", "lendablePercent"}) {
      if (theirs.Has(field)) spec = json::SetPath(arena, spec, {"exempt", field}, theirs[field]);
    }
  }
  return spec == current["spec"];
}

}  // namespace

std::vector<BootstrapObject> BootstrapObjects(json::Arena& arena) {
  const auto mandatory = [](std::string_view name) {
    return name == kExemptName || name == kCatchAllName;
  };
  std::vector<BootstrapObject> objects = {{ExemptLevel(arena), true}};
  for (const Level& level : kLevels) {
    objects.push_back({LimitedLevel(arena, level), mandatory(level.name)});
  }
  for (const Schema& schema : kSchemas) {
    objects.push_back({SchemaObject(arena, schema), mandatory(schema.name)});
  }
  return objects;
}

json::Value Revise(json::Arena& arena, const BootstrapObject& wanted, json::Value current) {
  const std::optional<bool> annotated = AutoUpdateOf(current);
  // Without the annotation an object that was never changed is still Kubernetes' own.
  const bool keeps_up =
      wanted.mandatory || annotated.value_or(current["metadata"]["generation"].AsInt() == 1);
  json::Value next = current;
  if (keeps_up && !HasSpec(arena, wanted.object, current)) {
    next = json::With(arena, next, "spec", wanted.object["spec"]);
  }
  if (annotated != keeps_up) {
    next = json::SetPath(arena, next, {"metadata", "annotations", kAutoUpdate},
                         json::Value::StringView(keeps_up ? "true" : "false"));
  }
  return next.IsSameAs(current) ? json::Value() : next;
}

bool IsUnwanted(json::Value object, const std::vector<BootstrapObject>& wanted) {
  if (AutoUpdateOf(object) != true) return false;
  const auto is_it = [&](const BootstrapObject& one) {
    return one.object["kind"] == object["kind"] &&
           one.object["metadata"]["name"] == object["metadata"]["name"];
  };
  return std::none_of(wanted.begin(), wanted.end(), is_it);
}

json::Value DanglingCondition(json::Arena& arena, std::string_view level, bool exists,
                              std::string_view now) {
  const std::string message = base::StrCat(
      "This FlowSchema references the PriorityLevelConfiguration object named ",
      base::GoQuote(level), exists ? " and it exists" : " but there is no such object");
  return json::ObjectBuilder(arena)
      .Set("type", "Dangling")
      .Set("status", exists ? "False" : "True")
      .Set("lastTransitionTime", now)
      .Set("reason", exists ? "Found" : "NotFound")
      .Set("message", message)
      .Build();
}

}  // namespace portcullis::flow_control
