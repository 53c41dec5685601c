// SPDX-License-Identifier: Apache-2.0

// Quantity: the amounts of Kubernetes ("100m", "1.5Gi", "2e3"), exact to a billionth, with the
// canonical form that k8s.io/apimachinery resource.Quantity prints. Value type. Amounts that differ
// by a factor of more than 10^4096 are not told apart when they are added.
//
//   api::Quantity limit = TRY(api::Quantity::Parse("1500m"));
//   limit.ToString();                                        // "1500m"
//   limit.Add(TRY(api::Quantity::Parse("0.5")));             // 2
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace portcullis::api {

class Quantity {
 public:
  enum class Format : std::uint8_t { kDecimalSi, kBinarySi, kDecimalExponent };

  Quantity() = default;  // 0, DecimalSI
  static Quantity FromInt(std::int64_t value, Format format = Format::kDecimalSi);
  static Quantity FromMilli(std::int64_t milli, Format format = Format::kDecimalSi);

  // Error texts as in Go: "quantities must match the regular expression
  // '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'", "unable to parse quantity's suffix", …
  static base::Result<Quantity> Parse(std::string_view text);

  // The canonical form: no fraction, the largest suffix that keeps it whole.
  std::string ToString() const;

  Format format() const { return format_; }
  bool is_zero() const { return value_ == 0; }
  int Sign() const { return value_ < 0 ? -1 : value_ > 0 ? 1 : 0; }
  // Rounded up (away from zero) to whole units or thousandths; saturates at int64.
  std::int64_t Value() const;
  std::int64_t MilliValue() const;
  // No finer than a thousandth; RoundedToMilli() makes it so, away from zero.
  bool IsMilli() const;
  Quantity RoundedToMilli() const;
  bool IsInteger() const;  // no fraction and fits int64
  double AsDouble() const;
  // As the methods of these names in k8s.io/apimachinery, which CEL shows: nothing where Go keeps the
  // amount as a big decimal or in fractions of one ("1.0", "1000m"), whole or not; and with the rounding
  // of a multiplication by a power of ten.
  std::optional<std::int64_t> AsInt64() const;
  double AsApproximateFloat64() const;

  // The format of the result is the receiver's, or the operand's if the receiver is zero (as Go).
  void Add(const Quantity& other);
  void Sub(const Quantity& other);
  void Negate();

  std::strong_ordering operator<=>(const Quantity& other) const;
  bool operator==(const Quantity& other) const { return (*this <=> other) == 0; }

 private:
  __extension__ using Int128 = __int128;
  // How Go keeps the amount: as an int64, or as a big decimal, which parsing brings to billionths.
  enum class Form : std::uint8_t { kInt64, kBig, kBigNano };
  static Quantity FromSlowPath(std::string_view digits, std::string_view fraction, bool negative,
                               int base, int exponent, Format format);
  std::string Magnitude() const;
  void SetMagnitude(std::string digits, bool negative);
  // In units of 10^unit, rounded away from zero.
  std::string InUnits(int unit, bool& exact) const;
  std::int64_t InUnits(int unit) const;
  bool IsMultipleOf(int unit) const;  // of 10^unit
  // Whether Sub negates `other`: Go's smallest int64 stays what it is, unless the sum is seen to overflow.
  bool Negates(const Quantity& other) const;
  void AddAmount(const Quantity& other);
  void AddWide(const Quantity& other);
  std::string BinaryText() const;
  std::string DecimalText(Format format) const;

  Int128 value_ = 0;  // the amount is value_ × 10^scale_
  std::string wide_;  // digits of an amount for which 128 bits are too few; value_ is its sign then
  int scale_ = 0;
  Form form_ = Form::kInt64;
  Format format_ = Format::kDecimalSi;
  std::string text_;  // as parsed, if Go would print that again; else ""
};

}  // namespace portcullis::api
