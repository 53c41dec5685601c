// SPDX-License-Identifier: Apache-2.0

// AdmissionTraces: the traces (admission/trace/trace.h) of requests that asked for one with the
// header `Portcullis-Trace: full` or `summary`, and with --admission-trace-history of the last
// writes; served at /debug/admission. docs/internals/trace.md describes both.
//
// A header is honoured for users who may `get` the path at which the trace is to be found. That
// path shows it to the same user; to others, and the list of all, only with the right to `get`
// /debug/admission.
//
// Size: kMaxRequested traces of the header and those of the flag, each kind at most kMaxBytes
// together; the oldest go first. Thread-safe.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "admission/trace/trace.h"
#include "base/mutex.h"
#include "base/status.h"
#include "json/value.h"
#include "server/call.h"

namespace portcullis::server {

inline constexpr std::string_view kTraceHeader = "Portcullis-Trace";

// The trace of one call.
struct CallTrace {
  explicit CallTrace(const base::Clock& clock) : trace(clock) {}

  admission::Trace trace;
  std::string id;
  bool is_requested = false;  // by the header
  bool is_full = true;
  std::string reason;  // of the Status that the call is answered with, if it is refused
  std::string message;
};

class AdmissionTraces {
 public:
  static constexpr std::size_t kMaxRequested = 64;
  static constexpr std::size_t kMaxBytes = std::size_t{16} << 20;
  static constexpr std::size_t kMaxTraceBytes = std::size_t{4} << 20;

  // `history`: how many traces of the last writes are kept.
  explicit AdmissionTraces(std::size_t history) : history_limit_(history) {}

  // Sets call.trace if the call is to be traced. BadRequest for a value that the header does not
  // have, Forbidden if the user may not trace. REQUIRES: the call is authorized.
  base::Status Begin(Call& call) const;
  // Keeps the trace, and tells the client of the header where.
  void End(Call& call, Reply& reply);
  // GET /debug/admission and /debug/admission/<id>.
  Reply Serve(Call& call);

 private:
  struct Kept {
    std::string id;
    std::string user;
    std::string head;      // the document without steps, fields and object, for the list
    std::string document;  // JSON
  };
  using Ring = std::deque<std::shared_ptr<const Kept>>;

  static void Add(Ring& ring, std::shared_ptr<const Kept> kept, std::size_t limit);
  std::shared_ptr<const Kept> Find(std::string_view id);
  Reply ServeList(Call& call);
  Reply ServeOne(Call& call, std::string_view id);

  const std::size_t history_limit_;
  base::Mutex mutex_;
  Ring requested_ PC_GUARDED_BY(mutex_);
  Ring history_ PC_GUARDED_BY(mutex_);
};

}  // namespace portcullis::server
