// SPDX-License-Identifier: Apache-2.0

// Scanning and copying string bytes 16 at a time; private to this folder.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

namespace portcullis::json::internal {

struct StringScan {
  const char* stop = nullptr;  // at a quote, backslash or control character, or the end
  bool non_ascii = false;      // bytes >= 0x80 before `stop`
  bool html = false;           // <, > or & before `stop`
};

// Sixteen bytes at once: what the processor has for that. A mask has kBitsPerByte bits for each byte
// that was found, the first byte's lowest.
#if defined(__SSE2__)
#define PC_JSON_SIXTEEN 1
using Bytes = __m128i;
using Mask = std::uint32_t;
inline constexpr int kBitsPerByte = 1;
inline constexpr Mask kAllBytes = 0xFFFF;

inline Bytes Load(const char* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
inline Bytes Join(std::uint64_t low, std::uint64_t high) {
  return _mm_set_epi64x(static_cast<std::int64_t>(high), static_cast<std::int64_t>(low));
}
inline Bytes Equal(Bytes bytes, char c) { return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(c)); }
inline Bytes AtMost(Bytes bytes, char c) {
  return _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(c)), bytes);
}
inline Bytes WithBits(Bytes bytes, char bits) { return _mm_or_si128(bytes, _mm_set1_epi8(bits)); }
inline Bytes Either(Bytes a, Bytes b) { return _mm_or_si128(a, b); }
inline Bytes NonAscii(Bytes bytes) { return bytes; }  // MaskOf() takes the sign bits
inline Mask MaskOf(Bytes found) { return static_cast<Mask>(_mm_movemask_epi8(found)); }
inline void Store(char* p, Bytes bytes) { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), bytes); }
#elif defined(__ARM_NEON)
#define PC_JSON_SIXTEEN 1
using Bytes = uint8x16_t;
using Mask = std::uint64_t;
inline constexpr int kBitsPerByte = 4;
inline constexpr Mask kAllBytes = ~Mask{0};

inline Bytes Load(const char* p) { return vld1q_u8(reinterpret_cast<const std::uint8_t*>(p)); }
inline void Store(char* p, Bytes bytes) { vst1q_u8(reinterpret_cast<std::uint8_t*>(p), bytes); }
inline Bytes Join(std::uint64_t low, std::uint64_t high) {
  return vcombine_u8(vcreate_u8(low), vcreate_u8(high));
}
inline Bytes Repeated(char c) { return vdupq_n_u8(static_cast<std::uint8_t>(c)); }
inline Bytes Equal(Bytes bytes, char c) { return vceqq_u8(bytes, Repeated(c)); }
inline Bytes AtMost(Bytes bytes, char c) { return vcleq_u8(bytes, Repeated(c)); }
inline Bytes WithBits(Bytes bytes, char bits) { return vorrq_u8(bytes, Repeated(bits)); }
inline Bytes Either(Bytes a, Bytes b) { return vorrq_u8(a, b); }
inline Bytes NonAscii(Bytes bytes) { return vcltzq_s8(vreinterpretq_s8_u8(bytes)); }
inline Mask MaskOf(Bytes found) {
  const uint8x8_t halves = vshrn_n_u16(vreinterpretq_u16_u8(found), 4);
  return vget_lane_u64(vreinterpret_u64_u8(halves), 0);
}
#endif

#if defined(PC_JSON_SIXTEEN)
// Quotes, backslashes and control characters.
inline Bytes StopsIn(Bytes bytes) {
  return Either(Either(Equal(bytes, '"'), Equal(bytes, '\\')), AtMost(bytes, 0x1F));
}
// '<' and '>' differ in one bit.
inline Bytes HtmlIn(Bytes bytes) {
  return Either(Equal(bytes, '&'), Equal(WithBits(bytes, '<' ^ '>'), '>'));
}

// The bytes that need a second look: quotes, backslashes, control characters, <, >, & and what is
// beyond ASCII.
inline Mask OddIn(Bytes bytes) {
  return MaskOf(Either(Either(StopsIn(bytes), HtmlIn(bytes)), NonAscii(bytes)));
}
inline bool ArePlain(Bytes bytes) { return OddIn(bytes) == 0; }

// 4 to 15 bytes: two words that overlap cover every size.
struct FewBytes {
  FewBytes(const char* p, std::size_t size) : wide(size >= 8) {
    std::memcpy(&first, p, wide ? 8 : 4);
    std::memcpy(&last, p + size - (wide ? 8 : 4), wide ? 8 : 4);
  }
  Bytes Both() const {
    return wide ? Join(first, last) : Join(first | last << 32, first | last << 32);
  }
  bool ArePlain() const { return internal::ArePlain(Both()); }
  // Where the first byte is that needs a second look; `size` if there is none.
  std::size_t FirstOdd(std::size_t size) const {
    const Mask odd = OddIn(Both());
    if (odd == 0) return size;
    const std::size_t half = wide ? 8 : 4;
    const std::size_t at = static_cast<std::size_t>(std::countr_zero(odd)) / kBitsPerByte;
    return at < half ? at : size - half + (at - half);
  }
  void CopyTo(char* out, std::size_t size) const {
    std::memcpy(out, &first, wide ? 8 : 4);
    std::memcpy(out + size - (wide ? 8 : 4), &last, wide ? 8 : 4);
  }

