// SPDX-License-Identifier: Apache-2.0

#include "cli/cel_command.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/file.h"
#include "base/strings.h"
#include "cel/batch.h"
#include "cel/checker/cost_estimate.h"
#include "cel/environment.h"
#include "cel/syntax/ast.h"
#include "cel/syntax/unparser.h"
#include "cli/cel_command_inputs.h"
#include "cli/cel_reference.h"
#include "flags/setters.h"
#include "golang/strconv.h"

namespace portcullis::cli {
namespace {

constexpr std::string_view kUsage =
    R"help(Evaluates CEL expressions, one result a line.

Usage:
  portcullis cel [flags] EXPRESSION...
  portcullis cel [flags] -f FILE...
  portcullis cel --batch [--kubernetes] < requests.jsonl

Examples:
  portcullis cel '1 + 2'
  portcullis cel --var 'x=[1, 2]' --types --cost 'x.all(i, i > 0)'
  portcullis cel --kubernetes "quantity('1Gi').isGreaterThan(quantity('1G'))"
  portcullis cel --as admission --var object=@deployment.yaml 'object.spec.replicas <= 5'
  portcullis cel --as admission --authorizer allowed.yaml \
      "authorizer.group('apps').resource('deployments').check('create').allowed()"
)help";

constexpr std::string_view kFormats = R"help(
  --batch answers requests, one JSON object a line:
    in:   {"id": any, "expr": text, "container": "", "check": true,
           "types": {name: "list(int)"}, "vars": {name: value}}
    out:  {"id": any, "value": typed} or {"id": any, "error": text, "phase": "parse"}
  A typed value is {"$type": "int", "value": "1"}; the types are int, uint (text), double
  (number, "NaN", "inf", "-inf"), bool, string, bytes (base64), null, type, timestamp and
  duration ([seconds, nanoseconds]), list (of typed) and map (of [typed, typed]). Any other JSON
  stands for itself, a number for what its variable is declared as. Phases are parse, check and
  eval.

Exit status: 0 if every expression had a value, 1 if one had none, 2 if the flags or files are
wrong. With --batch 0.
)help";

struct Source {
  std::string text;
  std::string path;  // "" if it is from the command line
  int line = 1;      // where it begins
};

struct Options {
  std::vector<Source> expressions;
  CelInputs inputs;
  bool types = false;
  bool cost = false;
  bool trace = false;
  bool bench = false;
  bool batch = false;
  bool functions = false;
};

// Expressions between lines of three dashes; ones that hold nothing are left out.
void AddExpressions(Options& options, const std::string& path, std::string_view text) {
  Source source{"", path, 1};
  int line = 0;
  const auto finish = [&] {
    if (!base::Trim(source.text).empty()) options.expressions.push_back(source);
    source = {"", path, line + 1};
  };
  for (const std::string_view row : base::Split(text, '\n')) {
    ++line;
    if (base::Trim(row) == "---") {
      finish();
      continue;
    }
    if (!source.text.empty() || line > source.line) source.text += '\n';
    source.text += row;
  }
  while (!source.text.empty() && (source.text.back() == '\n' || source.text.back() == '\r')) {
    source.text.pop_back();
  }
  finish();
}

// "-" is standard input.
base::Result<std::string> ReadInput(std::string_view path) {
  return path == "-" ? base::ReadStandardInput() : base::ReadFile(std::string(path));
}

base::Status AddFile(Options& options, std::string_view path) {
  AddExpressions(options, path == "-" ? "<stdin>" : std::string(path), TRY(ReadInput(path)));
  return base::OkStatus();
}

base::Status AddVariable(Options& options, std::string_view value) {
  return options.inputs.AddVariable(std::string(value));
}

// Gives the file to a member of the inputs.
template <auto Add>
base::Status AddInput(Options& options, std::string_view path) {
  return (options.inputs.*Add)(TRY(ReadInput(path)), std::string(path));
}

template <auto Member>
base::Status SetInput(Options& options, std::string_view value) {
  options.inputs.*Member = TRY(golang::ParseBool(value));
  return base::OkStatus();
}

base::Status SetAs(Options& options, std::string_view value) {
  if (value != "admission") return base::BadRequest("must be admission");
  options.inputs.admission = true;
  return base::OkStatus();
}

using flags::SetBool;
constexpr flags::Type kText = flags::Type::kString;
constexpr flags::Type kSwitch = flags::Type::kBool;

