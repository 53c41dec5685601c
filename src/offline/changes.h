// SPDX-License-Identifier: Apache-2.0

// What the steps of a request have changed, as a diff: a paragraph for each step, a line for each line of
// YAML that goes or comes.
//
//   mutating AlwaysPullImages
//   - spec.containers[0].imagePullPolicy: IfNotPresent
//   + spec.containers[0].imagePullPolicy: Always
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "json/value.h"

namespace portcullis::offline {

enum class DiffStyle : std::uint8_t {
  kPlain,
  kColor,  // of terminals
  kHtml,   // escaped; <del> and <ins>
};

// `trace` is an AdmissionTrace (docs/internals/trace.md), `sent` the object that was sent, JSON or YAML: without
// it, values that are replaced are not shown. "" if nothing was changed.
std::string ChangesOfTrace(json::Value trace, std::string_view sent, DiffStyle style);

}  // namespace portcullis::offline
