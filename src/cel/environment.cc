// SPDX-License-Identifier: Apache-2.0

#include "cel/environment.h"

#include <algorithm>

#include "cel/checker/checker.h"
#include "cel/checker/declarations.h"
#include "cel/eval/planner.h"
#include "cel/syntax/parser.h"

namespace portcullis::cel {

std::string Compilation::ErrorText() const {
  if (!issues.empty()) return issues.ToString();
  if (!failure.ok()) return "program instantiation failed: " + failure.message();
  return "";
}

Environment::Environment() = default;
Environment::~Environment() = default;

bool Environment::DeclaresSameAs(const Environment& other) const {
  const auto same_library = [](const UsedLibrary& a, const UsedLibrary& b) {
    return a.library == b.library && a.version == b.version;
  };
  const auto same_variable = [](const Variable& a, const Variable& b) {
    return a.name == b.name && a.type == b.type;
  };
  return std::equal(libraries_.begin(), libraries_.end(), other.libraries_.begin(),
                    other.libraries_.end(), same_library) &&
         std::equal(variables_.begin(), variables_.end(), other.variables_.begin(),
                    other.variables_.end(), same_variable);
}

int Environment::VariableIndex(std::string_view name) const {
  return declarations_->FindVariable(name);
}

Compilation Environment::Check(std::string_view expression) const {
  Compilation result;
  const ParseOptions parse = {.macros = declarations_.get(),
                              .optional_syntax = options_.optional_syntax,
                              .quoted_fields = options_.quoted_fields,
                              .max_code_points = options_.max_code_points,
                              .max_depth = options_.max_depth};
  std::shared_ptr<Ast> ast = Parse(expression, parse, result.issues);
  result.syntax_error = !ast;
  if (!ast) return result;
  cel::Check(*this, *ast, result.issues);
  if (result.issues.empty()) Validate(*this, *ast, result.issues);
  if (result.issues.empty()) result.ast = std::move(ast);
  return result;
}

Compilation Environment::Compile(std::string_view expression, const CompileOptions& options) const {
  Compilation result;
  if (options.check) {
    result = Check(expression);
  } else {
    const ParseOptions parse = {.macros = declarations_.get(),
                                .optional_syntax = options_.optional_syntax,
                                .quoted_fields = options_.quoted_fields,
                                .max_code_points = options_.max_code_points,
                                .max_depth = options_.max_depth};
    result.ast = Parse(expression, parse, result.issues);
    result.syntax_error = !result.ast;
  }
  if (!result.ast) return result;
  auto program = Plan(shared_from_this(), result.ast, options);
  if (program.ok()) {
    result.program = *std::move(program);
  } else {
    result.failure = program.status();
  }
  return result;
}

EnvironmentBuilder::EnvironmentBuilder() : environment_(new Environment()) {
  AddLibrary(kStandardLibrary);
}

EnvironmentBuilder::EnvironmentBuilder(std::shared_ptr<const Environment> base)
    : environment_(new Environment()) {
  environment_->options_ = base->options_;
  environment_->libraries_ = base->libraries_;
  environment_->variables_ = base->variables_;
  environment_->types_ = base->types_;
  environment_->objects_ = base->objects_;
  environment_->base_ = std::move(base);
}

EnvironmentBuilder::~EnvironmentBuilder() = default;

EnvironmentBuilder& EnvironmentBuilder::AddLibrary(const Library& library, int version) {
  for (auto& used : environment_->libraries_) {
    if (used.library == &library) {
      used.version = version;
      return *this;
    }
  }
  environment_->libraries_.push_back({&library, version});
  return *this;
}

EnvironmentBuilder& EnvironmentBuilder::AddVariable(std::string_view name,
                                                    std::string_view type_text) {
  const auto type = ParseType(environment_->arena_, type_text);
  if (!type.ok()) {
    if (status_.ok()) status_ = type.status();
    return *this;
  }
  return AddVariable(name, *type);
}

EnvironmentBuilder& EnvironmentBuilder::AddVariable(std::string_view name, const Type* type) {
  const Type* copy = CopyType(environment_->arena_, type);
  for (Variable& variable : environment_->variables_) {
    if (variable.name == name) {
      variable.type = copy;
      return *this;
    }
  }
  environment_->variables_.push_back({std::string(name), copy});
  return *this;
}

EnvironmentBuilder& EnvironmentBuilder::SetTypes(std::shared_ptr<const TypeProvider> types) {
  environment_->types_ = std::move(types);
  return *this;
}

EnvironmentBuilder& EnvironmentBuilder::SetObjects(std::shared_ptr<const ObjectFactory> objects) {
  environment_->objects_ = std::move(objects);
  return *this;
}

EnvironmentOptions& EnvironmentBuilder::options() { return environment_->options_; }

base::Result<std::shared_ptr<const Environment>> EnvironmentBuilder::Build() {
  TRY(status_);
  // Environments that differ only in types and options share what is declared.
  if (const Environment* base = environment_->base_.get();
      base && environment_->DeclaresSameAs(*base)) {
    environment_->declarations_ = base->declarations_;
    return std::shared_ptr<const Environment>(std::move(environment_));
  }
  std::vector<Declarations::Source> sources;
  for (const auto& used : environment_->libraries_) {
    sources.push_back({used.library, used.version});
  }
  environment_->declarations_ =
      TRY(Declarations::Build(environment_->arena_, sources, environment_->variables_));
  return std::shared_ptr<const Environment>(std::move(environment_));
}

}  // namespace portcullis::cel