  bool wide;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

// CopyPlain() for a size from that of a Word to twice that; false if it has copied nothing.
template <typename Word>
[[gnu::always_inline]] inline bool CopyFewPlain(const char* p, std::size_t size, char* out) {
  Word first = 0;
  Word last = 0;
  std::memcpy(&first, p, sizeof(Word));
  std::memcpy(&last, p + size - sizeof(Word), sizeof(Word));
  std::uint64_t low = first;
  if constexpr (sizeof(Word) < sizeof(low)) low |= std::uint64_t{last} << 32;
  if (!ArePlain(Join(low, sizeof(Word) < sizeof(low) ? low : last))) return false;
  std::memcpy(out, &first, sizeof(Word));
  std::memcpy(out + size - sizeof(Word), &last, sizeof(Word));
  return true;
}
#endif

inline bool IsPlain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  const bool html = byte == '<' || byte == '>' || byte == '&';
  return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\' && !html;
}

// What CopyPlain() does, one byte after the other.
inline std::size_t CopyPlainBytes(const char* p, std::size_t size, char* out) {
  std::size_t done = 0;
  for (; done < size && IsPlain(p[done]); ++done) {
    out[done] = p[done];
  }
  return done;
}

// Copies what comes before the first bytes that need a second look, and says how much that is. There
// may be more such bytes; and more may be written than is counted, up to `size`. Inlined, as compilers
// would not do by themselves: most texts are short.
[[gnu::always_inline]] inline std::size_t CopyPlain(const char* p, std::size_t size, char* out) {
  std::size_t done = 0;
#if defined(PC_JSON_SIXTEEN)
  if (size >= 16) {
    for (; size - done >= 16; done += 16) {
      const Bytes bytes = Load(p + done);
      if (!ArePlain(bytes)) return done;
      Store(out + done, bytes);
    }
    if (done == size) return size;
    const Bytes rest = Load(p + size - 16);  // with some that have been looked at
    if (!ArePlain(rest)) return done;
    Store(out + size - 16, rest);
    return size;
  }
  if (size >= 8) return CopyFewPlain<std::uint64_t>(p, size, out) ? size : 0;
  if (size >= 4) return CopyFewPlain<std::uint32_t>(p, size, out) ? size : 0;
#endif
  return CopyPlainBytes(p, size, out);
}

// The same up to the first such byte itself, for texts that have some.
inline std::size_t CopyUpToFirst(const char* p, std::size_t size, char* out) {
  std::size_t done = 0;
#if defined(PC_JSON_SIXTEEN)
  for (; size - done >= 16; done += 16) {
    const Bytes bytes = Load(p + done);
    Store(out + done, bytes);
    const Mask found = OddIn(bytes);
    if (found != 0) return done + static_cast<std::size_t>(std::countr_zero(found)) / kBitsPerByte;
  }
  if (const std::size_t rest = size - done; rest >= 4) {
    const FewBytes bytes(p + done, rest);
    bytes.CopyTo(out + done, rest);
    return done + bytes.FirstOdd(rest);
  }
#endif
  return done + CopyPlainBytes(p + done, size - done, out + done);
}

// The first byte that needs a second look, or the end. Inlined, like CopyPlain().
[[gnu::always_inline]] inline const char* SkipPlain(const char* p, const char* end) {
#if defined(PC_JSON_SIXTEEN)
  for (; end - p >= 16; p += 16) {
    const Mask odd = OddIn(Load(p));
    if (odd != 0) return p + std::countr_zero(odd) / kBitsPerByte;
  }
#endif
  while (p != end && IsPlain(*p)) ++p;
  return p;
}

inline StringScan ScanString(const char* p, const char* end) {
  StringScan scan;
#if defined(PC_JSON_SIXTEEN)
  for (; end - p >= 16; p += 16) {
    const Bytes bytes = Load(p);
    const Mask stops = MaskOf(StopsIn(bytes));
    const Mask before = stops == 0 ? kAllBytes : (stops & (0 - stops)) - 1;
    scan.non_ascii |= (MaskOf(NonAscii(bytes)) & before) != 0;
    scan.html |= (MaskOf(HtmlIn(bytes)) & before) != 0;
    if (stops != 0) {
      scan.stop = p + std::countr_zero(stops) / kBitsPerByte;
      return scan;
    }
  }
  if (const auto rest = static_cast<std::size_t>(end - p);
      rest >= 4 && FewBytes(p, rest).ArePlain()) {
    scan.stop = end;
    return scan;
  }
#endif
  for (; p != end; ++p) {
    const auto byte = static_cast<unsigned char>(*p);
    if (byte < 0x20 || byte == '"' || byte == '\\') break;
    scan.non_ascii |= byte >= 0x80;
    scan.html |= byte == '<' || byte == '>' || byte == '&';
  }
  scan.stop = p;
  return scan;
}

}  // namespace portcullis::json::internal
