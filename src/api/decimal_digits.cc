// SPDX-License-Identifier: Apache-2.0

#include "api/decimal_digits.h"

#include <algorithm>

namespace portcullis::api {
namespace {

// The digit that stands `place` from the end, 0 in front of the number.
int DigitAt(std::string_view digits, std::size_t place) {
  return place < digits.size() ? digits[digits.size() - 1 - place] - '0' : 0;
}

char Letter(int digit) { return static_cast<char>('0' + digit); }

// From the last digit to the first, into the form of the header.
std::string FromReversed(std::string text) {
  while (text.size() > 1 && text.back() == '0') text.pop_back();
  std::reverse(text.begin(), text.end());
  return text.empty() ? "0" : text;
}

}  // namespace

int CompareDigits(std::string_view left, std::string_view right) {
  if (left.size() != right.size()) return left.size() < right.size() ? -1 : 1;
  const int order = left.compare(right);
  return order < 0 ? -1 : order > 0 ? 1 : 0;
}

std::string AddDigits(std::string_view left, std::string_view right) {
  std::string out;
  int carry = 0;
  for (std::size_t i = 0; i < std::max(left.size(), right.size()) || carry > 0; ++i) {
    const int sum = DigitAt(left, i) + DigitAt(right, i) + carry;
    out += Letter(sum % 10);
    carry = sum / 10;
  }
  return FromReversed(std::move(out));
}

std::string SubtractDigits(std::string_view left, std::string_view right) {
  std::string out;
  int borrow = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const int difference = DigitAt(left, i) - DigitAt(right, i) - borrow;
    borrow = difference < 0 ? 1 : 0;
    out += Letter(difference + 10 * borrow);
  }
  return FromReversed(std::move(out));
}

std::string MultiplyDigits(std::string_view digits, std::uint32_t factor) {
  std::string out;
  std::uint64_t carry = 0;
  for (std::size_t i = 0; i < digits.size() || carry > 0; ++i) {
    const std::uint64_t product = static_cast<std::uint64_t>(DigitAt(digits, i)) * factor + carry;
    out += Letter(static_cast<int>(product % 10));
    carry = product / 10;
  }
  return FromReversed(std::move(out));
}

std::string DivideDigits(std::string_view digits, std::uint32_t divisor, std::uint32_t& rest) {
  std::string out;
  std::uint64_t left = 0;
  for (const char c : digits) {
    left = left * 10 + static_cast<std::uint64_t>(c - '0');
    out += Letter(static_cast<int>(left / divisor));
    left %= divisor;
  }
  rest = static_cast<std::uint32_t>(left);
  const auto first = out.find_first_not_of('0');
  return first == std::string::npos ? "0" : out.substr(first);
}

std::string LowerDigits(std::string_view digits, int places, bool& exact) {
  if (places <= 0) return std::string(digits);
  const std::size_t dropped = std::min(digits.size(), static_cast<std::size_t>(places));
  const std::string_view tail = digits.substr(digits.size() - dropped);
  const std::string_view kept = digits.substr(0, digits.size() - dropped);
  const std::string whole(kept.empty() ? std::string_view("0") : kept);
  if (tail.find_first_not_of('0') == std::string_view::npos) return whole;
  exact = false;
  return AddDigits(whole, "1");
}

}  // namespace portcullis::api
