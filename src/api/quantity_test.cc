// SPDX-License-Identifier: Apache-2.0

#include "api/quantity.h"

#include <gtest/gtest.h>

#include <limits>
#include <utility>
#include <vector>

#include "api/canonical_quantity.h"
#include "api/testing/slow_decimal.h"

namespace portcullis::api {
namespace {

using testing::SlowDecimal;

struct Case {
  const char* input;
  const char* canonical;
};

// Exponents that would take gigabytes if they were written out.
TEST(QuantityTest, HugeExponentsCostNothing) {
  for (const std::string text : {"1e1000000000", "1e-1000000000", "9e999999999999", "1E2147483648",
                                 "123456789e2147483647", "0e1000000000"}) {
    const auto quantity = Quantity::Parse(text);
    EXPECT_LT(quantity.ok() ? quantity->ToString().size() : 0U, 100U) << text;
  }
}

TEST(QuantityTest, PrintsWhatKubernetesPrints) {
  const Case cases[] = {
      {"0", "0"},
      {"0m", "0"},
      {"1", "1"},
      {"1000", "1k"},
      {"1000m", "1"},
      {"1500m", "1500m"},
      {"1.5", "1500m"},
      {"0.5", "500m"},
      {"100m", "100m"},
      {"1024Ki", "1Mi"},
      {"1.5Gi", "1536Mi"},
      {"1023Ki", "1023Ki"},
      {"0.5Ki", "512"},
      {"1Ki", "1Ki"},
      {"1e3", "1e3"},
      {"1E3", "1E3"},
      {"12e6", "12e6"},
      {"1.2e6", "1200e3"},
      {"1.500", "1.500"},
      {"1.0", "1"},
      {"+5", "+5"},
      {"-100m", "-100m"},
      {"1u", "1u"},
      {"0.1n", "1n"},
      {"1000000", "1M"},
      {"2000Mi", "2000Mi"},
      {".5", "500m"},
      {"5.", "5."},
      {"1000000000", "1G"},
      {"0.001", "1m"},
      {"10Ei", "9223372036854775807"},
  };
  for (const Case& c : cases) {
    const auto quantity = Quantity::Parse(c.input);
    ASSERT_TRUE(quantity.ok()) << c.input;
    EXPECT_EQ(quantity->ToString(), c.canonical) << c.input;
  }
}

TEST(QuantityTest, KnowsCanonicalTextsAtAGlance) {
  for (const std::string text : {"1", "10", "100m", "1500m", "64Mi", "1Gi", "7E", "1023Ki"}) {
    EXPECT_TRUE(IsCanonicalQuantity(text)) << text;
  }
  for (const std::string number :
       {"", "0", "1", "8", "01", "10", "1000", "1024", "1500", "2048", "64000", "999999999",
        "1000000000", "123456789012345678", "-1", "+1", "1.5", " 1"}) {
    for (const std::string suffix :
         {"",   "n",  "u",  "m",  "k",  "M",  "G",  "T", "P",  "E", "Ki",
          "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E3", "i", "mi", "K", "m "}) {
      const std::string text = number + suffix;
      if (!IsCanonicalQuantity(text)) continue;
      const auto parsed = Quantity::Parse(text);
      EXPECT_TRUE(parsed.ok() && parsed->ToString() == text) << text;
    }
  }
}

TEST(QuantityTest, RefusesWithGosTexts) {
  const std::string shape =
      "quantities must match the regular expression "
      "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
  EXPECT_EQ(Quantity::Parse("").status().message(), shape);
  EXPECT_EQ(Quantity::Parse("lots").status().message(), shape);
  EXPECT_EQ(Quantity::Parse("1 ").value().ToString(), "1");
  EXPECT_EQ(Quantity::Parse("1Kx").status().message(), shape);
  EXPECT_EQ(Quantity::Parse("1KK").status().message(), "unable to parse quantity's suffix");
  for (const char* text : {"1e", "1i", "1ei", "1mi", "1ui", "1MM", "1Mii"}) {
    EXPECT_EQ(Quantity::Parse(text).status().message(), "unable to parse quantity's suffix")
        << text;
  }
}

TEST(QuantityTest, RoundsWholeValuesUp) {
  EXPECT_EQ(Quantity::Parse("1100m")->Value(), 2);
  EXPECT_EQ(Quantity::Parse("-1100m")->Value(), -2);
  EXPECT_EQ(Quantity::Parse("1n")->MilliValue(), 1);
  EXPECT_EQ(Quantity::Parse("1.5")->MilliValue(), 1500);
  EXPECT_EQ(Quantity::Parse("1e30")->Value(), std::numeric_limits<std::int64_t>::max());
  EXPECT_FALSE(Quantity::Parse("1500m")->IsInteger());
  EXPECT_TRUE(Quantity::Parse("1.5k")->IsInteger());
}

// Asked of a kube-apiserver 1.36 by isInteger() and asApproximateFloat() of CEL.
TEST(QuantityTest, TellsIntegersAndDoublesAsGoKeepsThem) {
  for (const char* text : {"1.0", "1000m", "0.5Ki", "500m", "12345678901234567890"}) {
    EXPECT_EQ(Quantity::Parse(text)->AsInt64(), std::nullopt) << text;
  }
  EXPECT_EQ(Quantity::Parse("1k")->AsInt64(), 1000);
  EXPECT_EQ(Quantity::Parse("1e3")->AsInt64(), 1000);
  EXPECT_EQ(Quantity::Parse("9223372036854775807")->AsInt64(), std::nullopt);
  Quantity sum = *Quantity::Parse("1k");
  sum.Add(*Quantity::Parse("1"));
  EXPECT_EQ(sum.AsInt64(), 1001);
  sum.Sub(*Quantity::Parse("1000m"));
  EXPECT_EQ(sum.AsInt64(), std::nullopt);  // thousandths now, though whole
  Quantity big = Quantity::FromInt(std::numeric_limits<std::int64_t>::max());
  big.Add(Quantity::FromInt(1));
  big.Sub(Quantity::FromInt(1));
  EXPECT_EQ(big.AsInt64(), std::nullopt);
  EXPECT_EQ(Quantity::Parse("12345678901234567890")->AsApproximateFloat64(), 1.234567890123457e19);
  EXPECT_EQ(Quantity::Parse("123456789.123456789")->AsApproximateFloat64(), 123456789.12345679);
  EXPECT_EQ(Quantity::Parse("-0.1")->AsApproximateFloat64(), -0.1);
}

TEST(QuantityTest, TheSmallestInt64StaysNegativeWhenItIsSubtracted) {
  const Quantity smallest = Quantity::FromInt(std::numeric_limits<std::int64_t>::min());
  const std::pair<const char*, double> kDifferences[] = {
      {"0", -9223372036854775808.0}, {"1", -9223372036854775807.0}, {"1k", -9223372036854774808.0}};
  for (const auto& [text, difference] : kDifferences) {
    Quantity quantity = *Quantity::Parse(text);
    quantity.Sub(smallest);
    EXPECT_EQ(quantity.AsApproximateFloat64(), difference) << text;
  }
  // Where the sum of two int64 is seen to overflow, it is that of larger numbers.
  for (const char* text : {"-1", "1500m"}) {
    Quantity quantity = *Quantity::Parse(text);
    quantity.Sub(smallest);
    EXPECT_GT(quantity.AsApproximateFloat64(), 9e18) << text;
  }
}

TEST(QuantityTest, AZeroTakesTheOtherFormat) {
  Quantity sum;
  sum.Add(*Quantity::Parse("1Gi"));
  sum.Add(*Quantity::Parse("1Gi"));
  EXPECT_EQ(sum.ToString(), "2Gi");
  sum.Sub(*Quantity::Parse("512Mi"));
  EXPECT_EQ(sum.ToString(), "1536Mi");
}

TEST(QuantityTest, ComparesFarBeyond64Bits) {
  EXPECT_LT(*Quantity::Parse("999999E"), *Quantity::Parse("1e30"));
  EXPECT_LT(*Quantity::Parse("-1e30"), *Quantity::Parse("1n"));
  EXPECT_EQ(*Quantity::Parse("1000E"), *Quantity::Parse("1e21"));
  EXPECT_LT(*Quantity::Parse("1e999999"), *Quantity::Parse("2e999999"));
}

TEST(QuantityTest, ComparesAmountsOfDifferentScales) {
  EXPECT_EQ(*Quantity::Parse("100m"), *Quantity::Parse("0.1"));
  EXPECT_EQ(*Quantity::Parse("-2"), *Quantity::Parse("-2000m"));
  EXPECT_LT(*Quantity::Parse("1999m"), *Quantity::Parse("2"));
  EXPECT_LT(*Quantity::Parse("-2"), *Quantity::Parse("-1999m"));
  EXPECT_LT(*Quantity::Parse("1k"), *Quantity::Parse("1Ki"));
  EXPECT_LT(*Quantity::Parse("1n"), *Quantity::Parse("9223372036854775807"));
}

TEST(QuantityTest, AmountsOfManyDigitsAreExact) {
  const std::string many = "123456789012345678901234567890123456789012345";
  EXPECT_EQ(Quantity::Parse(many)->ToString(), many);
  EXPECT_EQ(Quantity::Parse("-" + many + ".5")->ToString(), "-" + many + "500m");
  EXPECT_EQ(Quantity::Parse(many + "Ki")->ToString(), "9223372036854775807");
  EXPECT_EQ(Quantity::Parse("0." + many + "Ki")->ToString(), "126419751949n");
  Quantity sum = *Quantity::Parse("3e136");
  sum.Add(Quantity::FromInt(1));
  EXPECT_GT(sum, *Quantity::Parse("3e136"));
  EXPECT_EQ(sum.ToString(), "3" + std::string(135, '0') + "1");
  EXPECT_EQ(sum.Value(), 9223372036854775807);
  EXPECT_FALSE(sum.IsInteger());
  EXPECT_DOUBLE_EQ(sum.AsDouble(), 3e136);
  sum.Sub(*Quantity::Parse("3e136"));
  EXPECT_EQ(sum, Quantity::FromInt(1));
  EXPECT_EQ(sum.Value(), 1);
  sum.Sub(*Quantity::Parse(many));
  EXPECT_EQ(sum.Sign(), -1);
  EXPECT_EQ(sum.Value(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(sum.ToString(), "-123456789012345678901234567890123456789012344");
  sum.Negate();
  EXPECT_LT(sum, *Quantity::Parse(many));
}

// Every number with every suffix, alone and in pairs, against arithmetic on paper.
TEST(QuantityTest, AgreesWithArithmeticOnPaper) {
  struct Suffix {
    const char* text;
    int base;
    int exponent;
  };
  const Suffix suffixes[] = {{"", 10, 0},   {"n", 10, -9},  {"u", 10, -6}, {"m", 10, -3},
                             {"k", 10, 3},  {"G", 10, 9},   {"Ki", 2, 10}, {"Mi", 2, 20},
                             {"e2", 10, 2}, {"e-4", 10, -4}};
  const char* numbers[] = {"0",     "1",         "7",           "10",        "999",
                           "1000",  "1024",      "1.5",         "0.001",     "-3",
                           "-0.75", "123456789", "0.000000001", "1234.5678", "1801439850948"};
  std::vector<std::pair<Quantity, SlowDecimal>> all;
  for (const char* number : numbers) {
    for (const Suffix& suffix : suffixes) {
      const std::string text = std::string(number) + suffix.text;
      const auto quantity = Quantity::Parse(text);
      ASSERT_TRUE(quantity.ok()) << text;
      const auto again = Quantity::Parse(quantity->ToString());
      ASSERT_TRUE(again.ok()) << text << " prints " << quantity->ToString();
      EXPECT_EQ(*quantity, *again) << text << " prints " << quantity->ToString();
      all.emplace_back(*quantity, SlowDecimal::Of(number, suffix.base, suffix.exponent));
    }
  }
  for (const auto& [a, slow_a] : all) {
    for (const auto& [b, slow_b] : all) {
      const int order = a < b ? -1 : a == b ? 0 : 1;
      ASSERT_EQ(order, slow_a.Compare(slow_b)) << a.ToString() << " and " << b.ToString();
      Quantity sum = a;
      sum.Add(b);
      const SlowDecimal slow_sum = slow_a.Plus(slow_b);
      const int more = sum < a ? -1 : sum == a ? 0 : 1;
      ASSERT_EQ(more, slow_sum.Compare(slow_a)) << a.ToString() << " + " << b.ToString();
      sum.Sub(a);
      ASSERT_EQ(sum, b) << a.ToString() << " + " << b.ToString();
    }
  }
}

}  // namespace
}  // namespace portcullis::api
