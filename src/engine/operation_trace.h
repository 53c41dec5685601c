// SPDX-License-Identifier: Apache-2.0

// A trace of an operation, from the operation's side: whom and what its document names.
#pragma once

#include "admission/trace/document.h"
#include "admission/trace/trace.h"
#include "base/status.h"
#include "engine/operation.h"
#include "engine/outcome.h"

namespace portcullis::engine {

// What was asked for; views live as long as the operation. `id` is "".
admission::TraceSubject DescribeOperation(const Operation& op);

// Ends the trace with what became of the operation.
void FinishTrace(admission::Trace& trace, const base::Result<Outcome>& outcome);

}  // namespace portcullis::engine
