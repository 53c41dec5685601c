// SPDX-License-Identifier: Apache-2.0

// What `portcullis cel` gives to expressions: variables from the command line and from files, and
// with --as admission what a policy sees, permissions included.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "cel/environment.h"
#include "json/value.h"
#include "kube_cel/access.h"
#include "kube_cel/compiler.h"
#include "kube_cel/evaluation.h"

namespace portcullis::cli {

// Confined to one thread; holds everything that values point to.
class CelInputs {
 public:
  CelInputs() = default;
  CelInputs(const CelInputs&) = delete;
  CelInputs& operator=(const CelInputs&) = delete;

  bool kubernetes = false;  // Kubernetes' libraries
  bool admission = false;   // and the variables of a policy

  // `NAME=YAML`, or `NAME=@FILE` with the YAML in a file.
  base::Status AddVariable(std::string_view text);
  // The members of a YAML or JSON object. A Kubernetes object is refused: it would be meant as one
  // variable.
  base::Status AddVariables(std::string_view text, const std::string& path);
  // A list of {name, expression}, as in spec.variables of a policy.
  base::Status AddPolicyVariables(std::string_view text, const std::string& path);
  // A list of attributes with the decision on them.
  base::Status AddDecisions(std::string_view text, const std::string& path);

  // Declares what was added. Once, after everything was.
  base::Result<std::shared_ptr<const cel::Environment>> Declare();
  // The values, for one evaluation; `evaluation_arena` outlives it. Cost of the policy's variables
  // is to be asked from the evaluation.
  struct Bound {
    cel::Activation activation;
    std::unique_ptr<kube_cel::Evaluation> evaluation;  // with --as admission
  };
  Bound Bind(json::Arena& evaluation_arena);

  // With --as admission: neither object nor oldObject was given, so that both are null.
  bool has_no_object() const {
    return admission && Find("object") == nullptr && Find("oldObject") == nullptr;
  }

 private:
  class Decisions;

  const json::Value* Find(std::string_view name) const;
  base::Status CompilePolicyVariables(kube_cel::Scope& scope);

  json::Arena arena_;
  std::vector<std::pair<std::string, json::Value>> variables_;
  std::vector<std::pair<std::string, std::string>> policy_variables_;
  std::vector<json::Value> decisions_;
  std::shared_ptr<const cel::Environment> environment_;
  kube_cel::Compiler compiler_;
  std::shared_ptr<const kube_cel::ScopeEnvironment> scope_;
  std::vector<kube_cel::NamedExpression> named_;
  api::UserInfo user_;
  std::shared_ptr<kube_cel::AccessChecker> checker_;
};

}  // namespace portcullis::cli
