// SPDX-License-Identifier: Apache-2.0

// Notes for the trace of an operation, if it has one: what the stages of a write have made of the
// object. Of an operation that is not traced each call tests one pointer.
#pragma once

#include <string>
#include <string_view>

#include "admission/trace/trace.h"
#include "engine/operation.h"
#include "json/value.h"
#include "store/object.h"

namespace portcullis::engine {

// Phases of a write that are not the chain's.
inline constexpr std::string_view kPrepare = "prepare";
inline constexpr std::string_view kStrategy = "strategy";

// The object after the stage; see admission::SetByText for the stages that set fields.
inline void TraceStage(const Operation& op, std::string_view phase, std::string_view stage,
                       json::Value object) {
  if (admission::Trace* trace = op.recorder.trace()) trace->Stage(phase, stage, object);
}

// The stage has refused the object.
inline void TraceRefusal(const Operation& op, std::string_view phase, std::string_view stage,
                         const base::Status& refusal) {
  if (admission::Trace* trace = op.recorder.trace()) trace->StageFailed(phase, stage, refusal);
}

// An update begins, or begins again, with the stored object.
inline void TraceUpdate(const Operation& op, json::Value live) {
  if (admission::Trace* trace = op.recorder.trace()) trace->BeginUpdate(live);
}

// The object of the body replaces the stored one.
inline void TraceReplaced(const Operation& op, json::Value object) {
  if (admission::Trace* trace = op.recorder.trace()) trace->Replaced(object);
}

// The object as the client sees it in the end.
inline void TraceEnd(const Operation& op, json::Value object) {
  if (admission::Trace* trace = op.recorder.trace()) trace->Complete(object);
}

// The same of an object that was stored, which has a resourceVersion since.
inline void TraceStored(const Operation& op, json::Value object, const store::Object& stored) {
  admission::Trace* trace = op.recorder.trace();
  if (trace == nullptr) return;
  const json::Value version = json::String(op.arena, std::to_string(stored.revision()));
  trace->Complete(json::SetPath(op.arena, object, {"metadata", "resourceVersion"}, version));
}

}  // namespace portcullis::engine
