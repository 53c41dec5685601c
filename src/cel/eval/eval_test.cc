// SPDX-License-Identifier: Apache-2.0

// Evaluation as a table: expression, result.
#include <gtest/gtest.h>

#include <string>

#include "base/strings.h"
#include "cel/testing/fixture.h"

namespace portcullis::cel {
namespace {

struct Row {
  const char* expression;
  const char* expected;
};

void Expect(std::span<const Row> rows) {
  testing::Fixture fixture;
  for (const Row& row : rows) {
    EXPECT_EQ(fixture.Run(row.expression).text, row.expected) << row.expression;
  }
}

TEST(EvalTest, Arithmetic) {
  const Row rows[] = {
      {"1 + 2 * 3", "7"},
      {"7 / -2", "-3"},
      {"-7 % 3", "-1"},
      {"9223372036854775807 + 1", "error: integer overflow"},
      {"-9223372036854775808 / -1", "error: integer overflow"},
      {"-9223372036854775808", "-9223372036854775808"},
      {"1u - 2u", "error: unsigned integer overflow"},
      {"1 / 0", "error: division by zero"},
      {"1 % 0", "error: modulus by zero"},
      {"1.0 / 0.0", "+Inf"},
      {"'a' + 'b'", "\"ab\""},
      {"b'a' + b'\\xff'", "b\"a\\xff\""},
      {"[1] + [2]", "[1, 2]"},
      {"dyn(1) + 1.0", "error: no such overload"},
      {"dyn(null) + 1", "error: no such overload: _+_"},
      {"dyn([1]) < [2]",
       "compile: ERROR: <input>:1:10: found no matching overload for '_<_' "
       "applied to '(dyn, list(int))'\n | dyn([1]) < [2]\n | .........^"},
      {"dyn([1]) < dyn([2])", "error: no such overload: _<_"},
      {"dyn('a') - dyn('b')", "error: no such overload"},
      {"-dyn('a')", "error: no such overload"},
      {"-dyn(null)", "error: no such overload: -_"},
      {"1 < 2.5 && 2u > 1", "true"},
      {"dyn(1) == 1.0 && dyn(1u) == 1", "true"},
      {"dyn(0.0)/dyn(0.0) == dyn(0.0)/dyn(0.0)", "false"},
      {"0.0/0.0 < 1.0", "error: NaN values cannot be ordered"},
  };
  Expect(rows);
}

TEST(EvalTest, LogicIsCommutative) {
  const Row rows[] = {
      {"1/0 == 1 || true", "true"},
      {"true || 1/0 == 1", "true"},
      {"1/0 == 1 && false", "false"},
      {"1/0 == 1 && true", "error: division by zero"},
      {"1/0 == 1 || 1%0 == 1", "error: division by zero"},
      {"dyn(1) && true", "error: no such overload"},
      {"!dyn(1)", "error: no such overload"},
      {"dyn(1) ? 1 : 2", "error: no such overload"},
      {"true ? 1 : 1/0", "1"},
      {"[1, 0].all(i, 1/i == 2)", "false"},
      {"[1, 0].exists(i, 1/i == 1)", "true"},
      {"[0, 1].exists(i, 1/i == 1)", "true"},
      {"[0, 1].exists_one(i, 1/i == 1)", "error: division by zero"},
      {"[1, 2].all(i, dyn(i))", "error: no such overload"},
  };
  Expect(rows);
}

TEST(EvalTest, SelectsAndIndexes) {
  const Row rows[] = {
      {"object.metadata.name", "\"web\""},
      {"object.metadata.nope", "error: no such key: nope"},
      {"object.spec.replicas.nope", "error: no such key: nope"},
      {"object.spec.replicas[0]", "error: no such key: 0"},
      {"object.spec.containers[1].name", "\"side\""},
      {"object.spec.containers[2]", "error: index out of bounds: 2"},
      {"object.spec.containers[1.0].name", "\"side\""},
      {"object.spec.containers[1.5]", "error: unsupported index value 1.5 in list"},
      {"object.spec.containers['a']", "error: unsupported index type 'string' in list"},
      {"object[object.spec.containers]", "error: invalid qualifier type: []interface {}"},
      {"object[object.spec]", "error: invalid qualifier type: map[string]interface {}"},
      {"object[oldObject]", "error: invalid qualifier type: <nil>"},
      {"object['metadata']['name']", "\"web\""},
      {"object[request.operation]", "error: no such key: CREATE"},
      {"has(object.metadata.name)", "true"},
      {"has(object.metadata.none)", "true"},
      {"has(object.metadata.nope)", "false"},
      {"has(object.nope.name)", "error: no such key: nope"},
      {"has(object.spec.replicas.x)", "false"},
      {"has(object.spec.containers.x)", "error: unsupported index type 'string' in list"},
      {"unbound.x", "error: no such attribute(s): unbound"},
      {"oldObject == null", "true"},
      {"{1: 'a', 2: 'b'}[dyn(2.0)]", "\"b\""},
      {"{'a': 1}['b']", "error: no such key: b"},
      {"[1, 2, 3][dyn(2u)]", "3"},
      {"2 in [1, 2]", "true"},
      {"dyn(2.0) in [1, 2]", "true"},
      {"'a' in {'a': 1}", "true"},
      {"'app' in object.metadata.labels", "true"},
      {"'a' in dyn(3)", "error: no such overload"},
      {"(true ? object : request).metadata.name", "\"web\""},
  };
  Expect(rows);
}

TEST(EvalTest, Optionals) {
  const Row rows[] = {
      {"object.?metadata.?name", "optional.of(\"web\")"},
      {"object.?nope.name", "optional.none()"},
      {"object.?metadata.name.orValue('x')", "\"web\""},
      {"object.?nope.orValue('x')", "\"x\""},
      {"object.spec.replicas.?x", "optional.none()"},
      {"object.spec.containers[?5].hasValue()", "false"},
      {"object.spec.containers[?0].name", "optional.of(\"main\")"},
      {"[?optional.none(), 1, ?optional.of(2)]", "[1, 2]"},
      {"{?'a': optional.none(), ?'b': optional.of(2)}", "{\"b\": 2}"},
      {"[?dyn(1)]", "error: cannot initialize optional list element from non-optional value 1"},
      {"optional.none().value()", "error: optional.none() dereference"},
      {"optional.of(1).or(optional.of(1/0))", "optional.of(1)"},
      {"optional.of(1).optMap(v, v + 1)", "optional.of(2)"},
      {"optional.none().optMap(v, v + 1)", "optional.none()"},
      {"has(object.?metadata.name)", "true"},
      {"has(object.?metadata.nope)", "false"},
      {"optional.of(1) == optional.of(1)", "true"},
      {"[optional.of(1), optional.none()].unwrapOpt()", "[1]"},
      {"[1, 2].last()", "optional.of(2)"},
  };
  Expect(rows);
}

TEST(EvalTest, Conversions) {
  const Row rows[] = {
      {"int('42') + int(3.9) + int(2u)", "47"},
      {"int('abc')",
       "compile: program instantiation failed: type conversion error from 'string' "
       "to 'int'"},
      {"int(text)", "error: type conversion error from 'string' to 'int'"},
      {"int(1e99)", "compile: program instantiation failed: integer overflow"},
      {"uint(number) == 7u", "true"},
      {"uint(number - 10)", "error: unsigned integer overflow"},
      {"double('1e3') == 1000.0 && double('Infinity') > 1.0", "true"},
      {"string(1000000.0) + string(0.5) + string(123456.0)", "\"1e+060.5123456\""},
      {"string(b'abc') + string(true) + string(7u)", "\"abctrue7\""},
      {"string(b'\\xff')",
       "compile: program instantiation failed: invalid UTF-8 in bytes, cannot "
       "convert to string"},
      {"bool('TRUE') && !bool('f')", "true"},
      {"string(timestamp('2023-02-03T23:31:20.5+01:00'))", "\"2023-02-03T23:31:20.5+01:00\""},
      {"string(duration('1h30m'))", "\"5400s\""},
      {"string(duration('-1500ms'))", "\"-1.5s\""},
      {"string(dyn(null))",
       "compile: program instantiation failed: no such overload: "
       "string(null_type)"},
      {"string(oldObject)", "error: no such overload: string(null_type)"},
      {"type(1) == int && type(type(1)) == type && type('') != int", "true"},
      {"type(timestamp('2023-01-01T00:00:00Z')) == google.protobuf.Timestamp", "true"},
      {"type(null) == null_type", "true"},
      {"[int].exists(t, t == int)",
       "compile: program instantiation failed: reference to undefined type: t"},
      {"[int].all(t, true) && ['a'].exists(string, string == 'a')", "true"},
      {"[int].exists(string, string == int)", "false"},
      {"size('äöü') + size(b'\\xff') + [1, 2].size() + {'a': 1}.size()", "7"},
      {"size('aé€😀bcdefghé€😀')", "14"},
      {"size(oldObject)", "error: no such overload: size"},
      // The checker takes an overload for lists or texts; the values find another one.
      {"dyn([{'a': 1}]).reverse().map(e, size(e))", "[1]"},
      {"dyn(['ab']).reverse().map(e, size(e))", "[2]"},
      {"dyn([1]).reverse().map(e, size(e))", "error: no such overload: size"},
      {"dyn([{'a': 1}]).reverse().map(e, 'a' in e)", "[true]"},
      {"dyn(['a']).reverse().map(e, 'a' in e)", "error: no such overload"},
      // A call with a constant pattern does not name itself.
      {"dyn(1).matches('a')", "error: no such overload"},
      {"matches(dyn(1), 'a')", "error: no such overload"},
      {"dyn(5).startsWith('a')", "error: no such overload"},
      {"'a'.contains(dyn(b'a'))", "error: no such overload"},
      // The first element of a list tells overloads apart.
      {"dyn([{}]).join()", "error: no such overload: join(list)"},
      {"dyn([1, 2]).flatten()", "[1, 2]"},
      {"dyn([{}]).sort()", "error: list elements must be comparable"},
  };
  Expect(rows);
}

TEST(EvalTest, Time) {
  const Row rows[] = {
      {"timestamp('2023-02-03T23:31:20Z').getFullYear()", "2023"},
      {"timestamp('2023-02-03T23:31:20Z').getMonth()", "1"},
      {"timestamp('2023-02-03T23:31:20Z').getDayOfMonth()", "2"},
      {"timestamp('2023-02-03T23:31:20Z').getDate()", "3"},
      {"timestamp('2023-02-03T23:31:20Z').getDayOfYear()", "33"},
      {"timestamp('2023-02-03T23:31:20Z').getDayOfWeek()", "5"},
      {"timestamp('2023-07-03T23:31:20Z').getHours('Europe/Berlin')", "1"},
      {"timestamp('2023-01-03T23:31:20Z').getHours('Europe/Berlin')", "0"},
      {"timestamp('2090-07-03T23:31:20Z').getHours('America/New_York')", "19"},
      {"timestamp('2023-01-03T23:31:20Z').getMinutes('-02:30')", "1"},
      {"timestamp('2023-01-03T23:31:20Z').getHours('Nowhere/City')",
       "error: unknown time zone Nowhere/City"},
      {"timestamp('2023-01-03T23:31:20Z').getHours('ab:30')",
       "error: strconv.Atoi: parsing \"ab\": invalid syntax"},
      {"duration('90m').getHours()", "1"},
      {"duration('90m').getMilliseconds()", "5400000"},
      {"timestamp('2023-01-01T00:00:00Z') + duration('1h') == timestamp('2023-01-01T01:00:00Z')",
       "true"},
      {"timestamp('2023-01-01T01:00:00Z') - timestamp('2023-01-01T00:00:00Z') == duration('1h')",
       "true"},
      {"timestamp('9999-12-31T23:59:59Z') + duration('1s')", "error: timestamp overflow"},
      {"timestamp(0) == timestamp('1970-01-01T00:00:00Z')", "true"},
      {"duration('1x')",
       "compile: ERROR: <input>:1:10: invalid duration argument\n | "
       "duration('1x')\n | .........^"},
  };
  Expect(rows);
}

TEST(EvalTest, Macros) {
  const Row rows[] = {
      {"object.spec.containers.map(c, c.name)", "[\"main\", \"side\"]"},
      {"object.spec.containers.filter(c, has(c.env)).map(c, c.name)", "[\"main\"]"},
      {"[1, 2, 3].map(i, i > 1, i * 10)", "[20, 30]"},
      {"object.metadata.labels.all(k, k.matches('^[a-z]+$'))", "true"},
      {"object.metadata.labels.exists(k, v, v == 'a')", "true"},
      {"dyn(3).all(i, true)", "error: got 'types.Int', expected iterable type"},
      {"dyn(3).all(i, v, true)", "error: unsupported comprehension range type: types.Int"},
      {"[1, 2].exists_one(i, i == 2)", "true"},
      {"{'a': 1}.transformMapEntry(k, v, {'x': v, 'y': k == 'a' ? 2 : 3})", "{\"x\": 1, \"y\": 2}"},
      {"[1, 2].transformMapEntry(k, v, {'x': v})", "error: insert failed: key x already exists"},
      {"[3, 1, 2].sortBy(e, -e)", "[3, 2, 1]"},
      {"[[1, 2], [3]].map(l, l.map(i, i + size(l)))", "[[3, 4], [4]]"},
      {"[1, 2].map(x, [3, 4].map(y, x * y))", "[[3, 4], [6, 8]]"},
  };
  Expect(rows);
}

TEST(EvalTest, StringsAndFormat) {
  const Row rows[] = {
      {"'tacocat'.charAt(7)", "\"\""},
      // No sign of zero; what has no digits is as wide as the rest.
      {"'%f|%e'.format([-0.0, -0.0])", "\"0.000000|0.000000×10⁰⁰\""},
      {"'%e|%.2e|%.12e'.format([double('-inf'), double('inf'), double('NaN')])",
       "\"    -∞| ∞|         NaN\""},
      {"'tacocat'.charAt(8)", "error: index out of range: 8"},
      {"'hello mellow'.indexOf('ello', 2)", "7"},
      {"'a'.indexOf('', 5)", "5"},
      {"'häuser'.substring(1, 3)", "\"äu\""},
      {"'abc'.substring(2, 1)", "error: invalid substring range. start: 2, end: 1"},
      {"'ab'.replace('', '-')", "\"-a-b-\""},
      {"'a b c'.split(' ', 2)", "[\"a\", \"b c\"]"},
      {"strings.quote('a\\nb\"')", "\"\\\"a\\\\nb\\\\\\\"\\\"\""},
      {"'%s %d %.2f %x %b %o %%'.format(['a', 5, 1234.5, 255, 5, 8])",
       "\"a 5 1,234.50 ff 101 10 %\""},
      {"'%s'.format([['abc', 3.14, null, timestamp('2023-02-03T23:31:20Z')]])",
       "\"[\\\"abc\\\", 3.140000, null, timestamp(\\\"2023-02-03T23:31:20Z\\\")]\""},
      {"'%s'.format([{'b': 1, 'a': true}])", "\"{\\\"a\\\":true, \\\"b\\\":1}\""},
      {"'%s'.format([b'\\xff'])",
       "error: error during formatting: could not convert argument \"invalid UTF-8 in bytes, "
       "cannot "
       "convert to string\" to string"},
      {"'%s'.format([[dyn(b'\\xff')]])",
       "error: error during formatting: could not convert argument \"invalid UTF-8 in bytes, "
       "cannot "
       "convert to string\" to string"},
      {"'%s'.format([[1].map(x, optional.of(x))])",
       "error: error during formatting: no formatting function for optional_type"},
      {"'%d'.format([dyn('NaN')])",
       "error: error during formatting: decimal clause can only be used on integers, was given "
       "string"},
      // Clauses are filled in as they are read.
      {"dyn('%d %a').format(['x', 1])",
       "error: error during formatting: decimal clause can only be used on integers, was given "
       "string"},
      {"dyn('%').format([])", "error: index 0 out of range"},
      {"dyn('%').format([1])", "error: unexpected end of string"},
      {"dyn('%\"').format([1])",
       "error: could not parse formatting clause: unrecognized formatting clause \"\"\""},
      {"dyn('%é').format([1])",
       "error: could not parse formatting clause: unrecognized formatting clause \"Ã\""},
      {"'%d'.format([dyn('x')])",
       "error: error during formatting: decimal clause can only be used "
       "on integers, was given string"},
      {"'%s %s'.format([1])",
       "compile: ERROR: <input>:1:15: index 1 out of range\n | "
       "'%s %s'.format([1])\n | ..............^"},
  };
  Expect(rows);
}

TEST(EvalTest, Lists) {
  const Row rows[] = {
      {"[1, 2, 3].slice(1, 4)", "error: cannot slice(1, 4), list is length 3"},
      {"[[1, [2]]].flatten()",
       "compile: ERROR: <input>:1:6: expected type 'int' but found 'list(int)'\n | [[1, "
       "[2]]].flatten()"
       "\n | .....^"},
      {"[dyn([1, 2]), dyn([3])].flatten()", "[1, 2, 3]"},
      {"[3, 1, 2].sort()", "[1, 2, 3]"},
      {"[dyn(3), dyn('a')].sort()", "error: list elements must have the same type"},
      {"lists.range(3).reverse().distinct()", "[2, 1, 0]"},
      {"sets.contains([1, 2, 3], [3u, 2.0])",
       "compile: ERROR: <input>:1:31: expected type 'uint' but found 'double'\n | "
       "sets.contains([1, 2, 3], [3u, 2.0])\n | ..............................^"},
      {"sets.intersects([1], [1])", "true"},
  };
  Expect(rows);
}

// Values that share their parts can be exponentially large; nothing may hang or run out of memory.
TEST(EvalTest, SurvivesExponentialValues) {
  testing::Fixture fixture;
  EvalOptions options;
  options.cost_limit = 1000000;
  std::string lists = "[[1]]";
  std::string trees = "[[dyn(1)]]";
  for (int i = 0; i < 40; ++i) {
    lists += ".map(a, a + a)";
    trees += ".map(a, [dyn(a), dyn(a)])";
  }
  EXPECT_EQ(fixture.Run(lists, options).text, "error: list too long");
  EXPECT_EQ(fixture.Run(trees + " == " + trees, options).text,
            "error: values too large to compare");
  EXPECT_EQ(fixture.Run(trees + ".flatten(100)", options).text, "error: list too long");
  EXPECT_EQ(fixture.Run("size('%s'.format([" + trees + "])) > 0", options).text.substr(0, 6),
            "error:");
  EXPECT_EQ(fixture.Run("lists.range(9000000000).reverse()", options).text.substr(0, 6), "error:");
  EXPECT_EQ(fixture.Run("lists.range(100000).distinct()", options).text,
            "error: operation cancelled: actual cost limit exceeded");
}

// What costs little may take much: here a list of 2^doublings elements is copied ten times.
TEST(EvalTest, EndsWhatTakesTooMuchMemory) {
  testing::Fixture fixture;
  EvalOptions options;
  options.cost_limit = 1000000;
  const auto copies = [](int doublings) {
    std::string list = "[[1]]";
    for (int i = 0; i < doublings; ++i) list += ".map(a, a + a)";
    std::string sum = "list";
    for (int i = 0; i < 70; ++i) sum = base::StrCat("[0] + (", sum, ")");
    return base::StrCat(list, ".map(list, lists.range(10).map(i, size(", sum, ")).size())");
  };
  EXPECT_EQ(fixture.Run(copies(10), options).text, "[10]");
  EXPECT_EQ(fixture.Run(copies(21), options).text, "error: list too long");
}

// Every example in a library's table is an expression that is true.
TEST(EvalTest, ExamplesOfAllFunctionsAreTrue) {
  testing::Fixture fixture;
  for (const Library* library : {&kStandardLibrary, &kStringsLibrary, &kSetsLibrary, &kListsLibrary,
                                 &kOptionalLibrary, &kTwoVariableLibrary}) {
    for (const Function& row : library->functions) {
      if (row.example.empty() || row.since > 2) continue;
      if (row.id.starts_with("list_") && row.id.ends_with("_sort") && row.id != "list_int_sort") {
        continue;
      }
      EXPECT_EQ(fixture.Run(row.example).text, "true") << row.example;
    }
    for (const Macro& row : library->macros) {
      EXPECT_EQ(fixture.Run(row.example).text, "true") << row.example;
    }
  }
}

}  // namespace
}  // namespace portcullis::cel
