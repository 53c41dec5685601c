// SPDX-License-Identifier: Apache-2.0

// The end of a request: headers, warnings, compression, the audit event and metrics; then the
// answer is sent, unless the request is the server's own.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>

#include "metrics/metrics.h"
#include "metrics/request_series.h"
#include "server/call.h"

namespace portcullis::server::filters {

void Finish(Call& call, Reply reply);
// The end of a call whose answer another server has given: the audit event alone.
void NoteOutcome(Call& call, int status);
// Its beginning, if it is long-running: likewise.
void NoteStart(Call& call, int status);
// Takes the event of a call that has started: what records its end.
std::function<void()> TakeEnd(Call& call);
// Counts a call that another server could not be asked for.
void CountUnreached(const Call& call, int status);
// The headers of an answer, those of `reply` among them.
net::Headers HeadersOf(const Call& call, Reply& reply);
// The series of requests like this one that are answered so. REQUIRES: it is of a resource that is
// served, or of a page that is measured.
metrics::RequestSeries SeriesOf(const Call& call, int status);
// One of them that has taken so long, of which it has waited for others, and whose answer has so many bytes.
void CountIn(const metrics::RequestSeries& series, std::chrono::duration<double> took,
             std::chrono::duration<double> waited, std::size_t size);
// apiserver_longrunning_requests for calls like this one: watches count themselves while they last.
metrics::Gauge& LongRunning(const Call& call);
// apiserver_watch_list_duration_seconds, likewise.
metrics::Histogram& WatchListDuration(const Call& call);
// There is no seat for the call: 429.
void Refuse(Call& call);

}  // namespace portcullis::server::filters
