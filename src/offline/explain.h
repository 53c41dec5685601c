// SPDX-License-Identifier: Apache-2.0

// What `portcullis explain` prints: the traces of a report (docs/internals/trace.md).
#pragma once

#include <string>

#include "offline/result.h"

namespace portcullis::offline {

// Of each result its place, its failures, the object in the end, what its steps have changed, and the table of
// its trace. With `color` for a terminal.
std::string ExplainAsText(const Report& report, bool color = false);
// The text as one page that needs nothing else, a section for each result.
std::string ExplainAsHtml(const Report& report);

}  // namespace portcullis::offline
