// SPDX-License-Identifier: Apache-2.0

// Scanning string bytes 16 at a time; private to this folder.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace portcullis::json::internal {

struct StringScan {
  const char* stop = nullptr;  // at a quote, backslash or control character, or the end
  bool non_ascii = false;      // bytes >= 0x80 before `stop`
  bool html = false;           // <, > or & before `stop`
};

#if defined(__SSE2__)
// Whether none of 4 to 15 bytes needs a second look: no quote, backslash, control character, <, >,
// & and nothing beyond ASCII.
inline bool IsPlain(const char* p, std::size_t size) {
  const bool wide = size >= 8;
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  // Two loads that overlap cover every size.
  std::memcpy(&low, p, wide ? 8 : 4);
  std::memcpy(&high, p + size - (wide ? 8 : 4), wide ? 8 : 4);
  if (!wide) {
    low |= high << 32;
    high = low;
  }
  const __m128i bytes =
      _mm_set_epi64x(static_cast<std::int64_t>(high), static_cast<std::int64_t>(low));
  const __m128i special =
      _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
                                _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'))),
                   _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1F)), bytes));
  const __m128i html =
      _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('&')),
                   _mm_cmpeq_epi8(_mm_or_si128(bytes, _mm_set1_epi8(2)), _mm_set1_epi8('>')));
  // The sign bits of `bytes` itself are those beyond ASCII.
  return _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(special, html), bytes)) == 0;
}
#endif

inline StringScan ScanString(const char* p, const char* end) {
  StringScan scan;
#if defined(__SSE2__)
  const __m128i quote = _mm_set1_epi8('"');
  const __m128i backslash = _mm_set1_epi8('\\');
  const __m128i control = _mm_set1_epi8(0x1F);
  const __m128i ampersand = _mm_set1_epi8('&');
  const __m128i greater = _mm_set1_epi8('>');
  const __m128i two = _mm_set1_epi8(2);  // '<' | 2 == '>'
  for (; end - p >= 16; p += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const __m128i special =
        _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash)),
                     _mm_cmpeq_epi8(_mm_min_epu8(bytes, control), bytes));
    const __m128i html = _mm_or_si128(_mm_cmpeq_epi8(bytes, ampersand),
                                      _mm_cmpeq_epi8(_mm_or_si128(bytes, two), greater));
    const auto stops = static_cast<std::uint32_t>(_mm_movemask_epi8(special));
    const auto high = static_cast<std::uint32_t>(_mm_movemask_epi8(bytes));
    const auto marks = static_cast<std::uint32_t>(_mm_movemask_epi8(html));
    const std::uint32_t before = stops == 0 ? 0xFFFF : (stops & (0 - stops)) - 1;
    scan.non_ascii |= (high & before) != 0;
    scan.html |= (marks & before) != 0;
    if (stops != 0) {
      scan.stop = p + std::countr_zero(stops);
      return scan;
    }
  }
  if (const auto rest = static_cast<std::size_t>(end - p); rest >= 4 && IsPlain(p, rest)) {
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
