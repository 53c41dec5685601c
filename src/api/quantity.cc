// SPDX-License-Identifier: Apache-2.0

// Kubernetes keeps a quantity as an int64 with a decimal scale while it can, and as a big decimal
// otherwise; which of the two paths parsing takes decides small things that clients see, such as
// whether "1.500" is printed again as it stands. Parse() below makes the same decisions; the amount
// itself is one integer with a decimal scale in both cases: of 128 bits, or digits where these are
// too few.
#include "api/quantity.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <utility>

#include "api/canonical_quantity.h"
#include "api/decimal_digits.h"
#include "base/strings.h"

namespace portcullis::api {
namespace {

__extension__ using Int128 = __int128;
using Format = Quantity::Format;

constexpr int kNano = -9;
constexpr std::int64_t kMaxInt64 = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMinInt64 = std::numeric_limits<std::int64_t>::min();
constexpr std::string_view kFormatWrong =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
constexpr std::string_view kSuffixWrong = "unable to parse quantity's suffix";
constexpr Int128 kMaxMantissa = (Int128{1} << 126) - 1 + (Int128{1} << 126);

struct Suffix {
  std::string_view text;
  int base;
  int exponent;
};
constexpr std::array<Suffix, 16> kSuffixes = {{{"", 10, 0},
                                               {"n", 10, -9},
                                               {"u", 10, -6},
                                               {"m", 10, -3},
                                               {"k", 10, 3},
                                               {"M", 10, 6},
                                               {"G", 10, 9},
                                               {"T", 10, 12},
                                               {"P", 10, 15},
                                               {"E", 10, 18},
                                               {"Ki", 2, 10},
                                               {"Mi", 2, 20},
                                               {"Gi", 2, 30},
                                               {"Ti", 2, 40},
                                               {"Pi", 2, 50},
                                               {"Ei", 2, 60}}};

constexpr std::size_t kFirstOfTwo = 10;
static_assert(kSuffixes[kFirstOfTwo].text == "Ki");

// Letters of suffixes and of exponents.
constexpr std::array<bool, 128> kIsLetter = [] {
  std::array<bool, 128> is{};
  for (const char c : std::string_view("eEinumkKMGTP")) is[static_cast<std::size_t>(c)] = true;
  return is;
}();

bool IsLetter(char c) {
  const auto at = static_cast<unsigned char>(c);
  return at < kIsLetter.size() && kIsLetter[at];
}

std::string_view SuffixFor(int base, int exponent) {
  for (const Suffix& suffix : kSuffixes) {
    if (suffix.base == base && suffix.exponent == exponent) return suffix.text;
  }
  return "";  // as Go, which has no suffix beyond E and prints none
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::size_t SkipDigits(std::string_view text, std::size_t at) {
  while (at < text.size() && IsDigit(text[at])) ++at;
  return at;
}

struct Parts {
  bool negative = false;
  std::string_view number;    // without leading zeros; "0" if nothing is left
  std::string_view fraction;  // what follows the point
  std::string_view suffix;
};

std::optional<Parts> Split(std::string_view text) {
  Parts parts;
  std::size_t at = 0;
  if (text[0] == '-' || text[0] == '+') {
    parts.negative = text[0] == '-';
    at = 1;
  }
  while (at < text.size() && text[at] == '0') ++at;
  if (at == text.size()) {
    parts.number = "0";
    return parts;
  }
  std::size_t end = SkipDigits(text, at);
  parts.number = end == at ? std::string_view("0") : text.substr(at, end - at);
  if (end < text.size() && text[end] == '.') {
    at = end + 1;
    end = SkipDigits(text, at);
    parts.fraction = text.substr(at, end - at);
  }
  const std::size_t suffix = end;
  while (end < text.size() && IsLetter(text[end])) ++end;
  if (end < text.size() && (text[end] == '-' || text[end] == '+')) ++end;
  end = SkipDigits(text, end);
  if (end != text.size()) return std::nullopt;
  parts.suffix = text.substr(suffix);
  return parts;
}

struct Scaling {
  int base = 10;
  int exponent = 0;
  Format format = Format::kDecimalSi;
};

std::optional<Scaling> Interpret(std::string_view suffix) {
  if (suffix.empty()) return Scaling{};
  const bool two = suffix.size() == 2;
  if (suffix.size() == 1 || (two && suffix[1] == 'i')) {
    // Those of two letters are the last ones.
    for (std::size_t i = two ? kFirstOfTwo : 1; i < (two ? kSuffixes.size() : kFirstOfTwo); ++i) {
      const Suffix& known = kSuffixes[i];
      if (known.text.front() != suffix.front()) continue;
      return Scaling{known.base, known.exponent,
                     known.base == 2 ? Format::kBinarySi : Format::kDecimalSi};
    }
  }
  if (suffix.size() < 2 || (suffix[0] != 'e' && suffix[0] != 'E')) return std::nullopt;
  std::string_view digits = suffix.substr(1);
  if (digits[0] == '+') digits.remove_prefix(1);
  if (digits.empty() || digits[0] == '+') return std::nullopt;
  const auto exponent = base::ParseInt(digits);
  if (!exponent) return std::nullopt;
  // Beyond this the amounts mean nothing; Go would wrap around at 32 bits.
  constexpr std::int64_t kMaxExponent = 1'000'000;
  return Scaling{10, static_cast<int>(std::clamp(*exponent, -kMaxExponent, kMaxExponent)),
                 Format::kDecimalExponent};
}

Int128 Magnitude(Int128 value) { return value < 0 ? -value : value; }

std::string Digits(Int128 value) {
  if (value >= kMinInt64 && value <= kMaxInt64) {
    return std::to_string(static_cast<std::int64_t>(value));
  }
  std::string text;
  for (Int128 rest = Magnitude(value); rest != 0; rest /= 10) {
    text += static_cast<char>('0' + static_cast<int>(rest % 10));
  }
  if (value < 0) text += '-';
  std::reverse(text.begin(), text.end());
  return text;
}

// Multiplies by 10^power if the result fits.
std::optional<Int128> Raise(Int128 value, int power) {
  for (; power > 0 && value != 0; --power) {
    if (Magnitude(value) > kMaxMantissa / 10) return std::nullopt;
    value *= 10;
  }
  return value;
}

// Divides by 10^power, rounding away from zero; sets `exact` to false if that was needed.
Int128 LowerRoundingUp(Int128 value, int power, bool& exact) {
  bool lost = false;
  for (; power > 0 && value != 0; --power) {
    lost = lost || value % 10 != 0;
    const int sign = value < 0 ? -1 : 1;
    value /= 10;
    if (value == 0 && lost) {
      exact = false;
      return sign;
    }
    if (lost && power == 1) value += sign;
  }
  exact = exact && !lost;
  return value;
}

// Of two amounts that are not zero, without their signs.
int CompareMagnitudes(std::string_view a, int a_scale, std::string_view b, int b_scale) {
  const auto a_length = static_cast<std::int64_t>(a.size()) + a_scale;
  const auto b_length = static_cast<std::int64_t>(b.size()) + b_scale;
  if (a_length != b_length) return a_length < b_length ? -1 : 1;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const char x = i < a.size() ? a[i] : '0';
    const char y = i < b.size() ? b[i] : '0';
    if (x != y) return x < y ? -1 : 1;
  }
  return 0;
}

int Compare(Int128 left, int left_scale, Int128 right, int right_scale) {
  const auto sign = [](Int128 v) { return v < 0 ? -1 : v > 0 ? 1 : 0; };
  if (sign(left) != sign(right)) return sign(left) < sign(right) ? -1 : 1;
  if (left == 0) return 0;
  const auto raised = left_scale < right_scale ? Raise(right, right_scale - left_scale)
                                               : Raise(left, left_scale - right_scale);
  if (raised) {
    const Int128 rest = left_scale < right_scale ? left - *raised : *raised - right;
    return sign(rest);
  }
  const int order =
      CompareMagnitudes(Digits(Magnitude(left)), left_scale, Digits(Magnitude(right)), right_scale);
  return left > 0 ? order : -order;
}

std::string Zeros(int count) {
  return std::string(static_cast<std::size_t>(std::max(count, 0)), '0');
}

// How many decimal digits Go's fast path has left for this number; negative sends it to big
// decimals.
int FastPathPrecision(const Parts& parts, const Scaling& scaling) {
  const int digits = static_cast<int>(parts.number.size());
  const int places = static_cast<int>(parts.fraction.size());
  if (scaling.format != Format::kBinarySi) return 18 - digits - places;
  if (places > 0) return -1;
  return 15 - digits - scaling.exponent * 3 / 10 - 1;
}

std::int64_t SmallNumber(std::string_view digits) {
  std::int64_t value = 0;
  for (const char c : digits) value = value * 10 + (c - '0');
  return value;
}

}  // namespace

Quantity Quantity::FromInt(std::int64_t value, Format format) {
  Quantity quantity;
  quantity.value_ = value;
  quantity.format_ = format;
  return quantity;
}

Quantity Quantity::FromMilli(std::int64_t milli, Format format) {
  Quantity quantity = FromInt(milli, format);
  quantity.scale_ = -3;
  return quantity;
}

bool IsCanonicalQuantity(std::string_view text) {
  // Parse() keeps so many digits as they are, with every suffix but the largest.
  constexpr std::size_t kFew = 9;
  const std::size_t end = SkipDigits(text, 0);
  if (end == 0 || end > kFew || text[0] == '0') return false;
  const std::string_view digits = text.substr(0, end);
  const auto scaling = Interpret(text.substr(end));
  if (!scaling || scaling->format == Format::kDecimalExponent) return false;
  if (scaling->format == Format::kDecimalSi) return !digits.ends_with("000");
  return FastPathPrecision({.number = digits}, *scaling) >= 0 && SmallNumber(digits) % 1024 != 0;
}

base::Result<Quantity> Quantity::Parse(std::string_view text) {
  text = base::Trim(text);
  if (text.empty()) return base::BadRequest(std::string(kFormatWrong));
  const auto parts = Split(text);
  if (!parts) return base::BadRequest(std::string(kFormatWrong));
  const auto scaling = Interpret(parts->suffix);
  if (!scaling) return base::BadRequest(std::string(kSuffixWrong));

  const bool binary = scaling->format == Format::kBinarySi;
  const int scale = (binary ? 0 : scaling->exponent) - static_cast<int>(parts->fraction.size());
  if (FastPathPrecision(*parts, *scaling) >= 0 && scale >= kNano) {
    std::string joined;
    if (!parts->fraction.empty()) joined = base::StrCat(parts->number, parts->fraction);
    const std::string_view digits = parts->fraction.empty() ? parts->number : joined;
    const std::int64_t number = SmallNumber(digits);
    base::Result<Quantity> parsed =
        Quantity();  // returned as it is: moving a Quantity is not cheap
    Quantity& quantity = *parsed;
    quantity.format_ = scaling->format;
    quantity.scale_ = scale;
    quantity.value_ = number;
    if (binary) quantity.value_ <<= scaling->exponent;
    if (parts->negative) quantity.value_ = -quantity.value_;
    const bool kept =
        binary ? (number & 7) != 0 : scale % 3 == 0 && !digits.ends_with("000") && digits[0] != '0';
    if (kept || text == "0") quantity.text_ = text;
    return parsed;
  }
  return FromSlowPath(parts->number, parts->fraction, parts->negative, scaling->base,
                      scaling->exponent, scaling->format);
}

Quantity Quantity::FromSlowPath(std::string_view digits, std::string_view fraction, bool negative,
                                int base, int exponent, Format format) {
  std::string amount = base::StrCat(digits, fraction);
  amount.erase(0, std::min(amount.find_first_not_of('0'), amount.size()));
  if (amount.empty()) amount = "0";
  int scale = -static_cast<int>(fraction.size());
  if (base == 10) {
    scale += exponent;
  } else {
    for (int left = exponent; left > 0; left -= 10) amount = MultiplyDigits(amount, 1024);
  }
  if (scale < kNano) {
    bool exact = true;
    amount = LowerDigits(amount, kNano - scale, exact);
    scale = kNano;
  }
  Form form = amount == "0" ? Form::kBig : Form::kBigNano;
  if (format == Format::kBinarySi && amount != "0") {
    if (CompareMagnitudes(amount, scale, Digits(kMaxInt64), 0) > 0) {
      amount = Digits(kMaxInt64);
      scale = 0;
      form = Form::kBig;
    }
    if (CompareMagnitudes(amount, scale, "1", 0) < 0) format = Format::kDecimalSi;
  }
  Quantity quantity;
  quantity.SetMagnitude(std::move(amount), negative);
  quantity.scale_ = scale;
  quantity.form_ = form;
  quantity.format_ = format;
  return quantity;
}

std::string Quantity::Magnitude() const {
  return wide_.empty() ? Digits(api::Magnitude(value_)) : wide_;
}

void Quantity::SetMagnitude(std::string digits, bool negative) {
  constexpr std::size_t kAlwaysFits = 38;
  wide_.clear();
  value_ = 0;
  if (digits.size() > kAlwaysFits) {
    wide_ = std::move(digits);
    value_ = 1;
  } else {
    for (const char c : digits) value_ = value_ * 10 + (c - '0');
  }
  if (negative) value_ = -value_;
}

std::string Quantity::InUnits(int unit, bool& exact) const {
  if (scale_ < unit) return LowerDigits(Magnitude(), unit - scale_, exact);
  return Magnitude() + Zeros(scale_ - unit);
}

std::int64_t Quantity::InUnits(int unit) const {
  const std::int64_t limit = value_ < 0 ? kMinInt64 : kMaxInt64;
  bool exact = true;
  if (wide_.empty()) {
    const auto amount = scale_ < unit
                            ? std::optional<Int128>(LowerRoundingUp(value_, unit - scale_, exact))
                            : Raise(value_, scale_ - unit);
    if (!amount) return limit;
    return static_cast<std::int64_t>(std::clamp<Int128>(*amount, kMinInt64, kMaxInt64));
  }
  constexpr int kMostDigits = 19;
  if (static_cast<std::int64_t>(wide_.size()) + scale_ - unit > kMostDigits) return limit;
  Int128 amount = 0;
  for (const char c : InUnits(unit, exact)) amount = amount * 10 + (c - '0');
  if (value_ < 0) amount = -amount;
  return static_cast<std::int64_t>(std::clamp<Int128>(amount, kMinInt64, kMaxInt64));
}

std::string Quantity::DecimalText(Format format) const {
  std::string amount = Magnitude();
  int exponent = scale_;
  while (amount.ends_with('0')) {
    amount.pop_back();
    ++exponent;
  }
  std::string text = (value_ < 0 ? "-" : "") + amount;
  for (; exponent % 3 != 0; --exponent) text += '0';
  if (format == Format::kDecimalSi) {
    text += SuffixFor(10, exponent);
  } else if (exponent != 0) {
    text += "e" + std::to_string(exponent);
  }
  return text;
}

std::string Quantity::BinaryText() const {
  constexpr int kMostZeros = 4096;
  std::string amount;
  int exponent = 0;
  if (wide_.empty() && scale_ == 0) {
    Int128 left = api::Magnitude(value_);
    for (; left % 1024 == 0; exponent += 10) left /= 1024;
    amount = Digits(left);
  } else {
    bool exact = true;
    amount = scale_ > kMostZeros ? Magnitude() : InUnits(0, exact);
    for (std::uint32_t rest = 0;; exponent += 10) {
      std::string divided = DivideDigits(amount, 1024, rest);
      if (rest != 0) break;
      amount = std::move(divided);
    }
  }
  std::string text = (value_ < 0 ? "-" : "") + amount;
  text += SuffixFor(exponent == 0 ? 10 : 2, exponent);
  return text;
}

std::string Quantity::ToString() const {
  if (!text_.empty()) return text_;
  if (value_ == 0) return "0";
  if (format_ != Format::kBinarySi) return DecimalText(format_);
  const bool small = CompareMagnitudes(Magnitude(), scale_, "1024", 0) < 0;
  return small || !IsMultipleOf(0) ? DecimalText(Format::kDecimalSi) : BinaryText();
}

std::int64_t Quantity::Value() const { return InUnits(0); }

std::int64_t Quantity::MilliValue() const { return InUnits(-3); }

bool Quantity::IsMultipleOf(int unit) const {
  bool exact = true;
  if (scale_ < unit && wide_.empty()) LowerRoundingUp(value_, unit - scale_, exact);
  if (scale_ < unit && !wide_.empty()) LowerDigits(wide_, unit - scale_, exact);
  return exact;
}

bool Quantity::IsMilli() const { return IsMultipleOf(-3); }

Quantity Quantity::RoundedToMilli() const {
  if (IsMilli()) return *this;
  Quantity rounded = *this;
  bool exact = true;
  rounded.SetMagnitude(InUnits(-3, exact), value_ < 0);
  rounded.scale_ = -3;
  rounded.text_.clear();
  return rounded;
}

bool Quantity::IsInteger() const {
  if (!IsMultipleOf(0)) return false;
  if (value_ == 0) return true;
  const std::string limit = Digits(value_ < 0 ? Int128{kMaxInt64} + 1 : Int128{kMaxInt64});
  return CompareMagnitudes(Magnitude(), scale_, limit, 0) <= 0;
}

double Quantity::AsDouble() const {
  const auto base =
      wide_.empty() ? static_cast<double>(value_) : std::strtod(wide_.c_str(), nullptr) * Sign();
  if (scale_ == 0) return base;
  return scale_ < 0 ? base / std::pow(10.0, -scale_) : base * std::pow(10.0, scale_);
}

std::optional<std::int64_t> Quantity::AsInt64() const {
  if (form_ != Form::kInt64 || scale_ < 0) return std::nullopt;
  const auto amount = Raise(value_, scale_);
  if (!amount || *amount < kMinInt64 || *amount > kMaxInt64) return std::nullopt;
  return static_cast<std::int64_t>(*amount);
}

double Quantity::AsApproximateFloat64() const {
  const int scale = form_ == Form::kBigNano ? std::min(scale_, kNano) : scale_;
  const double whole =
      std::strtod(base::StrCat(Magnitude(), "e", std::to_string(scale_ - scale)).c_str(), nullptr);
  const double amount = Sign() < 0 ? -whole : whole;
  if (scale == 0) return amount;
  return amount * std::strtod(base::StrCat("1e", std::to_string(scale)).c_str(), nullptr);
}

void Quantity::Add(const Quantity& other) {
  const Form form = std::max(form_, other.form_);
  const bool sums = value_ != 0 && other.value_ != 0;
  const int finest = std::min(scale_, other.scale_);
  const int scales[] = {scale_, other.scale_};
  const Int128 values[] = {value_, other.value_};
  AddAmount(other);
  form_ = form;
  if (form != Form::kInt64 || !sums) return;
  // An int64 overflows: each amount in the finer of the two scales, and their sum.
  const auto fits = [](Int128 value) { return value >= kMinInt64 && value <= kMaxInt64; };
  for (int i = 0; i < 2; ++i) {
    const auto raised = Raise(values[i], scales[i] - finest);
    if (!raised || !fits(*raised)) form_ = Form::kBig;
  }
  if (!wide_.empty() || !fits(value_)) form_ = Form::kBig;
}

void Quantity::AddAmount(const Quantity& other) {
  text_.clear();
  if (value_ == 0) {
    value_ = other.value_;
    wide_ = other.wide_;
    scale_ = other.scale_;
    format_ = other.format_;
    return;
  }
  if (other.value_ == 0) return;
  if (!wide_.empty() || !other.wide_.empty()) return AddWide(other);
  const bool other_is_finer = other.scale_ < scale_;
  const Quantity& coarse = other_is_finer ? *this : other;
  const Quantity& fine = other_is_finer ? other : *this;
  const auto raised = Raise(coarse.value_, coarse.scale_ - fine.scale_);
  Int128 sum = 0;
  if (!raised || __builtin_add_overflow(*raised, fine.value_, &sum)) return AddWide(other);
  scale_ = fine.scale_;
  value_ = sum;
}

void Quantity::AddWide(const Quantity& other) {
  constexpr int kMostZeros = 4096;
  const bool other_is_finer = other.scale_ < scale_;
  const Quantity coarse = other_is_finer ? *this : other;
  const Quantity fine = other_is_finer ? other : *this;
  if (coarse.scale_ - fine.scale_ > kMostZeros) {
    // The finer amount lies below the digits that are told apart.
    value_ = coarse.value_;
    wide_ = coarse.wide_;
    scale_ = coarse.scale_;
    return;
  }
  const std::string left = coarse.Magnitude() + Zeros(coarse.scale_ - fine.scale_);
  const std::string right = fine.Magnitude();
  scale_ = fine.scale_;
  if ((coarse.value_ < 0) == (fine.value_ < 0)) {
    SetMagnitude(AddDigits(left, right), coarse.value_ < 0);
  } else if (CompareDigits(left, right) >= 0) {
    SetMagnitude(SubtractDigits(left, right), coarse.value_ < 0);
  } else {
    SetMagnitude(SubtractDigits(right, left), fine.value_ < 0);
  }
}

bool Quantity::Negates(const Quantity& other) const {
  if (form_ != Form::kInt64 || other.form_ != Form::kInt64) return true;
  if (other.value_ != kMinInt64 || value_ < 0) return true;
  if (value_ == 0) return false;
  const auto raised = Raise(value_, scale_ - other.scale_);
  return scale_ < other.scale_ || !raised || *raised > kMaxInt64;
}

void Quantity::Sub(const Quantity& other) {
  Quantity negated = other;
  if (Negates(other)) negated.Negate();
  Add(negated);
}

void Quantity::Negate() {
  text_.clear();
  value_ = -value_;
}

std::strong_ordering Quantity::operator<=>(const Quantity& other) const {
  if (wide_.empty() && other.wide_.empty()) {
    return Compare(value_, scale_, other.value_, other.scale_) <=> 0;
  }
  if (Sign() != other.Sign()) return Sign() <=> other.Sign();
  const int order = CompareMagnitudes(Magnitude(), scale_, other.Magnitude(), other.scale_);
  return (Sign() < 0 ? -order : order) <=> 0;
}

}  // namespace portcullis::api
