// SPDX-License-Identifier: Apache-2.0

// A library is a table: one row per function overload, one per macro, one per type name.
//
//   constexpr Function kFunctions[] = {
//       {.name = "charAt", .id = "string_char_at_int", .style = Style::kMember,
//        .signature = "(string, int) -> string", .impl = &CharAt, .since = 0,
//        .doc = "The character at an index.", .example = "'abc'.charAt(1) == 'b'"},
//   };
//   constinit const Library kStringsLibrary = {.name = "strings", .functions = kFunctions};
//
// Everything a function is stands in its row: the checker, the evaluator, both cost models and the
// documentation read the same line. Tables are constants; they are never copied.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/status.h"
#include "cel/types.h"
#include "cel/value.h"

namespace portcullis::cel {

class EvalContext;   // cel/program.h
class MacroContext;  // cel/syntax/macros.h
struct Expr;         // cel/syntax/ast.h

// Arguments come with the receiver first and already fit the signature at run time: kinds are
// checked, elements of lists and maps are not. Never called with an error or unset argument.
using FunctionImpl = Value (*)(EvalContext& context, std::span<const Value> args);

// Something made once per program from constant arguments, e.g. a compiled regular expression.
class Prepared {
 public:
  virtual ~Prepared() = default;
};
// Called when the program is planned; `args` is unset where an argument is no constant. Returns
// null if there is nothing to prepare. An error fails the compilation: "program instantiation
// failed: …".
using PrepareCall = base::Result<std::shared_ptr<const Prepared>> (*)(std::span<const Value> args);

// Cost of one call that was made; arguments may be errors. Also asked before a call with large
// arguments, with an unset result, for what it will cost at least. See also CostSize().
using ActualCost = std::uint64_t (*)(std::span<const Value> args, Value result);

// What cel-go panics with while it counts the cost of a call with these arguments, which may be errors;
// empty if it does not.
using CountingPanic = std::string (*)(std::span<const Value> args);

// Kubernetes counts most of its functions by name, whatever overload the checker found; cel-go
// counts by overload, and a call with several candidates (dyn arguments) then costs 1.
enum class CostScope : std::uint8_t { kOverload, kFunction };

// --- Static estimate ---

struct Range {
  std::uint64_t min = 0;
  std::uint64_t max = 0;
  bool operator==(const Range&) const = default;
};
inline constexpr std::uint64_t kUnbounded = std::numeric_limits<std::uint64_t>::max();
Range operator+(Range a, Range b);  // saturating
Range operator*(Range a, Range b);
Range ScaleByFactor(Range range, double factor);  // ceil(x * factor), saturating
Range Union(Range a, Range b);

// One argument of a call whose cost is estimated.
class EstimatedArgument {
 public:
  virtual const Type* type() const = 0;
  // Characters, bytes or elements; {0, kUnbounded} if nothing is known.
  virtual Range size() const = 0;
  // The same, nothing if nothing is known.
  virtual std::optional<Range> known_size() const = 0;
  // What the SizeEstimator says of the elements of the list; {0, kUnbounded} if it does not know.
  virtual Range element_size() const = 0;
  // Text of a literal string, or null.
  virtual const std::string_view* literal() const = 0;
  // The number, if it is a literal int.
  virtual std::optional<std::int64_t> int_literal() const = 0;

 protected:
  ~EstimatedArgument() = default;
};
struct CallEstimate {
  Range cost;
  std::optional<Range> result_size;
};
// `args` includes the receiver, first. Returning nothing means: cost 1.
using EstimateCall =
    std::optional<CallEstimate> (*)(std::span<const EstimatedArgument* const> args);

// --- Rows ---

inline constexpr int kNewest = 1 << 20;  // of the versions of a library

enum class Style : std::uint8_t { kGlobal, kMember };

struct Function {
  std::string_view name;  // `size`, `sets.contains`, `_+_`
  std::string_view id;    // overload id: unique in an environment
  Style style = Style::kGlobal;
  std::string_view
      signature;  // types as ParseType() reads them, receiver first: `(list(T), T) -> int`
  FunctionImpl impl = nullptr;  // null: the language itself evaluates it
  PrepareCall prepare = nullptr;
  ActualCost cost = nullptr;  // null: 1
  CostScope cost_scope = CostScope::kOverload;
  CountingPanic panic = nullptr;  // null: never
  EstimateCall estimate = nullptr;
  // False: elements of its arguments do not choose the overload, and a failure does not name it (what cel-go
  // declares with DisableTypeGuards).
  bool guarded = true;
  int since = 0;        // first version of the library that has it
  int until = kNewest;  // the last one
  std::string_view doc = {};
  std::string_view example = {};  // an expression that is true
};

// Builds the expansion with `context`, or returns null to leave the call as it is. Errors are
// reported through the context.
using MacroExpander = Expr* (*)(MacroContext& context, Expr* target, std::span<Expr* const> args);

struct Macro {
  std::string_view name;
  Style style = Style::kMember;
  int arguments = 1;
  MacroExpander expand = nullptr;
  int since = 0;
  std::string_view doc = {};
  std::string_view example = {};
};

// A type that may be written as a value: `type(x) == net.IP`.
struct NamedType {
  std::string_view name;
  const Type* type = nullptr;
};

// Costs of functions that other libraries define: an application's own cost model. They count by
// name, before the language's own costs and after those of a row's overload.
struct CostByName {
  std::string_view function;
  ActualCost cost = nullptr;
  EstimateCall estimate = nullptr;
};

struct Library {
  std::string_view name;
  std::span<const Function> functions = {};
  std::span<const Macro> macros = {};
  std::span<const NamedType> types = {};
  std::span<const CostByName> costs = {};
};

// The language: operators, conversions, strings, time, `has` and the one-variable macros.
extern const Library kStandardLibrary;
extern const Library kStringsLibrary;  // versions 0–4; Kubernetes has 2
extern const Library kListsLibrary;    // versions 0–3; Kubernetes has 3
extern const Library kSetsLibrary;
extern const Library kOptionalLibrary;     // versions 0–2; Kubernetes has the newest
extern const Library kTwoVariableLibrary;  // two-variable comprehensions

}  // namespace portcullis::cel
