// SPDX-License-Identifier: Apache-2.0

// The obvious way to calculate with quantities: decimal numbers as text, digit by digit. The
// reference that api/quantity_test.cc compares Quantity with.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace portcullis::api::testing {

// A number with nine digits after the point, as the digits of its billionths. Value type.
class SlowDecimal {
 public:
  // "-1.5" times base^exponent (base 2 or 10, exponent >= 0), or 10^exponent below zero.
  static SlowDecimal Of(std::string_view number, int base, int exponent) {
    SlowDecimal result;
    if (number.starts_with('-') || number.starts_with('+')) {
      result.negative_ = number[0] == '-';
      number.remove_prefix(1);
    }
    const std::size_t point = std::min(number.find('.'), number.size());
    result.digits_ = std::string(number.substr(0, point));
    std::string fraction(number.substr(std::min(point + 1, number.size())));
    int places = static_cast<int>(fraction.size());
    result.digits_ += fraction;
    for (; base == 10 && exponent < 0; ++exponent) ++places;
    for (; exponent > 0; --exponent) result.MultiplyBy(base);
    // Rounded up to billionths, away from zero.
    bool lost = false;
    for (; places > 9; --places) {
      if (result.digits_.empty()) result.digits_ = "0";
      lost = lost || result.digits_.back() != '0';
      result.digits_.pop_back();
    }
    for (; places < 9; ++places) result.digits_ += '0';
    if (lost) result.digits_ = AddDigits(result.digits_, "1");
    result.Trim();
    return result;
  }

  SlowDecimal Plus(const SlowDecimal& other) const {
    SlowDecimal result;
    if (negative_ == other.negative_) {
      result.digits_ = AddDigits(digits_, other.digits_);
      result.negative_ = negative_;
    } else if (CompareDigits(digits_, other.digits_) >= 0) {
      result.digits_ = SubtractDigits(digits_, other.digits_);
      result.negative_ = negative_;
    } else {
      result.digits_ = SubtractDigits(other.digits_, digits_);
      result.negative_ = other.negative_;
    }
    result.Trim();
    return result;
  }

  int Compare(const SlowDecimal& other) const {
    if (negative_ != other.negative_) return negative_ ? -1 : 1;
    const int magnitude = CompareDigits(digits_, other.digits_);
    return negative_ ? -magnitude : magnitude;
  }

 private:
  void Trim() {
    digits_.erase(0, digits_.find_first_not_of('0'));
    if (digits_.empty()) negative_ = false;
  }
  void MultiplyBy(int factor) {
    int carry = 0;
    for (auto digit = digits_.rbegin(); digit != digits_.rend(); ++digit) {
      const int value = (*digit - '0') * factor + carry;
      *digit = static_cast<char>('0' + value % 10);
      carry = value / 10;
    }
    if (carry > 0) digits_.insert(0, std::to_string(carry));
  }
  static std::string AddDigits(std::string a, std::string b) {
    const std::size_t size = std::max(a.size(), b.size()) + 1;
    a.insert(0, size - a.size(), '0');
    b.insert(0, size - b.size(), '0');
    int carry = 0;
    for (std::size_t i = size; i-- > 0;) {
      const int sum = (a[i] - '0') + (b[i] - '0') + carry;
      a[i] = static_cast<char>('0' + sum % 10);
      carry = sum / 10;
    }
    return a;
  }
  // REQUIRES: a >= b.
  static std::string SubtractDigits(std::string a, std::string b) {
    b.insert(0, a.size() - b.size(), '0');
    int borrow = 0;
    for (std::size_t i = a.size(); i-- > 0;) {
      int difference = (a[i] - '0') - (b[i] - '0') - borrow;
      borrow = difference < 0 ? 1 : 0;
      if (difference < 0) difference += 10;
      a[i] = static_cast<char>('0' + difference);
    }
    return a;
  }
  static int CompareDigits(const std::string& a, const std::string& b) {
    if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
    return a.compare(b) < 0 ? -1 : a == b ? 0 : 1;
  }

  std::string digits_;  // without leading zeros; "" is zero
  bool negative_ = false;
};

}  // namespace portcullis::api::testing
