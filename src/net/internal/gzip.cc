#include "net/internal/gzip.h"

#include <zlib.h>

#include <array>

#include "base/strings.h"

namespace portcullis::net::internal {

base::Result<std::string> Gunzip(std::string_view compressed, std::size_t limit) {
  z_stream stream{};
  constexpr int kGzipOnly = 16 + MAX_WBITS;
  if (inflateInit2(&stream, kGzipOnly) != Z_OK) return base::BadRequest("gzip: no memory");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(compressed.data()));
  stream.avail_in = static_cast<uInt>(compressed.size());
  std::string out;
  std::string error;
  std::array<char, 32 * 1024> buffer{};
  bool member_done = false;
  while (error.empty()) {
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = buffer.size();
    const int result = inflate(&stream, Z_NO_FLUSH);
    out.append(buffer.data(), buffer.size() - stream.avail_out);
    if (limit > 0 && out.size() > limit) {
      error = base::StrCat("response body is larger than ", std::to_string(limit), " bytes");
    } else if (result == Z_STREAM_END) {
      member_done = true;
      if (stream.avail_in == 0) break;
      inflateReset(&stream);
    } else if (result == Z_DATA_ERROR) {
      error = out.empty() && !member_done ? "gzip: invalid header" : "gzip: invalid checksum";
    } else if (result != Z_OK) {
      error = compressed.empty() ? "EOF" : "unexpected EOF";
    } else {
      member_done = false;
    }
  }
  inflateEnd(&stream);
  if (!error.empty()) return base::BadRequest(error);
  return out;
}

}  // namespace portcullis::net::internal
