// SPDX-License-Identifier: Apache-2.0

// Inflater decompresses a gzip body while it arrives, so that neither the compressed nor the plain
// form is ever held beyond the limit. Error texts are those of Go's compress/gzip.
//
// Confined to one thread. One Inflater per body.
#pragma once

#include <zlib.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"

namespace portcullis::net::internal {

class Inflater {
 public:
  // `limit`: bytes that a body may inflate to; 0: no limit.
  explicit Inflater(std::size_t limit);
  ~Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Appends what the next bytes of the body inflate to. A body is one or more gzip members. After
  // an error (is_too_large() tells which kind) there is nothing more to add.
  base::Status Add(std::string_view piece, std::string& plain);
  // The body has ended: an error if that is in the middle of a member.
  base::Status Finish() const;

  bool is_too_large() const { return is_too_large_; }

 private:
  base::Status DataError() const;

  const std::size_t limit_;
  z_stream stream_{};
  gz_header header_{};  // of the member: `done` once the deflated data begins
  bool is_initialized_ = false;
  bool in_member_ = false;
  bool is_too_large_ = false;
};

}  // namespace portcullis::net::internal
