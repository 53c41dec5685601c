// SPDX-License-Identifier: Apache-2.0

// The end of a request: headers, warnings, compression, the audit event and metrics; then the
// answer is sent, unless the request is the server's own.
#pragma once

#include "metrics/metrics.h"
#include "server/call.h"

namespace portcullis::server::filters {

void Finish(Call& call, Reply reply);
// apiserver_longrunning_requests for calls like this one: watches count themselves while they last.
metrics::Gauge& LongRunning(const Call& call);
// There is no seat for the call: 429.
void Refuse(Call& call);

}  // namespace portcullis::server::filters
