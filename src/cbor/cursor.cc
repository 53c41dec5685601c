// SPDX-License-Identifier: Apache-2.0

#include "cbor/cursor.h"

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace portcullis::cbor {
namespace {

double FromHalf(std::uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f;
  const int mantissa = bits & 0x3ff;
  double number = 0;
  if (exponent == 0x1f) {
    number = mantissa == 0 ? std::numeric_limits<double>::infinity()
                           : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    number = std::ldexp(mantissa, -24);
  } else {
    number = std::ldexp(mantissa + 0x400, exponent - 25);
  }
  return bits >> 15 != 0 ? -number : number;
}

}  // namespace

Head Cursor::Peek() const {
  const auto byte = static_cast<unsigned char>(bytes_[at_]);
  const auto info = static_cast<std::uint8_t>(byte & 0x1f);
  return {static_cast<Major>(byte >> 5), info, info};
}

bool Cursor::Take(Head& head) {
  if (done()) return false;
  head = Peek();
  ++at_;
  if (head.info < kOneByte || head.info > kEightBytes) return true;
  const std::size_t size = std::size_t{1} << (head.info - kOneByte);
  if (left() < size) return false;
  head.argument = 0;
  for (const char c : bytes_.substr(at_, size)) {
    head.argument = head.argument << 8 | static_cast<unsigned char>(c);
  }
  at_ += size;
  return true;
}

bool Cursor::TakeBreak() {
  if (done() || static_cast<unsigned char>(bytes_[at_]) != kBreak) return false;
  ++at_;
  return true;
}

bool Cursor::Skip(std::uint64_t size) {
  if (left() < size) return false;
  at_ += static_cast<std::size_t>(size);
  return true;
}

std::string_view Cursor::TakeBytes(std::uint64_t size) {
  const std::string_view content = bytes_.substr(at_, static_cast<std::size_t>(size));
  at_ += content.size();
  return content;
}

void Cursor::SkipContent(const Head& head) {
  // What is to come at each level; items of indefinite length are counted as never ending.
  constexpr std::uint64_t kEndless = std::numeric_limits<std::uint64_t>::max();
  std::vector<std::uint64_t> open;
  Head next = head;
  for (;;) {
    bool complete = true;
    switch (next.major) {
      case Major::kBytes:
      case Major::kText:
        if (next.is_indefinite()) {
          open.push_back(kEndless);
          complete = false;
        } else {
          (void)Skip(next.argument);
        }
        break;
      case Major::kArray:
      case Major::kMap: {
        const std::uint64_t items = next.argument * (next.major == Major::kMap ? 2 : 1);
        if (next.is_indefinite() || items > 0) {
          open.push_back(next.is_indefinite() ? kEndless : items);
          complete = false;
        }
        break;
      }
      case Major::kTag:
        complete = false;
        break;
      default:
        break;
    }
    for (; !open.empty() && (complete || open.back() == kEndless);) {
      if (open.back() == kEndless) {
        if (!TakeBreak()) break;
      } else if (--open.back() > 0) {
        break;
      }
      open.pop_back();
      complete = true;
    }
    if (open.empty() && complete) return;
    if (!Take(next)) return;
  }
}

void Cursor::SkipItem() {
  Head head;
  if (Take(head)) SkipContent(head);
}

double FloatOf(const Head& head) {
  if (head.major != Major::kPrimitive) return 0;
  switch (head.info) {
    case kTwoBytes:
      return FromHalf(static_cast<std::uint16_t>(head.argument));
    case kFourBytes:
      return std::bit_cast<float>(static_cast<std::uint32_t>(head.argument));
    case kEightBytes:
      return std::bit_cast<double>(head.argument);
    default:
      return 0;
  }
}

}  // namespace portcullis::cbor
