// SPDX-License-Identifier: Apache-2.0

#include "base/random.h"

#include <sys/random.h>

#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "base/strings.h"

namespace portcullis::base {
namespace {

// Bytes drawn in blocks: one call of the kernel's generator serves many identifiers. OpenSSL's would
// initialize the library first, an eighth of what `portcullis test` of one manifest takes.
class Pool {
 public:
  unsigned char Next() {
    if (at_ == sizeof(bytes_)) {
      Fill();
      at_ = 0;
    }
    return bytes_[at_++];
  }

 private:
  // Up to 256 bytes come whole, whatever signals arrive; see getrandom(2).
  void Fill() {
    while (::getrandom(bytes_, sizeof(bytes_), 0) != static_cast<ssize_t>(sizeof(bytes_))) {
      if (errno != EINTR) std::abort();
    }
  }

  unsigned char bytes_[256];
  std::size_t at_ = sizeof(bytes_);
};

Pool& ThreadPool() {
  thread_local Pool pool;
  return pool;
}

}  // namespace

std::string RandomBytes(std::size_t size) {
  std::string out(size, '\0');
  for (char& c : out) c = static_cast<char>(ThreadPool().Next());
  return out;
}

double RandomFraction() {
  std::uint64_t bits = 0;
  for (int i = 0; i < 7; ++i) bits = bits << 8U | ThreadPool().Next();
  return std::ldexp(static_cast<double>(bits >> 3U), -53);
}

std::string Uuid() {
  constexpr std::string_view kDigits = "0123456789abcdef";
  constexpr std::uint8_t kAt[] = {0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34};
  Pool& pool = ThreadPool();
  std::string out(36, '-');
  char* const text = out.data();
  for (const std::uint8_t at : kAt) {
    const unsigned byte = pool.Next();
    text[at] = kDigits[byte >> 4U];
    text[at + 1] = kDigits[byte & 15U];
  }
  text[14] = '4';                                                      // version 4
  text[19] = kDigits[8U | (static_cast<unsigned>(pool.Next()) & 3U)];  // variant of RFC 9562
  return out;
}

std::string RandomSuffix(std::size_t length) {
  constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  std::string out;
  while (out.size() < length) {
    const unsigned char byte = ThreadPool().Next();
    // Values past the last whole multiple would favour the first letters.
    if (byte < 256 / kAlphabet.size() * kAlphabet.size()) {
      out.push_back(kAlphabet[byte % kAlphabet.size()]);
    }
  }
  return out;
}

}  // namespace portcullis::base
