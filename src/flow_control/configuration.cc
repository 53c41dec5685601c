// SPDX-License-Identifier: Apache-2.0

#include "flow_control/configuration.h"

#include <algorithm>

#include "base/strings.h"
#include "flow_control/shuffle_sharding.h"

namespace portcullis::flow_control {
namespace {

int AsInt(json::Value value) { return static_cast<int>(value.AsInt()); }

NameSet ReadNames(json::Value list) {
  NameSet set;
  for (const json::Value item : list.elements()) set.names.emplace_back(item.AsString());
  set.all = set.names.size() == 1 && set.names.front() == "*";
  std::sort(set.names.begin(), set.names.end());
  return set;
}

Subject ReadSubject(json::Value value) {
  using Kind = Subject::Kind;
  const std::string_view kind = value["kind"].AsString();
  Subject subject;
  json::Value named;
  if (kind == "User") {
    subject.kind = Kind::kUser;
    named = value["user"];
  } else if (kind == "Group") {
    subject.kind = Kind::kGroup;
    named = value["group"];
  } else if (kind == "ServiceAccount") {
    subject.kind = Kind::kServiceAccount;
    named = value["serviceAccount"];
    subject.ns = named["namespace"].AsString();
  }
  if (!named.is_object()) subject.kind = Kind::kNothing;
  subject.name = named["name"].AsString();
  return subject;
}

PolicyRule ReadRule(json::Value value) {
  PolicyRule rule;
  for (const json::Value subject : value["subjects"].elements()) {
    rule.subjects.push_back(ReadSubject(subject));
  }
  for (const json::Value resource : value["resourceRules"].elements()) {
    rule.resources.push_back({ReadNames(resource["verbs"]), ReadNames(resource["apiGroups"]),
                              ReadNames(resource["resources"]), ReadNames(resource["namespaces"]),
                              resource["clusterScope"].AsBool()});
  }
  for (const json::Value path : value["nonResourceRules"].elements()) {
    rule.paths.push_back({ReadNames(path["verbs"]), ReadNames(path["nonResourceURLs"]).names});
  }
  return rule;
}

base::Status CheckUnions(json::Value spec, std::string_view name) {
  const std::string_view type = spec["type"].AsString();
  if ((type == "Limited") != spec["limited"].is_object()) {
    return base::BadRequest("broken union structure at the top, for Limited");
  }
  if ((type == "Exempt") != spec["exempt"].is_object()) {
    return base::BadRequest("broken union structure at the top, for Exempt");
  }
  if ((type == "Exempt") != (name == kExemptName)) {
    return base::BadRequest("non-alignment between name and type");
  }
  const json::Value response = spec["limited"]["limitResponse"];
  if (spec["limited"].is_object() &&
      (response["type"].AsString() == "Reject") == response["queuing"].is_object()) {
    return base::BadRequest("broken union structure for limit response");
  }
  return base::OkStatus();
}

}  // namespace

bool NameSet::Contains(std::string_view name) const {
  return all || std::binary_search(names.begin(), names.end(), name);
}

bool PathRule::Matches(std::string_view verb, std::string_view path) const {
  if (!verbs.Contains(verb)) return false;
  for (std::string_view prefix : paths) {
    if (prefix == "*" || prefix == path) return true;
    if (prefix.ends_with('*')) prefix.remove_suffix(1);
    const bool has_slash = prefix.ends_with('/');
    if (path.starts_with(prefix) &&
        (has_slash || (path.size() > prefix.size() && path[prefix.size()] == '/'))) {
      return true;
    }
  }
  return false;
}

base::Result<LevelSpec> ReadLevel(json::Value object) {
  LevelSpec level;
  level.name = object["metadata"]["name"].AsString();
  level.uid = object["metadata"]["uid"].AsString();
  const json::Value spec = object["spec"];
  TRY(CheckUnions(spec, level.name));
  level.exempt = spec["type"].AsString() == "Exempt";
  const json::Value common = level.exempt ? spec["exempt"] : spec["limited"];
  level.shares = AsInt(common["nominalConcurrencyShares"]);
  level.lendable_percent = AsInt(common["lendablePercent"]);
  if (const json::Value limit = common["borrowingLimitPercent"]; limit.is_int()) {
    level.borrowing_limit_percent = AsInt(limit);
  }
  if (const json::Value queuing = common["limitResponse"]["queuing"]; queuing.is_object()) {
    level.queues = AsInt(queuing["queues"]);
    level.hand_size = AsInt(queuing["handSize"]);
    level.queue_length_limit = AsInt(queuing["queueLengthLimit"]);
    if (level.queues > 0 && !CanDeal(level.queues, level.hand_size)) {
      return base::BadRequest("handSize and queues need more than 60 bits of entropy");
    }
  }
  return level;
}

SchemaSpec ReadSchema(json::Value object) {
  SchemaSpec schema;
  schema.name = object["metadata"]["name"].AsString();
  schema.uid = object["metadata"]["uid"].AsString();
  const json::Value spec = object["spec"];
  schema.level = spec["priorityLevelConfiguration"]["name"].AsString();
  schema.precedence = spec["matchingPrecedence"].AsInt();
  const std::string_view method = spec["distinguisherMethod"]["type"].AsString();
  if (method == "ByUser") schema.distinguisher = Distinguisher::kUser;
  if (method == "ByNamespace") schema.distinguisher = Distinguisher::kNamespace;
  for (const json::Value rule : spec["rules"].elements()) schema.rules.push_back(ReadRule(rule));
  return schema;
}

}  // namespace portcullis::flow_control
