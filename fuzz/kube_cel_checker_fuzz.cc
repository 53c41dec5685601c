// SPDX-License-Identifier: Apache-2.0

// Any text as an expression of a policy: checking ends in a type or in issues that can be printed,
// and what checks has an estimate whose ends are in order.
#include "cel/checker/cost_estimate.h"
#include "kube_cel/compiler.h"

namespace cel = portcullis::cel;
namespace kube_cel = portcullis::kube_cel;

namespace {

class NothingKnown final : public cel::SizeEstimator {
 public:
  std::optional<cel::Range> Size(std::span<const std::string_view>,
                                 const cel::Type&) const override {
    return std::nullopt;
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static kube_cel::Compiler compiler;
  static const auto scope =
      compiler.EnvironmentOf({.params = true,
                              .authorizer = true,
                              .mutation = true,
                              .variables = true,
                              .variable_types = {{"a", "int"}, {"b", "dyn"}}});
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const cel::Compilation compilation = scope->environment->Compile(text);
  if (!compilation.ok() && compilation.ErrorText().empty()) std::abort();
  if (!compilation.issues.empty()) return 0;
  const cel::Range cost = cel::EstimateCost(*scope->environment, *compilation.ast, NothingKnown());
  if (cost.min > cost.max) std::abort();
  return 0;
}
