// SPDX-License-Identifier: Apache-2.0

// A recording: the writes of an audit log that can be carried out anew, without secrets, and few of those that
// are alike. A folder of audit events, which `portcullis replay`, `test` and `diff` read.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "audit/redaction.h"
#include "audit/sink.h"
#include "base/mutex.h"

namespace portcullis::audit {

struct RecordingOptions {
  std::string folder;               // is made
  std::vector<std::string> redact;  // see Redaction
  std::size_t sample = 1;           // one of so many is kept
  std::size_t per_shape = 10;       // at most so many of one shape; 0: all
  int max_file_mb = 64;             // then a new file is begun
  int max_files = 0;                // the oldest ones are deleted; 0: none
};

// Thread-safe.
class Recording final : public Sink {
 public:
  // Errors: the folder, a path of `redact`.
  static base::Result<std::unique_ptr<Recording>> Open(const RecordingOptions& options,
                                                       const base::Clock& clock);

  // Events that are no answered writes, or have no object, are passed over. Errors: not JSON, the disk.
  base::Status Write(std::string event) override;
  void Flush() override;

  struct Counts {
    std::size_t recorded = 0;
    std::size_t alike = 0;    // enough of their shape were there
    std::size_t sampled = 0;  // left out by `sample`
    std::size_t others = 0;   // that cannot be carried out anew
  };
  Counts counts() const;

 private:
  Recording(const RecordingOptions& options, Redaction redaction, std::unique_ptr<Sink> file);
  bool IsWanted(std::uint64_t shape);

  const RecordingOptions options_;
  const Redaction redaction_;
  const std::unique_ptr<Sink> file_;
  mutable base::Mutex mutex_;
  std::unordered_map<std::uint64_t, std::size_t> shapes_ PC_GUARDED_BY(mutex_);
  std::size_t seen_ PC_GUARDED_BY(mutex_) = 0;
  Counts counts_ PC_GUARDED_BY(mutex_);
};

// Requests are alike if they have the same verb, resource, groups of the user and code, and objects with the
// same fields, whatever their values and however long their lists are.
std::uint64_t ShapeOf(json::Value event);

}  // namespace portcullis::audit