// In the order of --help: name, type, default, meaning, setter, note, shorthand, value.
constexpr flags::Flag<Options> kFlags[] = {
    {"file", kText, "",
     "Expressions from a file (- is standard input). A line with nothing but\n"
     "--- stands between two expressions; // begins a comment.",
     &AddFile, "", 'f', "FILE"},
    {"var", kText, "", "A variable; with @FILE its YAML is in a file", &AddVariable, "", '\0',
     "NAME=YAML"},
    {"vars", kText, "", "Variables: the members of a YAML or JSON object",
     &AddInput<&CelInputs::AddVariables>, "", '\0', "FILE"},
    {"kubernetes", kSwitch, "",
     "Kubernetes' function libraries and rules for literals, and what an expression\n"
     "may cost; without it the plain language with the string library and optional\n"
     "types",
     &SetInput<&CelInputs::kubernetes>, ""},
    {"as", kText, "",
     "What a policy sees: object, oldObject, request, params, namespaceObject (null\n"
     "unless --var or --vars give them), authorizer, authorizer.requestResource (of\n"
     "request) and variables",
     &SetAs, "", '\0', "admission"},
    {"variables", kText, "",
     "With --as admission: a list of {name, expression}, as in spec.variables of a\n"
     "policy",
     &AddInput<&CelInputs::AddPolicyVariables>, "", '\0', "FILE"},
    {"authorizer", kText, "",
     "With --as admission: a list of attributes that are allowed. The first entry that\n"
     "fits decides; what an entry leaves out fits everything; without one nothing is\n"
     "allowed.\n"
     "  - {verb: create, group: apps, resource: deployments}\n"
     "  - {user: alice, verb: \"*\", path: /healthz}\n"
     "  - {resource: secrets, allowed: false, reason: never}\n"
     "Attributes: user, verb, path, group, resource, subresource, namespace, name;\n"
     "decision: allowed, reason, error.",
     &AddInput<&CelInputs::AddDecisions>, "", '\0', "FILE"},
    {"types", kSwitch, "", "Print the type the checker finds", &SetBool<&Options::types>, ""},
    {"cost", kSwitch, "", "Print the cost it had, and how little and much it is estimated to cost",
     &SetBool<&Options::cost>, ""},
    {"trace", kSwitch, "", "Print the value of every sub-expression, in the order of evaluation",
     &SetBool<&Options::trace>, ""},
    {"bench", kSwitch, "", "Print nanoseconds per evaluation and per compilation",
     &SetBool<&Options::bench>, ""},
    {"functions", kSwitch, "", "Print the reference of all functions, instead",
     &SetBool<&Options::functions>, ""},
    {"batch", kSwitch, "", "Answer requests of standard input, see below",
     &SetBool<&Options::batch>, ""},
};

std::vector<flags::Info> Flags() { return flags::InfosOf<Options>(kFlags); }

class Tracer final : public cel::Observer {
 public:
  void Observe(const cel::Expr& expression, cel::Value value) override {
    if (expression.kind == cel::ExprKind::kConst) return;
    std::printf("  %s = %s\n", cel::Unparse(expression).c_str(), Show(value).c_str());
  }
  static std::string Show(cel::Value value) {
    if (value.is_error()) return "error: " + std::string(value.error()->text);
    return cel::DebugString(value);
  }
};

class NothingKnown final : public cel::SizeEstimator {
 public:
  std::optional<cel::Range> Size(std::span<const std::string_view>,
                                 const cel::Type&) const override {
    return std::nullopt;
  }
};

std::string Bound(std::uint64_t cost) {
  return cost == cel::kUnbounded ? "unbounded" : std::to_string(cost);
}

// Nanoseconds per call of `work`, measured for a tenth of a second.
template <typename Work>
double Measure(Work work) {
  const base::Clock& clock = base::SystemClock();
  constexpr std::chrono::milliseconds kTime{100};
  const auto start = clock.Steady();
  double calls = 0;
  while (clock.Steady() - start < kTime) {
    for (int i = 0; i < 16; ++i) work();
    calls += 16;
  }
  return std::chrono::duration<double, std::nano>(clock.Steady() - start).count() / calls;
}

// `path:line:column: message` with the line below; `ERROR: <input>:…` for the command line.
std::string ErrorText(const Source& source, const cel::Compilation& compilation) {
  if (source.path.empty() || compilation.issues.empty()) {
    const std::string where =
        source.path.empty() ? ""
                            : base::StrCat(source.path, ":", std::to_string(source.line), ": ");
    return where + compilation.ErrorText();
  }
  constexpr std::size_t kMaxShown = 100;
  cel::Issues sorted = compilation.issues;
  const std::size_t count = sorted.size();
  sorted.Truncate(kMaxShown);
  std::string out;
  for (const cel::Issue& issue : sorted.list()) {
    cel::Issues one;
    one.set_source(source.text);
    one.Add(issue.position, issue.message);
    const std::string shown = one.ToString();
    const auto snippet = shown.find("\n | ");
    const int line = source.line + std::max(issue.position.line, 1) - 1;
    out +=
        base::StrCat(out.empty() ? "" : "\n", source.path, ":", std::to_string(line), ":",
                     std::to_string(std::max(issue.position.column, 0) + 1), ": ", issue.message);
    if (snippet != std::string::npos) out += shown.substr(snippet);
  }
  if (count > kMaxShown) {
    out += base::StrCat("\n", std::to_string(count - kMaxShown), " more errors were truncated");
  }
  return out;
}

