// SPDX-License-Identifier: Apache-2.0

// NodeSelector: which nodes are meant, from the API's form {nodeSelectorTerms: [{matchExpressions,
// matchFields}]} (k8s.io/component-helpers/scheduling/corev1/nodeaffinity): terms are alternatives,
// what stands in one term must hold together. Value type.
#pragma once

#include <string>
#include <vector>

#include "api/selector/label_selector.h"
#include "base/status.h"
#include "json/value.h"

namespace portcullis::api {

class NodeSelector {
 public:
  NodeSelector() = default;  // matches nothing
  // Null and {} match nothing; so does a term that says nothing. Errors name the place:
  // `nodeSelectorTerms[0].matchExpressions[1].operator: Unsupported value: "Foo"`.
  static base::Result<NodeSelector> FromJson(json::Value selector);

  // `node` is a whole Node.
  bool Matches(json::Value node) const;

 private:
  // metadata.name is, or is not, a value: the one field that there is.
  struct NameRule {
    std::string name;
    bool wanted = true;
    // Another field than the name: no node has it.
    bool known = true;
  };
  struct Term {
    LabelSelector labels;
    std::vector<NameRule> fields;
  };

  std::vector<Term> terms_;
};

}  // namespace portcullis::api
