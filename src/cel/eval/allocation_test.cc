// SPDX-License-Identifier: Apache-2.0

// Reading fields, comparing, and looping over lists allocate nothing.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "cel/environment.h"
#include "json/reader.h"

namespace {
std::atomic<std::size_t> allocations{0};
}  // namespace

// GCC takes the replaced pair for a mismatch once it has inlined one half (seen with sanitizers).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif

void* operator new(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (!memory) std::abort();
  return memory;
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return operator new(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace portcullis::cel {
namespace {

TEST(AllocationTest, SuccessfulEvaluationsAllocateNothing) {
  const auto document = json::ParseDocument(R"({
      "metadata": {"labels": {"app": "bench"}},
      "spec": {"replicas": 3, "template": {"spec": {"containers": [
          {"image": "registry.example.com/web:1", "resources": {"limits": {"memory": "1Gi"}},
           "securityContext": {"privileged": false}},
          {"image": "registry.example.com/side:1", "resources": {"limits": {"memory": "1Gi"}},
           "securityContext": {"privileged": false}}]}}}})");
  ASSERT_TRUE(document.ok());
  const json::Value root = document->root();
  EnvironmentBuilder builder;
  builder.AddLibrary(kOptionalLibrary).AddVariable("object", "dyn");
  const auto environment = builder.Build();
  ASSERT_TRUE(environment.ok());
  Activation activation(**environment);
  activation.BindJson("object", &root);
  for (const char* expression : {
           "object.metadata.labels['app'] == 'bench'",
           "object.spec.replicas <= 5 && object.spec.replicas > 0",
           "object.spec.template.spec.containers.all(c, "
           "c.image.startsWith('registry.example.com/'))",
           "object.spec.template.spec.containers.all(c, has(c.resources) && "
           "has(c.resources.limits) && 'memory' in c.resources.limits)",
           "!object.spec.template.spec.containers.exists(c, has(c.securityContext) && "
           "has(c.securityContext.privileged) && c.securityContext.privileged)",
           "object.metadata.labels.all(k, k.matches('^[a-z]+$'))",
           "object.spec.?template.?nope.orValue(true)",
       }) {
    const Compilation compilation = (*environment)->Compile(expression);
    ASSERT_TRUE(compilation.ok()) << compilation.ErrorText();
    EvalOptions options;
    options.cost_limit = 1000000;
    const std::size_t before = allocations.load();
    json::Arena arena;
    const Outcome outcome = compilation.program->Evaluate(activation, arena, options);
    EXPECT_EQ(allocations.load(), before) << expression;
    EXPECT_TRUE(outcome.value.is_true()) << expression;
  }
}

// What 1,000 policies keep must stay small.
TEST(AllocationTest, ProgramsAreSmall) {
  EnvironmentBuilder builder;
  builder.AddVariable("object", "dyn");
  const auto environment = builder.Build();
  ASSERT_TRUE(environment.ok());
  const Compilation compilation = (*environment)
                                      ->Compile(
                                          "object.spec.template.spec.containers.all(c, "
                                          "has(c.resources) && has(c.resources.limits))");
  ASSERT_TRUE(compilation.ok());
  EXPECT_LT(compilation.program->memory_bytes(), 5000U);
}

}  // namespace
}  // namespace portcullis::cel
