// SPDX-License-Identifier: Apache-2.0

#include "net/internal/gzip.h"

#include <array>

#include "base/strings.h"

namespace portcullis::net::internal {

Inflater::Inflater(std::size_t limit) : limit_(limit) {
  constexpr int kGzipOnly = 16 + MAX_WBITS;
  is_initialized_ = inflateInit2(&stream_, kGzipOnly) == Z_OK;
  if (is_initialized_) inflateGetHeader(&stream_, &header_);
}

Inflater::~Inflater() {
  if (is_initialized_) inflateEnd(&stream_);
}

base::Status Inflater::Add(std::string_view piece, std::string& plain) {
  if (!is_initialized_) return base::BadRequest("gzip: no memory");
  stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
  stream_.avail_in = static_cast<uInt>(piece.size());
  std::array<char, 16 * 1024> buffer;  // NOLINT(*-member-init): inflate fills it
  bool has_output = false;             // zlib may hold more than fitted into the buffer
  while (stream_.avail_in > 0 || has_output) {
    if (stream_.avail_in > 0) in_member_ = true;
    stream_.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream_.avail_out = buffer.size();
    const int result = inflate(&stream_, Z_NO_FLUSH);
    plain.append(buffer.data(), buffer.size() - stream_.avail_out);
    if (limit_ > 0 && plain.size() > limit_) {
      is_too_large_ = true;
      return base::BadRequest(
          base::StrCat("response body is larger than ", std::to_string(limit_), " bytes"));
    }
    has_output = result == Z_OK && stream_.avail_out == 0;
    if (result == Z_STREAM_END) {
      in_member_ = false;
      inflateReset(&stream_);
      header_ = {};
      inflateGetHeader(&stream_, &header_);
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      return DataError();
    }
  }
  return base::OkStatus();
}

base::Status Inflater::DataError() const {
  if (header_.done != 1) return base::BadRequest("gzip: invalid header");
  const std::string_view reason = stream_.msg != nullptr ? stream_.msg : "";
  if (reason == "incorrect data check" || reason == "incorrect length check") {
    return base::BadRequest("gzip: invalid checksum");
  }
  return base::BadRequest(
      base::StrCat("flate: corrupt input before offset ", std::to_string(stream_.total_in)));
}

base::Status Inflater::Finish() const {
  return in_member_ ? base::BadRequest("unexpected EOF") : base::OkStatus();
}

}  // namespace portcullis::net::internal
