// SPDX-License-Identifier: Apache-2.0

// Helpers for JSON Patch paths, in mutations only.
#include "cel/program.h"
#include "json/pointer.h"
#include "kube_cel/libraries.h"
#include "kube_cel/library/costs.h"

namespace portcullis::kube_cel {
namespace {

cel::Value EscapeKey(cel::EvalContext& context, std::span<const cel::Value> args) {
  return cel::MakeString(context.arena(), json::EscapeToken(args[0].text()));
}

constexpr cel::Function kFunctions[] = {
    {.name = "jsonpatch.escapeKey",
     .id = "string_jsonpatch_escapeKey_string",
     .signature = "(string) -> string",
     .impl = &EscapeKey,
     .cost = &TextCost,
     .cost_scope = cel::CostScope::kFunction,
     .estimate = &EstimateText,
     .doc = "A key made fit to be part of a path.",
     .example = "jsonpatch.escapeKey('k8s.io/x~y') == 'k8s.io~1x~0y'"},
};

}  // namespace

constinit const cel::Library kJsonPatchLibrary = {.name = "kubernetes.jsonpatch",
                                                  .functions = kFunctions};

}  // namespace portcullis::kube_cel
