// SPDX-License-Identifier: Apache-2.0

#include "cbor/writer.h"

#include <bit>
#include <cmath>

#include "cbor/cursor.h"

namespace portcullis::cbor {
namespace {

void Argument(Major major, std::uint8_t info, std::uint64_t argument, std::string& out) {
  out += static_cast<char>(static_cast<unsigned>(major) << 5 | info);
  if (info < kOneByte) return;
  for (unsigned bits = 8U << (info - kOneByte); bits > 0;) {
    bits -= 8;
    out += static_cast<char>(argument >> bits & 0xff);
  }
}

// The bits of the number in half precision, if that has it.
bool ToHalf(double number, std::uint64_t& bits) {
  if (number == 0) {
    bits = std::signbit(number) ? 0x8000 : 0;
    return true;
  }
  int exponent = 0;
  const double fraction = std::frexp(std::abs(number), &exponent);  // 0.5 <= fraction < 1
  if (exponent > 16 || exponent < -24) return false;
  // Subnormal numbers have fewer bits.
  const int digits = exponent >= -13 ? 11 : exponent + 24;
  const double mantissa = std::ldexp(fraction, digits);
  if (mantissa != std::floor(mantissa)) return false;
  const auto whole = static_cast<std::uint64_t>(mantissa);
  bits =
      exponent >= -13 ? static_cast<std::uint64_t>(exponent + 14) << 10 | (whole & 0x3ff) : whole;
  if (number < 0) bits |= 0x8000;
  return true;
}

void WriteFloat(double number, std::string& out) {
  std::uint64_t half = 0;
  if (ToHalf(number, half)) return Argument(Major::kPrimitive, kTwoBytes, half, out);
  const auto single = static_cast<float>(number);
  if (static_cast<double>(single) == number) {
    return Argument(Major::kPrimitive, kFourBytes, std::bit_cast<std::uint32_t>(single), out);
  }
  Argument(Major::kPrimitive, kEightBytes, std::bit_cast<std::uint64_t>(number), out);
}

}  // namespace

void WriteHead(Major major, std::uint64_t argument, std::string& out) {
  if (argument < kOneByte) {
    Argument(major, static_cast<std::uint8_t>(argument), argument, out);
  } else if (argument <= 0xff) {
    Argument(major, kOneByte, argument, out);
  } else if (argument <= 0xffff) {
    Argument(major, kTwoBytes, argument, out);
  } else if (argument <= 0xffffffff) {
    Argument(major, kFourBytes, argument, out);
  } else {
    Argument(major, kEightBytes, argument, out);
  }
}

void WriteString(std::string_view text, std::string& out) {
  WriteHead(Major::kBytes, text.size(), out);
  out += text;
}

void WriteBytes(std::string_view bytes, std::string& out) {
  WriteHead(Major::kTag, kBase64, out);
  WriteString(bytes, out);
}

void Write(json::Value value, std::string& out) {
  switch (value.type()) {
    case json::Type::kNull:
      return WriteHead(Major::kPrimitive, kNull, out);
    case json::Type::kBool:
      return WriteHead(Major::kPrimitive, value.AsBool() ? kTrue : kFalse, out);
    case json::Type::kInt: {
      const std::int64_t number = value.AsInt();
      if (number >= 0) return WriteHead(Major::kPositive, static_cast<std::uint64_t>(number), out);
      return WriteHead(Major::kNegative, static_cast<std::uint64_t>(-1 - number), out);
    }
    case json::Type::kDouble:
      return WriteFloat(value.AsDouble(), out);
    case json::Type::kString:
      return WriteString(value.AsString(), out);
    case json::Type::kArray:
      WriteHead(Major::kArray, value.size(), out);
      for (const json::Value& element : value.elements()) Write(element, out);
      return;
    case json::Type::kObject:
      WriteHead(Major::kMap, value.size(), out);
      for (const json::Member& member : value.members()) {
        WriteString(member.name(), out);
        Write(member.value, out);
      }
      return;
  }
}

}  // namespace portcullis::cbor
