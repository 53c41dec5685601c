// SPDX-License-Identifier: Apache-2.0

// What FlowSchemas and PriorityLevelConfigurations say, read from stored objects
// (flowcontrol.apiserver.k8s.io/v1). Value types.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "json/value.h"

namespace portcullis::flow_control {

inline constexpr std::string_view kApiGroup = "flowcontrol.apiserver.k8s.io";
// Levels and schemas that are always there, even without an object.
inline constexpr std::string_view kExemptName = "exempt";
inline constexpr std::string_view kCatchAllName = "catch-all";

struct LevelSpec {
  std::string name;
  std::string uid;
  bool exempt = false;
  int shares = 0;  // of the server's seats, relative to other levels
  int lendable_percent = 0;
  std::optional<int> borrowing_limit_percent;  // none: as much as there is
  int queues = 0;                              // 0: what finds no seat is rejected
  int hand_size = 0;
  int queue_length_limit = 0;
};

// Of strings where "*" stands for all only if it is the only one.
struct NameSet {
  bool all = false;
  std::vector<std::string> names;  // in ascending order

  bool Contains(std::string_view name) const;
};

struct ResourceRule {
  NameSet verbs;
  NameSet api_groups;
  NameSet resources;  // "pods", "pods/log"
  NameSet namespaces;
  bool cluster_scope = false;
};

struct PathRule {
  NameSet verbs;
  std::vector<std::string> paths;  // "*", "/healthz", "/healthz/*"

  bool Matches(std::string_view verb, std::string_view path) const;
};

struct Subject {
  enum class Kind : std::uint8_t { kUser, kGroup, kServiceAccount, kNothing };
  Kind kind = Kind::kNothing;
  std::string ns;    // of service accounts
  std::string name;  // "*": all
};

struct PolicyRule {
  std::vector<Subject> subjects;
  std::vector<ResourceRule> resources;
  std::vector<PathRule> paths;
};

enum class Distinguisher : std::uint8_t { kNone, kUser, kNamespace };

struct SchemaSpec {
  std::string name;
  std::string uid;
  std::string level;
  std::int64_t precedence = 0;  // the lowest that matches wins, then the first by name
  Distinguisher distinguisher = Distinguisher::kNone;
  std::vector<PolicyRule> rules;
};

// An error says why kube-apiserver would treat the object as if it were not there.
base::Result<LevelSpec> ReadLevel(json::Value object);
SchemaSpec ReadSchema(json::Value object);

}  // namespace portcullis::flow_control
