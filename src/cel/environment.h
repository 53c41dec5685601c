// SPDX-License-Identifier: Apache-2.0

// An environment is what an expression may mention: variables, libraries, types and options.
//
//   EnvironmentBuilder builder;
//   builder.AddLibrary(kStringsLibrary, 2).AddVariable("object", "dyn");
//   std::shared_ptr<const Environment> environment = TRY(builder.Build());
//   Compilation compilation = environment->Compile("object.name.lowerAscii() == 'x'");
//   if (!compilation.issues.empty()) return compilation.issues.ToString();
//
// Immutable and shared once built; programs keep their environment alive. kStandardLibrary is
// always in. Environments do not cache: to compile one text often, keep the Compilation.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "cel/issues.h"
#include "cel/library.h"
#include "cel/program.h"
#include "cel/types.h"

namespace portcullis::cel {

class Ast;           // cel/syntax/ast.h
class Declarations;  // cel/checker/declarations.h

// Makes objects of struct types: `Object{spec: …}`. Fields are in the order written, unset ones
// (optional fields without value) left out. Returns the object or an error value.
class ObjectFactory {
 public:
  struct Field {
    std::string_view name;
    Value value;
  };
  virtual ~ObjectFactory() = default;
  virtual Value Make(EvalContext& context, const Type& type,
                     std::span<const Field> fields) const = 0;
};

struct EnvironmentOptions {
  std::string container;
  bool optional_syntax = true;        // `.?`, `[?]`, `?` before elements
  bool quoted_fields = false;         // a.`b-c`
  bool homogeneous_literals = false;  // elements of one type in list and map literals
  bool validate_literals = false;     // duration, timestamp and regex literals
  bool validate_formats = true;       // format literals with literal arguments
  bool fold_constants = true;
  bool follows_specification = false;  // where cel-go does not, see EvalContext
  bool has_costs = false;              // has(a.b) counts 1 for the test itself
  // Limits of the parser; the texts name them.
  int max_code_points = 100000;
  int max_depth = 250;
};

struct CompileOptions {
  bool check = true;   // without it, names are resolved when planning and nothing is typed
  bool trace = false;  // every sub-expression is shown to EvalOptions::observer
};

// Either a program, or issues (ordinary errors in the expression), or `failure` set: the program
// could not be made though the expression is well typed ("program instantiation failed: …").
struct Compilation {
  std::shared_ptr<const Program> program;
  std::shared_ptr<const Ast> ast;  // checked; set whenever there are no issues
  Issues issues;
  bool syntax_error = false;  // the issues are the parser's
  base::Status failure;

  bool ok() const { return program != nullptr; }
  // The one text of what went wrong: issues with carets, or the failure.
  std::string ErrorText() const;
};

struct Variable {
  std::string name;  // may have dots: `authorizer.requestResource`
  const Type* type = nullptr;
};

class Environment : public std::enable_shared_from_this<Environment> {
 public:
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment();

  Compilation Compile(std::string_view expression, const CompileOptions& options = {}) const;
  // Parses and checks only.
  Compilation Check(std::string_view expression) const;

  const EnvironmentOptions& options() const { return options_; }
  const std::vector<Variable>& variables() const { return variables_; }
  // Index of a variable for Activation::Set, or -1.
  int VariableIndex(std::string_view name) const;
  const Declarations& declarations() const { return *declarations_; }
  const TypeProvider* types() const { return types_.get(); }
  const ObjectFactory* objects() const { return objects_.get(); }

 private:
  friend class EnvironmentBuilder;
  struct UsedLibrary {
    const Library* library;
    int version;
  };
  Environment();
  bool DeclaresSameAs(const Environment& other) const;

  json::Arena arena_;  // declared types
  EnvironmentOptions options_;
  std::vector<UsedLibrary> libraries_;
  std::vector<Variable> variables_;
  std::shared_ptr<const TypeProvider> types_;
  std::shared_ptr<const ObjectFactory> objects_;
  std::shared_ptr<const Environment> base_;           // what this one extends
  std::shared_ptr<const Declarations> declarations_;  // base_'s own if nothing was added
};

class EnvironmentBuilder {
 public:
  EnvironmentBuilder();
  // Starts with everything `base` has; indices of its variables stay.
  explicit EnvironmentBuilder(std::shared_ptr<const Environment> base);
  ~EnvironmentBuilder();

  // The table must live for ever. Rows newer than `version` are left out. Adding a library again
  // replaces its version.
  EnvironmentBuilder& AddLibrary(const Library& library, int version = kNewest);
  // The type is copied. Declaring a name again replaces its type, keeping its index.
  EnvironmentBuilder& AddVariable(std::string_view name, const Type* type);
  EnvironmentBuilder& AddVariable(std::string_view name, std::string_view type_text);
  EnvironmentBuilder& SetTypes(std::shared_ptr<const TypeProvider> types);
  EnvironmentBuilder& SetObjects(std::shared_ptr<const ObjectFactory> objects);
  EnvironmentOptions& options();

  // Fails on malformed tables, types or overload ids that are not unique. Use once.
  base::Result<std::shared_ptr<const Environment>> Build();

 private:
  std::shared_ptr<Environment> environment_;
  base::Status status_;
};

}  // namespace portcullis::cel
