// SPDX-License-Identifier: Apache-2.0

#include "engine/operation_trace.h"

#include "api/api_status.h"

namespace portcullis::engine {
admission::TraceSubject DescribeOperation(const Operation& op) {
  admission::TraceSubject subject;
  subject.verb = VerbName(op.verb);
  subject.resource = op.resource->resource;
  subject.subresource = op.subresource_name();
  subject.ns = op.ns;
  subject.name = op.name;
  subject.user = op.user.name;
  subject.dry_run = op.dry_run;
  subject.warnings = op.recorder.warnings();
  return subject;
}

void FinishTrace(admission::Trace& trace, const base::Result<Outcome>& outcome) {
  if (outcome.ok()) return trace.Finish({outcome->code, {}, {}});
  json::Arena arena;
  const json::Value status = api::StatusToJson(arena, outcome.status());
  trace.Finish({outcome.status().http_code(), std::string(status["reason"].AsString()),
                std::string(outcome.status().message())});
}

}  // namespace portcullis::engine
