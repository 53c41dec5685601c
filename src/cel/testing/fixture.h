// SPDX-License-Identifier: Apache-2.0

// What tests of the language share: the environment of Kubernetes' options with variables of the
// usual shapes, and one call that compiles and evaluates.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "cel/environment.h"
#include "json/reader.h"

namespace portcullis::cel::testing {

// All libraries of the language; `dyn` variables object and request, x and y.
inline std::shared_ptr<const Environment> MakeEnvironment(bool fold = true) {
  EnvironmentBuilder builder;
  builder.AddLibrary(kStringsLibrary, 2)
      .AddLibrary(kSetsLibrary)
      .AddLibrary(kListsLibrary)
      .AddLibrary(kOptionalLibrary)
      .AddLibrary(kTwoVariableLibrary)
      .AddVariable("object", "dyn")
      .AddVariable("oldObject", "dyn")
      .AddVariable("request", "dyn")
      .AddVariable("unbound", "dyn")
      .AddVariable("x", "dyn")
      .AddVariable("y", "dyn")
      .AddVariable("number", "int")
      .AddVariable("text", "string")
      .AddVariable("names", "list(string)");
  builder.options().homogeneous_literals = true;
  builder.options().validate_literals = true;
  builder.options().fold_constants = fold;
  auto environment = builder.Build();
  return environment.ok() ? *environment : nullptr;
}

struct Evaluated {
  std::string text;  // DebugString, or "error: …"
  std::uint64_t cost = 0;
};

class Fixture {
 public:
  explicit Fixture(bool fold = true) : environment_(MakeEnvironment(fold)) {
    const auto document = json::Parse(arena_, kDocument);
    root_ = document.ok() ? *document : json::Value();
  }

  const Environment& environment() const { return *environment_; }

  Activation Bindings() {
    Activation activation(*environment_);
    for (const char* name : {"object", "request", "x", "y", "names", "oldObject"}) {
      if (const json::Value* value = root_.Find(name)) activation.BindJson(name, value);
    }
    activation.Bind("number", Value::Int(7));
    activation.Bind("text", Value::String("some text"));
    return activation;
  }

  Evaluated Run(std::string_view expression, const EvalOptions& options = {}) {
    const Compilation compilation = environment_->Compile(expression);
    if (!compilation.ok()) return {"compile: " + compilation.ErrorText(), 0};
    json::Arena arena;
    const Activation activation = Bindings();
    const Outcome outcome = compilation.program->Evaluate(activation, arena, options);
    if (outcome.value.is_error()) {
      return {"error: " + std::string(outcome.value.error()->text), outcome.cost};
    }
    return {DebugString(outcome.value), outcome.cost};
  }

 private:
  static constexpr std::string_view kDocument = R"({
    "object": {"metadata": {"name": "web", "labels": {"app": "bench", "team": "a"}, "none": null},
               "spec": {"replicas": 3, "ratio": 0.5, "on": true,
                        "containers": [{"name": "main", "image": "r/web:1", "env": [{"name": "A"}]},
                                       {"name": "side", "image": "r/side:1"}]}},
    "oldObject": null,
    "request": {"operation": "CREATE"},
    "x": 1, "y": "why", "names": ["a", "b", "c"]})";

  std::shared_ptr<const Environment> environment_;
  json::Arena arena_;
  json::Value root_;
};

}  // namespace portcullis::cel::testing
