// SPDX-License-Identifier: Apache-2.0

// The abstract syntax tree of an expression. Nodes live in the arena of their Ast; the parser makes
// them, macros rearrange them, the checker fills in types and references. Immutable afterwards.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cel/issues.h"
#include "cel/library.h"
#include "cel/types.h"
#include "cel/value.h"
#include "json/value.h"

namespace portcullis::cel {

enum class ExprKind : std::uint8_t {
  kConst,
  kIdent,
  kSelect,
  kCall,
  kList,
  kMap,
  kStruct,
  kComprehension,
};

// The macros that the planner has loops of its own for; everything else is kGeneric.
enum class LoopForm : std::uint8_t {
  kGeneric,
  kAll,
  kExists,
  kExistsOne,
  kList,      // map, filter, transformList: `filter` may be null
  kMap,       // transformMap: the keys stay
  kMapEntry,  // transformMapEntry: `body` is a map
};

struct Entry {  // of a map (key) or a struct (field)
  Expr* key = nullptr;
  std::string_view field;
  Expr* value = nullptr;
  bool optional = false;
  std::int32_t offset = -1;  // of the `:`
};

// The general loop: accu = init; for each element: if (!condition) break; accu = step; then result.
struct Comprehension {
  std::string_view variable;
  std::string_view variable2;  // "" in one-variable forms
  std::string_view accumulator;
  Expr* range = nullptr;
  Expr* init = nullptr;
  Expr* condition = nullptr;
  Expr* step = nullptr;
  Expr* result = nullptr;
  LoopForm form = LoopForm::kGeneric;
  Expr* body = nullptr;    // the predicate or transformation inside `step`, for forms but kGeneric
  Expr* filter = nullptr;  // the condition of the filtered forms
};

struct FunctionGroup;
struct Overload;

struct Expr {
  ExprKind kind = ExprKind::kConst;
  bool test_only = false;       // kSelect made by has()
  bool optional_entry = false;  // an element `?e` of a list
  bool member_call = false;     // kCall: args[0] is the receiver
  std::int32_t id = 0;
  std::int32_t offset = -1;  // byte in the source; -1: unknown

  Value constant;                 // kConst
  std::string_view name;          // ident, field, function or struct type; may begin with `.`
  Expr* operand = nullptr;        // kSelect
  std::span<Expr*> args;          // kCall (receiver first), kList
  std::span<Entry> entries;       // kMap, kStruct
  Comprehension* loop = nullptr;  // kComprehension

  // --- Filled in by the checker ---
  const Type* type = nullptr;
  int variable = -1;      // identifier or select chain that is a variable of the environment
  bool resolved = false;  // the node is a constant, a type name or a variable
  const FunctionGroup* function = nullptr;     // kCall
  std::span<const Overload* const> overloads;  // candidates that fit
};

class Ast {
 public:
  explicit Ast(std::string_view source) : source_(arena_.Copy(source)) {}
  Ast(const Ast&) = delete;
  Ast& operator=(const Ast&) = delete;

  json::Arena& arena() { return arena_; }
  std::string_view source() const { return source_; }
  Expr* root() const { return root_; }
  void set_root(Expr* root) { root_ = root; }
  const Type* type() const { return root_ ? root_->type : nullptr; }
  Expr* NewExpr(ExprKind kind, std::int32_t offset) {
    Expr* expr = new (arena_.Allocate(sizeof(Expr), alignof(Expr))) Expr();
    expr->kind = kind;
    expr->offset = offset;
    expr->id = ++last_id_;
    return expr;
  }
  template <typename T>
  std::span<T> Copy(std::span<const T> items) {
    if (items.empty()) return {};
    T* data = static_cast<T*>(arena_.Allocate(items.size_bytes(), alignof(T)));
    for (std::size_t i = 0; i < items.size(); ++i) new (data + i) T(items[i]);
    return {data, items.size()};
  }
  int node_count() const { return last_id_; }

 private:
  json::Arena arena_;
  std::string_view source_;
  Expr* root_ = nullptr;
  std::int32_t last_id_ = 0;
};

}  // namespace portcullis::cel
