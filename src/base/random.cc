#include "base/random.h"

#include <openssl/rand.h>

#include <cstdlib>

#include "base/strings.h"

namespace portcullis::base {
namespace {

// Bytes drawn in blocks: one call of the generator serves many identifiers.
class Pool {
 public:
  unsigned char Next() {
    if (at_ == sizeof(bytes_)) {
      if (RAND_bytes(bytes_, sizeof(bytes_)) != 1) std::abort();
      at_ = 0;
    }
    return bytes_[at_++];
  }

 private:
  unsigned char bytes_[512];
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

std::string Uuid() {
  std::string bytes = RandomBytes(16);
  bytes[6] = static_cast<char>((static_cast<unsigned char>(bytes[6]) & 0x0FU) | 0x40U);
  bytes[8] = static_cast<char>((static_cast<unsigned char>(bytes[8]) & 0x3FU) | 0x80U);
  std::string hex = HexEncode(bytes);
  for (const std::size_t at : {20U, 16U, 12U, 8U}) hex.insert(at, 1, '-');
  return hex;
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
