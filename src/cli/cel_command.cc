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

namespace portcullis::cli {
namespace {

constexpr std::string_view kUsage =
    "Evaluates CEL expressions, one result a line.\n"
    "\n"
    "Usage:\n"
    "  portcullis cel [flags] EXPRESSION...\n"
    "  portcullis cel [flags] -f FILE...\n"
    "  portcullis cel --batch [--kubernetes] < requests.jsonl\n"
    "\n"
    "Examples:\n"
    "  portcullis cel '1 + 2'\n"
    "  portcullis cel --var 'x=[1, 2]' --types --cost 'x.all(i, i > 0)'\n"
    "  portcullis cel --kubernetes \"quantity('1Gi').isGreaterThan(quantity('1G'))\"\n"
    "  portcullis cel --as admission --vars review.yaml 'object.metadata.name'\n"
    "  portcullis cel --as admission --authorizer allowed.yaml \\\n"
    "      \"authorizer.group('apps').resource('deployments').check('create').allowed()\"\n"
    "\n"
    "What is evaluated:\n"
    "  -f, --file FILE        expressions from a file (- is standard input). A line with nothing "
    "but\n"
    "                         --- stands between two expressions; // begins a comment.\n"
    "\n"
    "What the expressions see:\n"
    "      --var NAME=YAML    a variable\n"
    "      --vars FILE        variables: the members of a YAML or JSON object\n"
    "      --kubernetes       Kubernetes' function libraries and rules for literals, and "
    "what\n"
    "                         an expression may cost; without it the plain language with the\n"
    "                         string library and optional types\n"
    "      --as admission     what a policy sees: object, oldObject, request, params,\n"
    "                         namespaceObject (null unless --var or --vars give them), "
    "authorizer,\n"
    "                         authorizer.requestResource (of request) and variables\n"
    "      --variables FILE   with --as admission: a list of {name, expression}, as in\n"
    "                         spec.variables of a policy\n"
    "      --authorizer FILE  with --as admission: a list of attributes that are allowed. The "
    "first\n"
    "                         entry that fits decides; what an entry leaves out fits everything;\n"
    "                         without one nothing is allowed.\n"
    "                           - {verb: create, group: apps, resource: deployments}\n"
    "                           - {user: alice, verb: \"*\", path: /healthz}\n"
    "                           - {resource: secrets, allowed: false, reason: never}\n"
    "                         Attributes: user, verb, path, group, resource, subresource, "
    "namespace,\n"
    "                         name; decision: allowed, reason, error.\n"
    "\n"
    "What is printed:\n"
    "      --types            the type the checker finds\n"
    "      --cost             the cost it had, and how little and much it is estimated to cost\n"
    "      --trace            the value of every sub-expression, in the order of evaluation\n"
    "      --bench            nanoseconds per evaluation and per compilation\n"
    "      --functions        the reference of all functions, instead\n"
    "\n"
    "  --batch answers requests, one JSON object a line:\n"
    "    in:   {\"id\": any, \"expr\": text, \"container\": \"\", \"check\": true,\n"
    "           \"types\": {name: \"list(int)\"}, \"vars\": {name: value}}\n"
    "    out:  {\"id\": any, \"value\": typed} or {\"id\": any, \"error\": text, \"phase\": "
    "\"parse\"}\n"
    "  A typed value is {\"$type\": \"int\", \"value\": \"1\"}; the types are int, uint (text), "
    "double\n"
    "  (number, \"NaN\", \"inf\", \"-inf\"), bool, string, bytes (base64), null, type, timestamp "
    "and\n"
    "  duration ([seconds, nanoseconds]), list (of typed) and map (of [typed, typed]). Any other "
    "JSON\n"
    "  stands for itself, a number for what its variable is declared as. Phases are parse, check "
    "and\n"
    "  eval.\n"
    "\n"
    "Exit status: 0 if every expression had a value, 1 if one had none, 2 if the flags or files "
    "are\n"
    "wrong. With --batch 0.\n";

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
  bool help = false;
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

base::Status ParseFlag(Options& options, const std::string& name, const std::string* value,
                       bool& used) {
  const auto set = [](bool& flag) {
    flag = true;
    return base::OkStatus();
  };
  if (name == "--kubernetes") return set(options.inputs.kubernetes);
  if (name == "--types") return set(options.types);
  if (name == "--cost") return set(options.cost);
  if (name == "--trace") return set(options.trace);
  if (name == "--bench") return set(options.bench);
  if (name == "--batch") return set(options.batch);
  if (name == "--functions") return set(options.functions);
  if (name == "--help" || name == "-h") return set(options.help);
  constexpr std::string_view kWithValue[] = {"--as",   "--var", "--vars",      "--variables",
                                             "--file", "-f",    "--authorizer"};
  if (std::find(std::begin(kWithValue), std::end(kWithValue), name) == std::end(kWithValue)) {
    const std::string_view near = base::Nearest(
        name,
        std::vector<std::string_view>{"--kubernetes", "--types", "--cost", "--trace", "--bench",
                                      "--batch", "--functions", "--help", "--as", "--var", "--vars",
                                      "--variables", "--file", "--authorizer"});
    const std::string hint = near.empty() ? "" : base::StrCat("; did you mean ", near, "?");
    return base::ConfigError("unknown flag: " + name + hint);
  }
  if (!value) return base::ConfigError("flag needs an argument: " + name);
  used = true;
  if (name == "--var") return options.inputs.AddVariable(*value);
  if (name == "--as") {
    if (*value != "admission") return base::ConfigError("--as knows only admission");
    return set(options.inputs.admission);
  }
  const std::string text = TRY(*value == "-" ? base::ReadStandardInput() : base::ReadFile(*value));
  if (name == "--vars") return options.inputs.AddVariables(text, *value);
  if (name == "--variables") return options.inputs.AddPolicyVariables(text, *value);
  if (name == "--authorizer") return options.inputs.AddDecisions(text, *value);
  AddExpressions(options, *value == "-" ? "<stdin>" : *value, text);
  return base::OkStatus();
}

base::Status Parse(Options& options, const std::vector<std::string>& arguments) {
  bool flags = true;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (flags && word == "--") {
      flags = false;
      continue;
    }
    // Dashes begin expressions too (`-1`, `--x`): a flag is two dashes and a known letter.
    const bool is_flag =
        flags && ((word.starts_with("--") && word.size() > 2 && word[2] >= 'a' && word[2] <= 'z') ||
                  word == "-f" || word == "-h");
    if (!is_flag) {
      options.expressions.push_back({word, "", 1});
      continue;
    }
    const auto cut = base::Cut(word, "=");
    const std::string name(cut ? cut->first : std::string_view(word));
    const std::string inline_value(cut ? cut->second : std::string_view());
    const std::string* value = cut ? &inline_value : nullptr;
    if (!value && i + 1 < arguments.size()) value = &arguments[i + 1];
    bool used = false;
    TRY(ParseFlag(options, name, value, used));
    if (used && !cut) ++i;
  }
  return base::OkStatus();
}

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

int Usage(const std::string& message) {
  std::fprintf(stderr, "Error: %s\n\nRun 'portcullis cel --help' for usage.\n", message.c_str());
  return kExitUsage;
}

int Run(const std::vector<std::string>& arguments) {
  Options options;
  const base::Status parsed = Parse(options, arguments);
  if (!parsed.ok()) return Usage(parsed.message());
  if (options.help) {
    std::fwrite(kUsage.data(), 1, kUsage.size(), stdout);
    return kExitOk;
  }
  if (options.functions) {
    std::fputs(CelReference().c_str(), stdout);
    return kExitOk;
  }
  const auto environment = options.inputs.Declare();
  if (!environment.ok()) return Usage(environment.status().message());
  if (options.batch) return RunBatch(*environment, LimitsOf(options));
  if (options.expressions.empty()) return Usage("no expression given");
  bool ok = true;
  for (const Source& source : options.expressions) {
    ok = EvaluateOne(options, **environment, source) && ok;
  }
  return ok ? kExitOk : kExitRefused;
}

}  // namespace

const Command kCel = {"cel", "evaluate CEL expressions", &Run};

}  // namespace portcullis::cli
