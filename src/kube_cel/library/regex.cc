// Texts found by regular expression.
#include "cel/library/regex.h"

#include <vector>

#include "cel/library/costs.h"
#include "cel/program.h"
#include "kube_cel/libraries.h"

namespace portcullis::kube_cel {
namespace {

using cel::CostScope;
using cel::EvalContext;
using cel::Style;
using cel::Value;

base::Result<std::shared_ptr<const cel::Regex>> Compile(std::string_view pattern) {
  return cel::Regex::Compile(pattern);
}

Value Find(EvalContext& context, std::span<const Value> args) {
  std::shared_ptr<const cel::Regex> compiled;
  const auto* regex = static_cast<const cel::Regex*>(context.prepared());
  if (regex == nullptr) {
    auto made = Compile(args[1].text());
    if (!made.ok()) return context.Error("Illegal regex: " + made.status().message());
    compiled = *std::move(made);
    regex = compiled.get();
  }
  std::string_view match;
  return Value::String(regex->Find(args[0].text(), match) ? match : "");
}

Value FindAll(EvalContext& context, std::span<const Value> args) {
  std::shared_ptr<const cel::Regex> compiled;
  const auto* regex = static_cast<const cel::Regex*>(context.prepared());
  if (regex == nullptr) {
    auto made = Compile(args[1].text());
    if (!made.ok()) return context.Error("Illegal regex: " + made.status().message());
    compiled = *std::move(made);
    regex = compiled.get();
  }
  const std::int64_t limit = args.size() > 2 ? args[2].int_value() : -1;
  std::vector<Value> found;
  for (const std::string_view match : regex->FindAll(args[0].text(), limit)) {
    found.push_back(Value::String(match));
  }
  return cel::MakeList(context.arena(), found);
}

// The result is no longer than the text, and has no more elements.
std::optional<cel::CallEstimate> EstimateMatches(
    std::span<const cel::EstimatedArgument* const> args) {
  auto estimate = cel::EstimateRegex(args);
  estimate->result_size = cel::Range{0, args[0]->size().max};
  return estimate;
}

constexpr cel::Function kFunctions[] = {
    {.name = "find",
     .id = "string_find_string",
     .style = Style::kMember,
     .signature = "(string, string) -> string",
     .impl = &Find,
     .prepare = &cel::PreparePattern,
     .cost = &cel::RegexCost,
     .cost_scope = CostScope::kFunction,
     .estimate = &EstimateMatches,
     .doc = "The first match of a regular expression, or ''.",
     .example = "'abc 123'.find('[0-9]+') == '123'"},
    {.name = "findAll",
     .id = "string_find_all_string",
     .style = Style::kMember,
     .signature = "(string, string) -> list(string)",
     .impl = &FindAll,
     .prepare = &cel::PreparePattern,
     .cost = &cel::RegexCost,
     .cost_scope = CostScope::kFunction,
     .estimate = &EstimateMatches,
     .doc = "All matches.",
     .example = "'1 23'.findAll('[0-9]+') == ['1', '23']"},
    {.name = "findAll",
     .id = "string_find_all_string_int",
     .style = Style::kMember,
     .signature = "(string, string, int) -> list(string)",
     .impl = &FindAll,
     .prepare = &cel::PreparePattern,
     .cost = &cel::RegexCost,
     .cost_scope = CostScope::kFunction,
     .estimate = &EstimateMatches,
     .doc = "At most so many matches; all if the number is negative.",
     .example = "'1 23'.findAll('[0-9]+', 1) == ['1']"},
};

}  // namespace

constinit const cel::Library kRegexLibrary = {.name = "kubernetes.regex", .functions = kFunctions};

}  // namespace portcullis::kube_cel
