// SPDX-License-Identifier: Apache-2.0

#include "cbor/diagnose.h"

#include <gtest/gtest.h>

#include "cbor/testing/hex.h"

namespace portcullis::cbor {
namespace {

using testing::Bytes;

struct Row {
  std::string_view hex;
  std::string_view notation;
};

// Most of them are what a kube-apiserver 1.36 quotes.
TEST(DiagnoseTest, ShowsItemsAsKubernetesQuotesThem) {
  const Row rows[] = {
      {"d9d9f7a0", "55799({})"},
      {"a2446b696e6405446b696e64f6", "{'kind': 5, 'kind': null}"},
      {"880121fb3ff8000000000000f5f6fb4000000000000000fb7e37e43c8800759c80",
       "[1, -2, 1.5, true, null, 2.0, 1.0e+300, []]"},
      {"430001ff", "h'0001ff'"},
      {"40", "h''"},
      {"48c3a9225c0ae280a8", R"('\u00e9"\\\n\u2028')"},
      {"4127", R"('\'')"},
      {"64f09f9880", R"("\ud83d\ude00")"},
      {"c074323032362d30312d30325430333a30343a30355a", R"(0("2026-01-02T03:04:05Z"))"},
      {"9f0102ff", "[_ 1, 2]"},
      {"9fff", "[_ ]"},
      {"bf616101ff", R"({_ "a": 1})"},
      {"7f61616162ff", R"((_ "a", "b"))"},
      {"7fff", R"(""_)"},
      {"f93e00", "1.5"},
      {"f97e00", "NaN"},
      {"f9fc00", "-Infinity"},
      {"fa3fc00000", "1.5"},
      {"f7", "undefined"},
      {"f8ff", "simple(255)"},
      {"1bffffffffffffffff", "18446744073709551615"},
      {"3bffffffffffffffff", "-18446744073709551616"},
      {"82a1018102c103", "[{1: [2]}, 1(3)]"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(Diagnose(Bytes(row.hex)), row.notation) << row.hex;
  }
}

TEST(DiagnoseTest, NestingDoesNotRecurse) {
  const std::string deep(100000, '\x81');
  EXPECT_EQ(Diagnose(deep + '\x01').size(), 200001U);
}

}  // namespace
}  // namespace portcullis::cbor
