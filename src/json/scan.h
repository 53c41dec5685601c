// Scanning string bytes 16 at a time; private to this folder.
#pragma once

#include <bit>
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace portcullis::json::internal {

struct StringScan {
  const char* stop = nullptr;  // at a quote, backslash or control character, or the end
  bool non_ascii = false;      // bytes >= 0x80 before `stop`
  bool html = false;           // <, > or & before `stop`
};

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
