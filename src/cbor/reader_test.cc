// SPDX-License-Identifier: Apache-2.0

#include "cbor/reader.h"

#include <gtest/gtest.h>

#include <string>

#include "cbor/item.h"
#include "cbor/testing/hex.h"
#include "json/writer.h"

namespace portcullis::cbor {
namespace {

using testing::Bytes;

// The JSON of the item, or the error.
std::string Read(std::string_view bytes) {
  json::Arena arena;
  const auto value = Parse(arena, bytes);
  return value.ok() ? json::ToString(*value) : value.status().message();
}

struct Case {
  std::string_view hex;
  std::string_view expected;
};

TEST(CborReader, ReadsItems) {
  constexpr Case kCases[] = {
      {"00", "0"},
      {"17", "23"},
      {"1818", "24"},
      {"1903e8", "1000"},
      {"1a000f4240", "1000000"},
      {"1b7fffffffffffffff", "9223372036854775807"},
      {"20", "-1"},
      {"3b7fffffffffffffff", "-9223372036854775808"},
      {"f4", "false"},
      {"f5", "true"},
      {"f6", "null"},
      {"f93e00", "1.5"},
      {"f90001", "5.960464477539063e-8"},
      {"f9fbff", "-65504"},
      {"fa47c35000", "100000"},
      {"fb3ff199999999999a", "1.1"},
      {"43 616263", R"("abc")"},
      {"63 616263", R"("abc")"},
      {"5f 4161 426263 ff", R"("abc")"},
      {"7f 6161 626263 ff", R"("abc")"},
      {"80", "[]"},
      {"83 01 02 8103", "[1,2,[3]]"},
      {"9f 01 9f02ff ff", "[1,[2]]"},
      {"a0", "{}"},
      {"a2 4161 01 6162 a14163f6", R"({"a":1,"b":{"c":null}})"},
      {"bf 4161 01 4162 80 ff", R"({"a":1,"b":[]})"},
      {"d9d9f7 a1 4161 01", R"({"a":1})"},
      {"d9d9f7 d9d9f7 01", "1"},
      // Tags: times, expected encodings (which hold for all within), and others.
      {"c0 74 323031332d30332d32315432303a30343a30305a", R"("2013-03-21T20:04:00Z")"},
      {"c1 1903e8", R"("1970-01-01T00:16:40Z")"},
      {"c1 f93e00", R"("1970-01-01T00:00:01.5Z")"},
      {"c1 f9be00", R"("1969-12-31T23:59:58.5Z")"},
      {"d5 44 fffefdfc", R"("__79_A")"},
      {"d6 44 fffefdfc", R"("//79/A==")"},
      {"d7 42 fffe", R"("fffe")"},
      {"d6 82 4178 d7 4178", R"(["eA==","78"])"},
      {"d6 61 78", R"("x")"},
      {"d863 4178", R"("x")"},
  };
  for (const Case& row : kCases) EXPECT_EQ(Read(Bytes(row.hex)), row.expected) << row.hex;
}

// Texts recorded from kube-apiserver.
TEST(CborReader, RefusesWhatTheGoLibraryRefuses) {
  constexpr Case kCases[] = {
      {"", "EOF"},
      {"18", "unexpected EOF"},
      {"42 61", "unexpected EOF"},
      {"82 01", "unexpected EOF"},
      {"d6", "unexpected EOF"},
      {"5f 4161", "unexpected EOF"},
      {"9f 01", "unexpected EOF"},
      {"01 00", "cbor: 1 bytes of extraneous data starting at index 1"},
      {"1c", "cbor: invalid additional information 28 for type positive integer"},
      {"1f", "cbor: invalid additional information 31 for type positive integer"},
      {"ff", R"(cbor: unexpected "break" code)"},
      {"bf 01 ff", R"(cbor: unexpected "break" code)"},
      {"81 ff", R"(cbor: unexpected "break" code)"},
      {"5f 4161 6162 ff",
       "cbor: wrong element type UTF-8 text string for indefinite-length byte string"},
      {"5f 5f ff ff", "cbor: indefinite-length byte string chunk is not definite-length"},
      {"5b ffffffffffffffff",
       "cbor: byte string length 18446744073709551615 is too large, causing integer overflow"},
      {"9b ffffffffffffffff",
       "cbor: array length 18446744073709551615 is too large, it would cause integer overflow"},
      {"9b 00ffffffffffffff", "cbor: exceeded max number of elements 2147483647 for CBOR array"},
      {"bb 00ffffffffffffff", "cbor: exceeded max number of key-value pairs 2097152 for CBOR map"},
      {"c2 4101", "cbor: data item of cbor type tag is not accepted by protocol: bignum"},
      {"f97e00",
       "cbor: data item of cbor type primitives is not accepted by protocol: floating-point NaN"},
      {"fa7f800000",
       "cbor: data item of cbor type primitives is not accepted by protocol: floating-point "
       "infinity"},
      {"f810", "cbor: invalid simple value 16 for type primitives"},
      {"f0",
       "cbor: data item of cbor type primitives is not accepted by protocol: simple value 16 is "
       "not recognized"},
      {"f7",
       "cbor: data item of cbor type primitives is not accepted by protocol: simple value 23 is "
       "not recognized"},
      {"a2 4161 01 6161 02", R"(cbor: found duplicate map key "a" at map element index 1)"},
      {"81 a2 4161 01 4161 02", R"(cbor: found duplicate map key "a" at map element index 1)"},
      {"a1 01 02", "cbor: cannot unmarshal positive integer into Go value of type string"},
      {"a1 80 02", "cbor: cannot unmarshal array into Go value of type string"},
      {"61 ff", "cbor: invalid UTF-8 string"},
      {"1b 8000000000000000",
       "cbor: cannot unmarshal positive integer into Go value of type int64 (9223372036854775808 "
       "overflows Go's int64)"},
      {"3b 8000000000000000",
       "cbor: cannot unmarshal negative integer into Go value of type int64 (-9223372036854775809 "
       "overflows Go's int64)"},
      {"3b ffffffffffffffff",
       "cbor: cannot unmarshal negative integer into Go value of type int64 "
       "(-18446744073709551616 overflows Go's int64)"},
      {"c0 4178", "cbor: tag number 0 must be followed by text string, got byte string"},
      {"c1 80",
       "cbor: tag number 1 must be followed by integer or floating-point number, got array"},
      {"c0 6178",
       R"(cbor: cannot set x for time.Time: parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006")"},
  };
  for (const Case& row : kCases) EXPECT_EQ(Read(Bytes(row.hex)), row.expected) << row.hex;
}

TEST(CborReader, LimitsDepthAndNotTheStack) {
  const auto nested = [](std::size_t levels) { return std::string(levels, '\x81') + '\0'; };
  EXPECT_EQ(Read(nested(10001)), "cbor: exceeded max nested level 10000");
  json::Arena arena;
  const auto value = Parse(arena, nested(10000));
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(value->depth(), 10000U);
  EXPECT_EQ(Read(std::string(10002, '\xc6') + '\0'), "cbor: exceeded max nested level 10000");
}

TEST(CborReader, FindsTheFirstRepeatedOfManyKeys) {
  std::string map = "\xb8\x28";  // 40 pairs
  for (int i = 0; i < 40; ++i) {
    map += '\x41';
    map += static_cast<char>('A' + (i == 30 || i == 39 ? 5 : i));
    map += '\0';
  }
  EXPECT_EQ(Read(map), R"(cbor: found duplicate map key "F" at map element index 30)");
}

TEST(CborReader, ReadsNamedMembersAlone) {
  constexpr std::string_view kNames[] = {"kind"};
  const auto read = [&](std::string_view hex) {
    json::Arena arena;
    const auto value = ParseMembers(arena, Bytes(hex), kNames);
    return value.ok() ? json::ToString(*value) : value.status().message();
  };
  EXPECT_EQ(read("a2 4161 a2 01f0 01f7 44 6b696e64 4178"), R"({"a":null,"kind":"x"})");
  EXPECT_EQ(read("bf 4161 9f 5f4161ff bf0102ff d6 4100 ff 44 6b696e64 4178 ff"),
            R"({"a":null,"kind":"x"})");
  EXPECT_EQ(read("a2 44 6b696e64 4178 64 6b696e64 4179"),
            R"(cbor: found duplicate map key "kind" at map element index 1)");
  EXPECT_EQ(read("82 01 02"), "[1,2]");
  EXPECT_EQ(read("a2 01 f6 01 f6"), "cbor: found duplicate map key 1 at map element index 1");
  EXPECT_EQ(read("a1 f5 f6"),
            "cbor: cannot unmarshal primitives into Go value of type string (map key is of type "
            "primitives and cannot be used to match struct field name)");
  EXPECT_EQ(read("a1 3b ffffffffffffffff f6"),
            "cbor: cannot unmarshal negative integer into Go value of type int64 "
            "(-1-18446744073709551615 overflows Go's int64)");
}

TEST(CborReader, KeepsKeysThatAreNumbersForTheTypesToJudge) {
  json::Arena arena;
  const auto value = ParseTyped(arena, Bytes("a2 4161 01 20 02"));
  ASSERT_TRUE(value.ok());
  ASSERT_EQ(value->size(), 2U);
  const std::string_view key = value->members()[1].name();
  EXPECT_EQ(KeyFault("a", false, "value"), "");
  EXPECT_EQ(KeyFault(key, true, "value"), "");
  EXPECT_EQ(
      KeyFault(key, false, "struct field v1.ConfigMap.data"),
      "cbor: cannot unmarshal negative integer into Go struct field v1.ConfigMap.data of type "
      "string");
  // Of content without types, a null is the key of the pair before.
  EXPECT_EQ(Read(Bytes("a2 4161 01 f6 02")),
            R"(cbor: found duplicate map key "a" at map element index 1)");
}

}  // namespace
}  // namespace portcullis::cbor
