// SPDX-License-Identifier: Apache-2.0

// CustomResourceDefinitions: the memory one costs once it is served (kube-apiserver needs about 13
// MB), and validation of an object with patterns, compiled once as the server does or at each look.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <string>
#include <vector>

#include "api/catalog/catalog.h"
#include "api/schema/validate.h"
#include "json/reader.h"

namespace portcullis::api {
namespace {

constexpr double kKubernetesKilobytes = 13.0 * 1024;

// A schema of `fields` fields in objects of ten, each with a description, some with limits: about
// what generators write.
std::string Schema(int fields) {
  std::string out = R"({"type":"object","properties":{"spec":{"type":"object","properties":{)";
  for (int i = 0; i < fields; ++i) {
    if (i % 10 == 0) {
      if (i > 0) out += "}},";
      out += "\"group" + std::to_string(i / 10) + R"(":{"type":"object","properties":{)";
    } else {
      out += ',';
    }
    out += "\"field" + std::to_string(i) +
           R"(":{"description":"What this field is good for, in a sentence or two of text that )"
           R"(somebody wrote for those who come after.",)";
    switch (i % 4) {
      case 0:
        out += R"("type":"string","pattern":"^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$"})";
        break;
      case 1:
        out += R"("type":"integer","format":"int32","minimum":0,"maximum":100})";
        break;
      case 2:
        out += R"("type":"array","items":{"type":"string","minLength":1}})";
        break;
      default:
        out += R"("type":"string"})";
    }
  }
  return out +
         "}}}},\"status\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}}";
}

std::string Definition(int number, int fields) {
  const std::string name = "thing" + std::to_string(number);
  return R"({"metadata":{"name":")" + name + R"(s.example.com"},"spec":{"group":"example.com",)" +
         R"("scope":"Namespaced","names":{"plural":")" + name + R"(s","kind":"Thing)" +
         std::to_string(number) + R"("},"versions":[{"name":"v1","served":true,"storage":true,)" +
         R"("subresources":{"status":{}},"schema":{"openAPIV3Schema":)" + Schema(fields) + "}}]}}";
}

std::size_t HeapInUse() { return mallinfo2().uordblks + mallinfo2().hblkhd; }

// As the server does it: compiled and published with all others.
void MemoryOfADefinition(benchmark::State& state) {
  constexpr int kDefinitions = 200;
  const int fields = static_cast<int>(state.range(0));
  const auto built_in = catalog::Catalog::BuiltIn({}).value();
  double kilobytes = 0;
  for (auto _ : state) {
    std::vector<std::shared_ptr<const catalog::CustomResources>> all;
    const std::size_t before = HeapInUse();
    for (int i = 0; i < kDefinitions; ++i) {
      json::Arena arena;
      const auto definition = json::Parse(arena, Definition(i, fields));
      all.push_back(
          catalog::CustomResources::Compile(*definition, {built_in->object_meta()}).value());
    }
    const auto served = built_in->WithCustomResources(all);
    kilobytes = static_cast<double>(HeapInUse() - before) / 1024 / kDefinitions;
    benchmark::DoNotOptimize(served);
  }
  state.counters["KB_per_CRD"] = kilobytes;
  state.counters["of_kubernetes_percent"] = 100 * kilobytes / kKubernetesKilobytes;
}
BENCHMARK(MemoryOfADefinition)->ArgName("fields")->Arg(10)->Arg(200)->Arg(1000)->Iterations(1);

class Validation {
 public:
  Validation() {
    const auto built_in = catalog::Catalog::BuiltIn({}).value();
    const auto definition = json::Parse(arena_, Definition(0, 10));
    made_ = catalog::CustomResources::Compile(*definition, {built_in->object_meta()}).value();
    catalog_ = built_in;
    object_ = json::Parse(arena_, R"({"spec":{"group0":{"field0":"some-name","field1":5,
        "field2":["a","b"],"field3":"x","field4":"another-name","field8":"a-third"}}})")
                  .value();
  }
  const schema::Constraints& constraints() const { return *made_->FindSchema("v1")->constraints; }
  json::Value object() const { return object_; }

 private:
  json::Arena arena_;
  std::shared_ptr<const catalog::Catalog> catalog_;
  std::shared_ptr<const catalog::CustomResources> made_;
  json::Value object_;
};

void ValidateWithPatternsKept(benchmark::State& state) {
  const Validation validation;
  for (auto _ : state) {
    FieldErrors errors;
    schema::ValidateValue(validation.constraints(), validation.object(), FieldPath(), errors);
    benchmark::DoNotOptimize(errors);
  }
}
BENCHMARK(ValidateWithPatternsKept);

void ValidateWithPatternsCompiledEachTime(benchmark::State& state) {
  const Validation validation;
  const schema::Constraints bare{validation.constraints().props};
  for (auto _ : state) {
    FieldErrors errors;
    schema::ValidateValue(bare, validation.object(), FieldPath(), errors);
    benchmark::DoNotOptimize(errors);
  }
}
BENCHMARK(ValidateWithPatternsCompiledEachTime);

}  // namespace
}  // namespace portcullis::api
