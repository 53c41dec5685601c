// SPDX-License-Identifier: Apache-2.0

// All rules of one schema, compiled. Immutable.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"
#include "kube_cel/compiler.h"

namespace portcullis::kube_cel {

struct Rule {
  std::shared_ptr<const Expression> expression;
  std::shared_ptr<const Expression> message_expression;  // null if there is none
  std::string message;                                   // trimmed
  std::string reason;
  std::string field_path;
  bool uses_old = false;      // a transition rule
  bool optional_old = false;  // evaluated without an old value too
};

struct RuleField;

struct RuleNode {
  json::Value props;
  bool is_resource = false;  // has apiVersion, kind and metadata whatever the schema says
  bool has_any = false;      // rules here or below
  std::vector<Rule> rules;
  std::vector<RuleField> fields;
  std::unique_ptr<RuleNode> items;
  std::unique_ptr<RuleNode> additional;
};

struct RuleField {
  std::string name;
  RuleNode node;
};

class RuleSet {
 public:
  // `props` is an openAPIV3Schema or a part of one; it is copied. `is_resource`: it is the schema
  // of something with apiVersion, kind and metadata.
  explicit RuleSet(json::Value props, bool is_resource = true);
  const RuleNode& root() const { return root_; }
  json::Value props() const { return props_; }
  // True when it is asked for the first time: it has just been compiled.
  bool IsNew() const { return !was_asked_.exchange(true, std::memory_order_relaxed); }

 private:
  mutable std::atomic<bool> was_asked_{false};
  json::Arena arena_;
  json::Value props_;
  RuleNode root_;
};

}  // namespace portcullis::kube_cel
