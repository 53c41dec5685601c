// SPDX-License-Identifier: Apache-2.0

// CEL over `claims`, the claims of a token, and `user`, what they are mapped to
// (k8s.io/apiserver/pkg/authentication/cel).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "api/user_info.h"
#include "base/status.h"
#include "cel/environment.h"
#include "json/value.h"

namespace portcullis::server::authentication {

// Immutable after construction.
class Expression {
 public:
  const std::string& text() const { return text_; }
  // Whether it selects `claims.<field>`.
  bool Uses(std::string_view field) const;
  // Whether the value is what a function of Go has made of []string (split, findAll): kube-apiserver does
  // not take that for a list of texts, though it does so if anything is added to it.
  bool MakesGoStrings() const;
  // An error says `expression '…' resulted in error: …`. The value lives as long as the arena.
  base::Result<cel::Value> Evaluate(json::Arena& arena, cel::Value input) const;

 private:
  friend class ExpressionCompiler;
  Expression() = default;
  std::string text_;
  std::string_view variable_;
  std::shared_ptr<const cel::Environment> environment_;
  cel::Compilation compilation_;
};
using ExpressionPtr = std::shared_ptr<const Expression>;

class ExpressionCompiler {
 public:
  static base::Result<ExpressionCompiler> Create();

  // Of mappings, which may come to anything, and of rules, which have to be bool. An error's message
  // is the detail of an Invalid error: `compilation failed: …`, `must evaluate to bool`.
  base::Result<ExpressionPtr> CompileMapping(std::string_view text) const;
  base::Result<ExpressionPtr> CompileClaimRule(std::string_view text) const;
  base::Result<ExpressionPtr> CompileUserRule(std::string_view text) const;

 private:
  using EnvironmentPtr = std::shared_ptr<const cel::Environment>;
  static base::Result<ExpressionPtr> Compile(const EnvironmentPtr& environment,
                                             std::string_view variable, std::string_view text);
  static base::Result<ExpressionPtr> CheckBool(ExpressionPtr expression);
  EnvironmentPtr claims_;
  EnvironmentPtr user_;
};

// What `claims` and `user` stand for: numbers are doubles, and a name may be written as a field of
// CEL, `kubernetes__dot__io`. As in kube-apiserver the two themselves have no size, and `in` does not
// look into them. The claims stay in place as long as the value.
cel::Value ClaimsValue(json::Arena& arena, const json::Value* claims);
cel::Value UserValue(json::Arena& arena, const api::UserInfo& user);

}  // namespace portcullis::server::authentication
