#include "json/go_float.h"

#include <charconv>
#include <cmath>
#include <string_view>

namespace portcullis::json::internal {
namespace {

template <typename Float>
std::string Format(Float value) {
  if (std::isnan(value)) return ".nan";
  if (std::isinf(value)) return value > 0 ? ".inf" : "-.inf";
  char buffer[64];
  char* const end =
      std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific).ptr;
  const std::string_view text(buffer, static_cast<std::size_t>(end - buffer));
  const std::size_t mark = text.find('e');
  int exponent = 0;
  const std::size_t digits = text[mark + 1] == '+' ? mark + 2 : mark + 1;
  std::from_chars(buffer + digits, end, exponent);
  if (exponent < -4 || exponent >= 6) return std::string(text);
  char* const fixed_end =
      std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::fixed).ptr;
  return {buffer, fixed_end};
}

}  // namespace

std::string FormatShortest(double value) { return Format(value); }
std::string FormatShortest(float value) { return Format(value); }

}  // namespace portcullis::json::internal
