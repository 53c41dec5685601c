// SPDX-License-Identifier: Apache-2.0

// ExpressionChecker: what validation asks of CEL about the expressions in objects. Implemented
// where CEL is known; without one, expressions are stored unchecked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace portcullis::kube_cel {
class Compiler;
}

namespace portcullis::metrics {
struct CelMetrics;
}

namespace portcullis::registry {

// Thread-safe.
class ExpressionChecker {
 public:
  // New expressions may use what the oldest compatible release knows, stored ones everything.
  enum class Environment : std::uint8_t { kNew, kStored };

  virtual ~ExpressionChecker() = default;
  // A match condition of a webhook: the detail of the Invalid error (`must evaluate to bool but got
  // string`, `compilation failed: …`), or "" if it compiles.
  virtual std::string CheckMatchCondition(std::string_view expression,
                                          Environment environment) const = 0;
  // What compiles the expressions of policies and of custom resource definitions; null if nothing.
  virtual kube_cel::Compiler* compiler() const { return nullptr; }
  // What counts the rules of custom resources; null: nothing does.
  virtual const metrics::CelMetrics* cel_metrics() const { return nullptr; }
};

}  // namespace portcullis::registry
