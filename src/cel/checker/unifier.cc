// SPDX-License-Identifier: Apache-2.0

#include "cel/checker/unifier.h"

#include <string>

namespace portcullis::cel {
namespace {

constexpr std::string_view kPrefix = "_var";

// Variables carry their number in their name.
std::size_t NumberOf(const Type* variable) {
  std::size_t number = 0;
  for (const char c : variable->name.substr(kPrefix.size())) {
    number = number * 10 + static_cast<std::size_t>(c - '0');
  }
  return number;
}

bool IsVariable(const Type* type) {
  return type->kind == TypeKind::kParam && type->name.starts_with(kPrefix);
}

bool IsNullable(const Type* type) {
  switch (type->kind) {
    case TypeKind::kNull:
    case TypeKind::kStruct:
    case TypeKind::kOpaque:
    case TypeKind::kTimestamp:
    case TypeKind::kDuration:
    case TypeKind::kAny:
    case TypeKind::kWrapper:
      return true;
    default:
      return false;
  }
}

bool IsEqualOrMoreGeneral(const Type* a, const Type* b) {
  if (a->is_dyn() || a->kind == TypeKind::kParam) return true;
  if (b->is_dyn() || b->kind == TypeKind::kParam) return false;
  if (a->kind != b->kind || a->params.size() != b->params.size()) return false;
  if (a->kind == TypeKind::kType) return true;
  if (a->name != b->name) return false;
  for (std::size_t i = 0; i < a->params.size(); ++i) {
    if (!IsEqualOrMoreGeneral(a->params[i], b->params[i])) return false;
  }
  return true;
}

}  // namespace

bool IsDynOrError(const Type* type) { return type->is_dyn() || type->kind == TypeKind::kError; }

const Type* Unifier::NewVariable() {
  const std::string name = std::string(kPrefix) + std::to_string(substitutions_.size());
  substitutions_.push_back(nullptr);
  return MakeParamType(arena_, name);
}

const Type* Unifier::Lookup(const Type* variable) const {
  return IsVariable(variable) ? substitutions_[NumberOf(variable)] : nullptr;
}

void Unifier::Assign(const Type* variable, const Type* type) {
  if (!IsVariable(variable)) return;
  const std::size_t number = NumberOf(variable);
  log_.emplace_back(number, substitutions_[number]);
  substitutions_[number] = type;
}

void Unifier::Rollback(std::size_t mark) {
  while (log_.size() > mark) {
    substitutions_[log_.back().first] = log_.back().second;
    log_.pop_back();
  }
}

bool Unifier::IsAssignable(const Type* to, const Type* from) {
  const std::size_t mark = log_.size();
  if (Unify(to, from)) return true;
  Rollback(mark);
  return false;
}

bool Unifier::AreAssignable(std::span<const Type* const> to, std::span<const Type* const> from) {
  const std::size_t mark = log_.size();
  if (UnifyLists(to, from)) return true;
  Rollback(mark);
  return false;
}

bool Unifier::UnifyLists(std::span<const Type* const> a, std::span<const Type* const> b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!Unify(a[i], b[i])) return false;
  }
  return true;
}

bool Unifier::OccursIn(const Type* variable, const Type* type) const {
  if (type->kind == TypeKind::kParam) {
    if (type->name == variable->name) return true;
    const Type* known = Lookup(type);
    return known && OccursIn(variable, known);
  }
  for (const Type* param : type->params) {
    if (OccursIn(variable, param)) return true;
  }
  return false;
}

// {Can the variable stand for the type?, did it stand for something already?}
std::pair<bool, bool> Unifier::Bind(const Type* type, const Type* variable) {
  if (type->kind == TypeKind::kParam && type->name == variable->name) return {true, true};
  if (const Type* known = Lookup(variable)) {
    if (type->kind == known->kind && SameType(type, known)) return {true, true};
    if (Unify(type, known)) {
      const Type* general = MostGeneral(type, known);
      if (!OccursIn(variable, general)) Assign(variable, general);
      return {true, true};
    }
    return {false, true};
  }
  if (OccursIn(variable, type)) return {false, false};
  Assign(variable, type);
  return {true, false};
}

bool Unifier::Unify(const Type* a, const Type* b) {
  if (b->kind == TypeKind::kParam) {
    const auto [valid, known] = Bind(a, b);
    if (valid) return true;
    if (known) return false;
  }
  if (a->kind == TypeKind::kParam) return Bind(b, a).first;
  if (IsDynOrError(a) || IsDynOrError(b)) return true;
  if (a->kind == TypeKind::kNull) return IsNullable(b);
  if (b->kind == TypeKind::kNull) return IsNullable(a);
  switch (a->kind) {
    case TypeKind::kAny:
      return true;
    case TypeKind::kType:
      return b->kind == TypeKind::kType;
    case TypeKind::kWrapper:
      return Unify(a->param(), b->kind == TypeKind::kWrapper ? b->param() : b);
    case TypeKind::kOpaque:
    case TypeKind::kList:
    case TypeKind::kMap:
      if (a->kind != b->kind || a->name != b->name) return false;
      // A bare `list` or `map` is one of dyn.
      return a->params.empty() || b->params.empty() || UnifyLists(a->params, b->params);
    default:
      if (b->kind == TypeKind::kWrapper) return Unify(a, b->param());
      return a->kind == b->kind && a->name == b->name;
  }
}

const Type* Unifier::MostGeneral(const Type* a, const Type* b) {
  return IsEqualOrMoreGeneral(a, b) ? a : b;
}

const Type* Unifier::Substitute(const Type* type, bool free_to_dyn) {
  if (type->kind == TypeKind::kParam) {
    if (const Type* known = Lookup(type)) return Substitute(known, free_to_dyn);
    return free_to_dyn ? &kDynType : type;
  }
  if (type->params.empty()) return type;
  const Type* params[2] = {nullptr, nullptr};
  bool changed = false;
  for (std::size_t i = 0; i < type->params.size() && i < 2; ++i) {
    params[i] = Substitute(type->params[i], free_to_dyn);
    changed = changed || params[i] != type->params[i];
  }
  if (!changed) return type;
  if (type->params.size() == 1) return MakeType(arena_, type->kind, type->name, {params[0]});
  return MakeType(arena_, type->kind, type->name, {params[0], params[1]});
}

const Type* Unifier::Instantiate(const Type* type, std::span<const std::string_view> names,
                                 std::span<const Type* const> variables) {
  if (type->kind == TypeKind::kParam) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] == type->name) return variables[i];
    }
    return type;
  }
  if (type->params.empty()) return type;
  const Type* params[2] = {nullptr, nullptr};
  for (std::size_t i = 0; i < type->params.size() && i < 2; ++i) {
    params[i] = Instantiate(type->params[i], names, variables);
  }
  if (type->params.size() == 1) return MakeType(arena_, type->kind, type->name, {params[0]});
  return MakeType(arena_, type->kind, type->name, {params[0], params[1]});
}

}  // namespace portcullis::cel
