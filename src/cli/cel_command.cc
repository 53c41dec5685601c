#include "cli/cel_command.h"

#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>

#include "base/strings.h"
#include "cel/batch.h"
#include "cel/checker/cost_estimate.h"
#include "cel/environment.h"
#include "cel/syntax/ast.h"
#include "cel/syntax/unparser.h"
#include "cli/cel_reference.h"
#include "json/yaml.h"
#include "kube_cel/compiler.h"

namespace portcullis::cli {
namespace {

constexpr std::string_view kUsage =
    "Evaluates CEL expressions, one result a line.\n"
    "\n"
    "Usage:\n"
    "  portcullis cel [flags] EXPRESSION...\n"
    "  portcullis cel --batch [--kubernetes] < requests.jsonl\n"
    "\n"
    "Examples:\n"
    "  portcullis cel '1 + 2'\n"
    "  portcullis cel --var 'x=[1, 2]' --types --cost 'x.all(i, i > 0)'\n"
    "  portcullis cel --as admission --vars pod.yaml 'object.metadata.name'\n"
    "\n"
    "Flags:\n"
    "  -f, --file FILE     the expression is in a file (- for standard input)\n"
    "      --var NAME=YAML a variable\n"
    "      --vars FILE     variables: the members of a YAML or JSON object\n"
    "      --kubernetes    with Kubernetes' function libraries and rules for literals\n"
    "      --as admission  with the variables of policies: object, oldObject, request, params,\n"
    "                      namespaceObject\n"
    "      --types         print the checked type\n"
    "      --cost          print the estimated and the actual cost\n"
    "      --trace         print the value of every sub-expression\n"
    "      --bench         print nanoseconds per evaluation and per compilation\n"
    "      --functions     print the reference of all functions\n"
    "      --batch         read requests from standard input, one JSON object a line:\n"
    "                      {\"id\": …, \"expr\": …, \"container\": \"\", \"check\": true,\n"
    "                       \"types\": {name: \"list(int)\"}, \"vars\": {name: value}}\n";

struct Options {
  std::vector<std::string> expressions;
  json::Arena arena;
  std::vector<std::pair<std::string, json::Value>> variables;
  bool kubernetes = false;
  bool admission = false;
  bool types = false;
  bool cost = false;
  bool trace = false;
  bool bench = false;
  bool batch = false;
  bool functions = false;
  bool help = false;
};

base::Result<std::string> ReadFile(const std::string& path) {
  std::ostringstream text;
  if (path == "-") {
    text << std::cin.rdbuf();
    return text.str();
  }
  std::ifstream file(path);
  if (!file.is_open()) return base::ConfigError("cannot read " + path);
  text << file.rdbuf();
  return text.str();
}

std::string_view TrimEnd(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

base::Status AddVariable(Options& options, std::string_view text) {
  const auto cut = base::Cut(text, "=");
  if (!cut) return base::ConfigError("--var needs NAME=VALUE");
  const json::Value value = TRY(json::ParseYamlOrJson(options.arena, cut->second));
  options.variables.emplace_back(cut->first, value);
  return base::OkStatus();
}

base::Status AddVariables(Options& options, const std::string& path) {
  const std::string text = TRY(ReadFile(path));
  const json::Value value = TRY(json::ParseYamlOrJson(options.arena, text));
  if (!value.is_object()) return base::ConfigError(path + " holds no object");
  for (const json::Member& member : value.members()) {
    options.variables.emplace_back(member.name(), member.value);
  }
  return base::OkStatus();
}

base::Status ParseFlag(Options& options, const std::string& name, const std::string* value,
                       bool& used) {
  const auto set = [](bool& flag) {
    flag = true;
    return base::OkStatus();
  };
  if (name == "--kubernetes") return set(options.kubernetes);
  if (name == "--types") return set(options.types);
  if (name == "--cost") return set(options.cost);
  if (name == "--trace") return set(options.trace);
  if (name == "--bench") return set(options.bench);
  if (name == "--batch") return set(options.batch);
  if (name == "--functions") return set(options.functions);
  if (name == "--help" || name == "-h") return set(options.help);
  const bool known =
      name == "--as" || name == "--var" || name == "--vars" || name == "--file" || name == "-f";
  if (!known) return base::ConfigError("unknown flag: " + name);
  if (!value) return base::ConfigError("flag needs an argument: " + name);
  used = true;
  if (name == "--var") return AddVariable(options, *value);
  if (name == "--vars") return AddVariables(options, *value);
  if (name == "--as") {
    if (*value != "admission") return base::ConfigError("--as knows only admission");
    return set(options.admission);
  }
  options.expressions.emplace_back(TrimEnd(TRY(ReadFile(*value))));
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
    // A single dash begins an expression, except for the two short flags.
    const bool is_flag = flags && (word.starts_with("--") || word == "-f" || word == "-h");
    if (!is_flag) {
      options.expressions.push_back(word);
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

base::Result<std::shared_ptr<const cel::Environment>> MakeEnvironment(const Options& options) {
  std::shared_ptr<const cel::Environment> base;
  if (options.admission) {
    kube_cel::Compiler compiler;
    base = compiler.EnvironmentOf({.params = true})->environment;
  }
  cel::EnvironmentBuilder builder =
      base ? cel::EnvironmentBuilder(base) : cel::EnvironmentBuilder();
  if (!options.admission && options.kubernetes) kube_cel::AddKubernetesLibraries(builder);
  if (!options.admission && !options.kubernetes) {
    builder.AddLibrary(cel::kStringsLibrary)
        .AddLibrary(cel::kOptionalLibrary)
        .AddLibrary(cel::kTwoVariableLibrary);
  }
  for (const auto& [name, value] : options.variables) {
    bool declared = false;
    if (base) {
      for (const cel::Variable& variable : base->variables()) declared |= variable.name == name;
    }
    if (!declared) builder.AddVariable(name, &cel::kDynType);
  }
  return builder.Build();
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
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kTime{100};
  const auto start = Clock::now();
  double calls = 0;
  while (Clock::now() - start < kTime) {
    for (int i = 0; i < 16; ++i) work();
    calls += 16;
  }
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count() / calls;
}

bool EvaluateOne(const Options& options, const cel::Environment& environment,
                 const std::string& expression) {
  const cel::Compilation compilation =
      environment.Compile(expression, {.check = true, .trace = options.trace});
  if (!compilation.ok()) {
    std::fprintf(stderr, "%s\n", compilation.ErrorText().c_str());
    return false;
  }
  cel::Activation activation(environment);
  for (const auto& [name, value] : options.variables) activation.BindJson(name, &value);
  json::Arena arena;
  Tracer tracer;
  cel::EvalOptions eval;
  if (options.trace) eval.observer = &tracer;
  const cel::Outcome outcome = compilation.program->Evaluate(activation, arena, eval);
  const bool failed = outcome.value.is_error();
  std::fprintf(failed ? stderr : stdout, "%s\n", Tracer::Show(outcome.value).c_str());
  if (options.types) {
    std::printf("  type: %s\n", cel::TypeString(compilation.program->result_type()).c_str());
  }
  if (options.cost) {
    const cel::Range range = cel::EstimateCost(environment, *compilation.ast, NothingKnown());
    std::printf("  cost: %llu, estimated %s to %s\n", static_cast<unsigned long long>(outcome.cost),
                Bound(range.min).c_str(), Bound(range.max).c_str());
  }
  if (options.bench) {
    eval.observer = nullptr;
    const double evaluation = Measure([&] {
      json::Arena fresh;
      compilation.program->Evaluate(activation, fresh, eval);
    });
    const double compiling = Measure([&] { environment.Compile(expression); });
    std::printf("  %.0f ns per evaluation, %.0f ns per compilation\n", evaluation, compiling);
  }
  return !failed;
}

int RunBatch(const std::shared_ptr<const cel::Environment>& environment) {
  for (std::string line; std::getline(std::cin, line);) {
    if (line.empty()) continue;
    const std::string answer = cel::AnswerBatchLine(environment, line);
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
  const auto environment = MakeEnvironment(options);
  if (!environment.ok()) return Usage(environment.status().message());
  if (options.batch) return RunBatch(*environment);
  if (options.expressions.empty()) return Usage("no expression given");
  bool ok = true;
  for (const std::string& expression : options.expressions) {
    ok = EvaluateOne(options, **environment, expression) && ok;
  }
  return ok ? kExitOk : kExitRefused;
}

}  // namespace

const Command kCel = {"cel", "evaluate CEL expressions", &Run};

}  // namespace portcullis::cli