// Sub-expressions that are shown are evaluated one by one, which costs more than the program does:
// the trace is an evaluation of its own.
// Kubernetes limits what any expression may cost.
cel::EvalOptions LimitsOf(const Options& options) {
  cel::EvalOptions eval;
  if (options.inputs.admission || options.inputs.kubernetes) {
    eval.cost_limit = kube_cel::kCallLimit;
  }
  return eval;
}

void Trace(Options& options, const cel::Environment& environment, const Source& source,
           cel::EvalOptions eval) {
  const cel::Compilation traced = environment.Compile(source.text, {.check = true, .trace = true});
  if (!traced.ok()) return;
  json::Arena arena;
  CelInputs::Bound bound = options.inputs.Bind(arena);
  Tracer tracer;
  eval.observer = &tracer;
  traced.program->Evaluate(bound.activation, arena, eval);
}

bool EvaluateOne(Options& options, const cel::Environment& environment, const Source& source) {
  const cel::Compilation compilation = environment.Compile(source.text);
  if (!compilation.ok()) {
    std::fprintf(stderr, "%s\n", ErrorText(source, compilation).c_str());
    return false;
  }
  json::Arena arena;
  CelInputs::Bound bound = options.inputs.Bind(arena);
  const cel::EvalOptions eval = LimitsOf(options);
  if (options.trace) Trace(options, environment, source, eval);
  const cel::Outcome outcome = compilation.program->Evaluate(bound.activation, arena, eval);
  const std::uint64_t variables = bound.evaluation ? bound.evaluation->TakeVariablesCost() : 0;
  const bool failed = outcome.value.is_error();
  const std::string where = failed && !source.path.empty()
                                ? base::StrCat(source.path, ":", std::to_string(source.line), ": ")
                                : std::string();
  std::fprintf(failed ? stderr : stdout, "%s%s\n", where.c_str(),
               Tracer::Show(outcome.value).c_str());
  if (failed && options.inputs.has_no_object()) {
    std::fputs("Hint: object is null: give it with --var object=@FILE\n", stderr);
  }
  if (options.types) {
    std::printf("  type: %s\n", cel::TypeString(compilation.program->result_type()).c_str());
  }
  if (options.cost) {
    const cel::Range range = cel::EstimateCost(environment, *compilation.ast, NothingKnown());
    std::printf("  cost: %llu, estimated %s to %s\n", static_cast<unsigned long long>(outcome.cost),
                Bound(range.min).c_str(), Bound(range.max).c_str());
    if (variables > 0) {
      std::printf("  cost of variables: %llu\n", static_cast<unsigned long long>(variables));
    }
  }
  if (options.bench) {
    const double evaluation = Measure([&] {
      json::Arena fresh;
      compilation.program->Evaluate(bound.activation, fresh, eval);
    });
    const double compiling = Measure([&] { environment.Compile(source.text); });
    std::printf("  %.0f ns per evaluation, %.0f ns per compilation\n", evaluation, compiling);
  }
  return !failed;
}

int RunBatch(const std::shared_ptr<const cel::Environment>& environment,
             const cel::EvalOptions& limits) {
  for (std::string line; std::getline(std::cin, line);) {
    if (base::Trim(line).empty()) continue;
    const std::string answer = cel::AnswerBatchLine(environment, line, limits);
    std::fwrite(answer.data(), 1, answer.size(), stdout);
    std::fputc('\n', stdout);
    std::fflush(stdout);
  }
  return kExitOk;
}

int Run(const std::vector<std::string>& arguments) {
  Options options;
  const auto line = flags::Parse<Options>(
      kFlags, arguments, {"portcullis cel", flags::Arguments::kExpressions}, options);
  if (!line.ok()) return UsageError(kCel.name, line.status().message());
  if (line->help) return PrintHelp(kCel);
  for (const std::string& text : line->arguments) options.expressions.push_back({text, "", 1});
  if (options.functions) {
    std::fputs(CelReference().c_str(), stdout);
    return kExitOk;
  }
  const auto environment = options.inputs.Declare();
  if (!environment.ok()) return UsageError(kCel.name, environment.status().message());
  if (options.batch) return RunBatch(*environment, LimitsOf(options));
  if (options.expressions.empty()) return UsageError(kCel.name, "no expression given");
  bool ok = true;
  for (const Source& source : options.expressions) {
    ok = EvaluateOne(options, **environment, source) && ok;
  }
  return ok ? kExitOk : kExitRefused;
}

}  // namespace

const Command kCel = {"cel", "evaluate CEL expressions", &Run, &Flags, kUsage, kFormats};

}  // namespace portcullis::cli
