// SPDX-License-Identifier: Apache-2.0

// Compiler turns the expressions of policies, match conditions and rules into programs, each
// distinct expression of an environment once, however many objects share it.
//
//   kube_cel::Compiler compiler;
//   auto expression = compiler.Compile({.params = true}, "object.x == params.x", Expected::kBool);
//   if (!expression->ok()) return expression->error();
//
// Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cel/environment.h"
#include "cel/program.h"
#include "kube_cel/variable_types.h"
#include "release/release.h"

namespace portcullis::kube_cel {

// The variables of admission, in the order in which evaluation is given their values.
enum class Input : std::uint8_t {
  kObject,
  kOldObject,
  kRequest,
  kNamespaceObject,
  kParams,
  kAuthorizer,
  kRequestResource,
  kVariables,
};
inline constexpr std::size_t kInputs = 8;

// What an expression may mention besides object, oldObject, request and namespaceObject.
struct Scope {
  bool params = false;
  bool authorizer = false;
  bool bare_authorizer = false;  // without `authorizer.requestResource`
  bool mutation = false;         // Object{}, JSONPatch{}, jsonpatch.escapeKey()
  bool variables = false;        // `variables` is declared
  // A new expression may use only what the oldest compatible release knows too, so that the server
  // can be rolled back; one that is stored already may use everything.
  bool is_new = false;
  VariableTypes variable_types;
};

// What an expression has to evaluate to.
enum class Expected : std::uint8_t { kAnything, kBool, kString, kStringOrNull, kObject, kPatch };

// An environment with the places of the admission variables in it.
struct ScopeEnvironment {
  std::shared_ptr<const cel::Environment> environment;
  std::array<int, kInputs> indices{};
};

// A compiled expression, or why it does not compile. Immutable after construction, but for what its
// evaluations have shown.
class Expression {
 public:
  const std::string& text() const { return text_; }
  bool ok() const { return program_ != nullptr; }
  // `compilation failed: ERROR: …`, `must evaluate to bool but got dyn` or, if is_internal(),
  // `program instantiation failed: …`.
  const std::string& error() const { return error_; }
  bool is_internal() const { return internal_; }
  // REQUIRES: ok().
  const cel::Program& program() const { return *program_; }
  const ScopeEnvironment& scope() const { return *scope_; }
  // The type under which a variable defined by this expression is known.
  std::string VariableTypeText() const;

  // Whether the next evaluation is expected to take long: one has, and since then there were fewer
  // than kForgotten others. Thread-safe; what threads do at the same time may count once.
  bool IsExpectedLong() const;
  void NoteLong() const { expected_long_.store(kForgotten, std::memory_order_relaxed); }
  static constexpr std::uint8_t kForgotten = 100;

 private:
  friend class Compiler;
  std::string text_;
  std::shared_ptr<const cel::Program> program_;
  std::shared_ptr<const ScopeEnvironment> scope_;
  std::string error_;
  bool internal_ = false;
  mutable std::atomic<std::uint8_t> expected_long_{0};  // so many of the next evaluations
};

// The type under which later expressions know a variable that is of this type. A type made of more
// than 64 others is dyn: variables of variables could make it as large as one likes.
std::string VariableTypeText(const cel::Type* type);

class RuleSet;

class Compiler {
 public:
  // `kubernetes_minor`: the release that is asked for; new expressions may use what the one before
  // it has.
  explicit Compiler(int kubernetes_minor = release::kNewestMinor);
  ~Compiler();
  Compiler(const Compiler&) = delete;
  Compiler& operator=(const Compiler&) = delete;

  // Never null. Shared with everybody who holds the same expression of an equal scope.
  std::shared_ptr<const Expression> Compile(const Scope& scope, std::string_view text,
                                            Expected expected);
  // Without the cache, in an environment of one's own.
  static std::shared_ptr<const Expression> CompileIn(std::shared_ptr<const ScopeEnvironment> scope,
                                                     std::string_view text, Expected expected);

  std::shared_ptr<const ScopeEnvironment> EnvironmentOf(const Scope& scope);

  // The rules of a schema, compiled when they are asked for first. `owner` stands for the schema;
  // asked again for another `props` with the same owner, the rules are compiled anew.
  std::shared_ptr<const RuleSet> RulesOf(const void* owner, json::Value props);
  // Memory is short: they are compiled once more when they are asked for again.
  void ForgetRules();

 private:
  // The release whose libraries the scope's expressions may use.
  int MinorOf(const Scope& scope) const;
  std::string KeyOf(const Scope& scope) const;

  const int kubernetes_minor_;
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<const ScopeEnvironment>> environments_;
  // The environments without variables are kept for ever.
  std::vector<std::shared_ptr<const ScopeEnvironment>> kept_;
  std::unordered_map<std::string, std::weak_ptr<const Expression>> expressions_;
  std::size_t next_sweep_ = 1024;
  static constexpr std::size_t kMaxRuleSets = 4096;
  std::unordered_map<const void*, std::shared_ptr<const RuleSet>> rule_sets_;
};

inline constexpr int kEveryRelease = 1000;

// The libraries and options of Kubernetes' environment that v1.<minor> has, without variables.
void AddKubernetesLibraries(cel::EnvironmentBuilder& builder, int minor = kEveryRelease);

}  // namespace portcullis::kube_cel
