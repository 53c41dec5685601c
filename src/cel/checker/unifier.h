// SPDX-License-Identifier: Apache-2.0

// Unification of types: which types can be given where, and what type variables stand for.
//
// Follows cel-go's checker: `dyn` unifies with everything, a variable takes the more general of
// what it meets, and a failed attempt leaves no trace.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "cel/types.h"

namespace portcullis::cel {

class Unifier {
 public:
  explicit Unifier(json::Arena& arena) : arena_(arena) {}

  const Type* NewVariable();
  // Can a value of type `from` be used where `to` is wanted? Remembers what variables became.
  bool IsAssignable(const Type* to, const Type* from);
  bool AreAssignable(std::span<const Type* const> to, std::span<const Type* const> from);
  // `type` with variables replaced; free ones stay, or become dyn.
  const Type* Substitute(const Type* type, bool free_to_dyn);
  // A signature's type with its parameters replaced by the given variables.
  const Type* Instantiate(const Type* type, std::span<const std::string_view> names,
                          std::span<const Type* const> variables);
  static const Type* MostGeneral(const Type* a, const Type* b);

 private:
  bool Unify(const Type* a, const Type* b);
  bool UnifyLists(std::span<const Type* const> a, std::span<const Type* const> b);
  std::pair<bool, bool> Bind(const Type* type, const Type* variable);
  bool OccursIn(const Type* variable, const Type* type) const;
  const Type* Lookup(const Type* variable) const;
  void Assign(const Type* variable, const Type* type);
  void Rollback(std::size_t mark);

  json::Arena& arena_;
  std::vector<const Type*> substitutions_;  // by number of the variable; null: free
  std::vector<std::pair<std::size_t, const Type*>> log_;
};

bool IsDynOrError(const Type* type);

}  // namespace portcullis::cel
