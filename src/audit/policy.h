// SPDX-License-Identifier: Apache-2.0

// The audit policy says how much of a request is recorded (audit.k8s.io/v1 Policy).
// Source: Kubernetes docs, "Auditing". Immutable after construction.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/user_info.h"
#include "base/status.h"

namespace portcullis::audit {

enum class Level : std::uint8_t { kNone, kMetadata, kRequest, kRequestResponse };
enum class Stage : std::uint8_t { kRequestReceived, kResponseStarted, kResponseComplete, kPanic };
std::string_view LevelText(Level level);
std::string_view StageText(Stage stage);

// What rules look at. Views, valid for the call.
struct RequestAttributes {
  const api::UserInfo* user = nullptr;  // null if not authenticated
  std::string_view verb;
  bool resource_request = false;
  std::string_view group, version, resource, subresource, ns, name;
  std::string_view path;
};

// How one request is recorded.
struct Depth {
  Level level = Level::kNone;
  std::uint8_t omitted_stages = 0;  // bit per Stage
  bool omit_managed_fields = false;
  bool Omits(Stage stage) const { return (omitted_stages >> static_cast<unsigned>(stage)) & 1U; }
};

struct GroupResources {
  std::string group;
  std::vector<std::string> resources, resource_names;
};

struct Rule {
  Level level = Level::kNone;
  std::vector<std::string> users, user_groups, verbs, namespaces, non_resource_urls;
  std::vector<GroupResources> resources;
  std::uint8_t omitted_stages = 0;
  bool omit_managed_fields = false;
};

class Policy {
 public:
  explicit Policy(std::vector<Rule> rules) : rules_(std::move(rules)) {}
  // By the first rule that matches; kNone if none does.
  Depth For(const RequestAttributes& request) const;
  const std::vector<Rule>& rules() const { return rules_; }

 private:
  std::vector<Rule> rules_;
};

// Every write with its object once it has been answered, and nothing else.
Policy PolicyOfWrites();

// YAML or JSON. Unknown levels and stages, rules that mix resources with URLs, a policy without
// rules are errors that name the field, as kube-apiserver words them. Unknown and duplicate fields
// are logged and ignored, as there.
base::Result<Policy> ParsePolicy(std::string_view text);
base::Result<Policy> LoadPolicy(const std::string& path);

}  // namespace portcullis::audit
