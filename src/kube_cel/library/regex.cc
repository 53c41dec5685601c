// SPDX-License-Identifier: Apache-2.0

// Texts found by regular expression.
#include "cel/library/regex.h"

#include <vector>

#include "cel/library/costs.h"
#include "cel/program.h"
#include "kube_cel/libraries.h"
#include "kube_cel/library/rows.h"

namespace portcullis::kube_cel {
namespace {

using cel::EvalContext;
using cel::Value;

// What `use` makes of the pattern, which has been compiled with the expression if it is a literal.
template <typename Use>
Value WithPattern(EvalContext& context, Value pattern, const Use& use) {
  if (context.prepared() != nullptr) {
    return use(*static_cast<const cel::Regex*>(context.prepared()));
  }
  const auto made = cel::Regex::Compile(pattern.text());
  if (!made.ok()) return context.Error("Illegal regex: " + made.status().message());
  return use(**made);
}

Value Find(EvalContext& context, std::span<const Value> args) {
  return WithPattern(context, args[1], [&](const cel::Regex& regex) {
    std::string_view match;
    return Value::String(regex.Find(args[0].text(), match) ? match : "");
  });
}

Value FindAll(EvalContext& context, std::span<const Value> args) {
  return WithPattern(context, args[1], [&](const cel::Regex& regex) {
    const std::int64_t limit = args.size() > 2 ? args[2].int_value() : -1;
    std::vector<Value> found;
    for (const std::string_view match : regex.FindAll(args[0].text(), limit)) {
      found.push_back(Value::String(match));
    }
    return cel::MakeList(context.arena(), found);
  });
}

// The result is no longer than the text, and has no more elements.
std::optional<cel::CallEstimate> EstimateMatches(
    std::span<const cel::EstimatedArgument* const> args) {
  auto estimate = cel::EstimateRegex(args);
  estimate->result_size = cel::Range{0, args[0]->size().max};
  return estimate;
}

constexpr cel::Function Search(std::string_view name, std::string_view id,
                               std::string_view signature, cel::FunctionImpl impl,
                               std::string_view doc, std::string_view example) {
  cel::Function row = Method(name, id, signature, impl, doc, example);
  row.prepare = &cel::PreparePattern;
  row.cost = &cel::RegexCost;
  row.cost_scope = cel::CostScope::kFunction;
  row.estimate = &EstimateMatches;
  return row;
}

constexpr cel::Function kFunctions[] = {
    Search("find", "string_find_string", "(string, string) -> string", &Find,
           "The first match of a regular expression, or ''.", "'abc 123'.find('[0-9]+') == '123'"),
    Search("findAll", "string_find_all_string", "(string, string) -> list(string)", &FindAll,
           "All matches.", "'1 23'.findAll('[0-9]+') == ['1', '23']"),
    Search("findAll", "string_find_all_string_int", "(string, string, int) -> list(string)",
           &FindAll, "At most so many matches; all if the number is negative.",
           "'1 23'.findAll('[0-9]+', 1) == ['1']"),
};

}  // namespace

constinit const cel::Library kRegexLibrary = {.name = "kubernetes.regex", .functions = kFunctions};

}  // namespace portcullis::kube_cel
