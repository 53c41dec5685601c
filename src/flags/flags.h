// SPDX-License-Identifier: Apache-2.0

// Command lines as tables (github.com/spf13/pflag): --name=value, --name value, --switch,
// --switch=false, -n value, -nvalue, -- before arguments that begin with a dash.
//
//   constexpr flags::Flag<Options> kFlags[] = {
//       {.name = "output", .type = flags::Type::kString, .default_text = "table",
//        .meaning = "Form of the list: table, json or markdown",
//        .set = &flags::SetOneOf<&Options::format, kFormats>, .shorthand = 'o'},
//   };
//   const flags::Line line = TRY(flags::Parse<Options>(kFlags, words, {"portcullis plugins"}, options));
//
// Pure functions; tables are constants.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace portcullis::flags {

enum class Type { kString, kInt, kBool, kDuration, kList, kMap };

// A row without its setter: what --help, documents and completion need.
struct Info {
  std::string_view name;  // without dashes
  Type type = Type::kString;
  std::string_view default_text;  // "" if there is none
  std::string_view meaning;
  std::string_view note;  // why the flag has no effect; "" if it has one
  char shorthand = '\0';
  std::string_view value_name;  // "FILE"; "": the type's
  std::string_view risk;        // what the flag opens to others
  std::string_view group;       // heading of --help that it stands below, "Admission"; "": "Flags"
};

template <typename Options>
struct Flag {
  std::string_view name;
  Type type;
  std::string_view default_text;
  std::string_view meaning;
  // Stores the value, or says what is wrong with it and what is allowed. Null: the flag is accepted
  // without effect, see `note`.
  base::Status (*set)(Options& options, std::string_view value);
  std::string_view note;
  char shorthand = '\0';
  std::string_view value_name;
  // Lists that have a default: empties them at the first use of the flag.
  void (*reset)(Options& options) = nullptr;
};

template <typename Options>
Info InfoOf(const Flag<Options>& flag) {
  return {flag.name,       flag.type, flag.default_text,
          flag.meaning,    flag.note, flag.shorthand,
          flag.value_name, "",        ""};
}

template <typename Options>
std::vector<Info> InfosOf(std::span<const Flag<Options>> table) {
  std::vector<Info> infos;
  for (const Flag<Options>& flag : table) infos.push_back(InfoOf(flag));
  return infos;
}

// What may stand on the line besides flags.
enum class Arguments {
  kNone,
  kAny,
  // Words that may begin with a dash (`-1`): only `--` before a letter, and a shorthand alone,
  // make a flag.
  kExpressions,
};

struct Grammar {
  std::string_view command;  // "portcullis serve", for errors
  Arguments arguments = Arguments::kNone;
};

struct Line {
  std::vector<std::string> arguments;
  std::set<std::string_view> given;  // names of flags
  std::vector<std::pair<std::string_view, std::string>>
      values;         // each name with each value, in order
  bool help = false;  // -h or --help; what stands behind it was not read
};

// Calls `apply` for each flag, in order, with its row and value. Errors are pflag's: `unknown flag:
// --x (did you mean --y?)`, `flag needs an argument: --x`, `unknown command "x" for "portcullis
// serve"`, `invalid argument "x" for "-o, --output" flag: …` with what `apply` says.
base::Result<Line> Read(
    std::span<const Info> table, std::span<const std::string> words, const Grammar& grammar,
    const std::function<base::Status(std::size_t row, std::string_view value)>& apply);

template <typename Options>
base::Result<Line> Parse(std::span<const Flag<Options>> table, std::span<const std::string> words,
                         const Grammar& grammar, Options& options) {
  std::vector<bool> was_reset(table.size());
  return Read(InfosOf(table), words, grammar, [&](std::size_t row, std::string_view value) {
    const Flag<Options>& flag = table[row];
    if (flag.reset != nullptr && !was_reset[row]) flag.reset(options);
    was_reset[row] = true;
    return flag.set == nullptr ? base::OkStatus() : flag.set(options, value);
  });
}

// What every flag of the table is set to by the line, by name, as pflag prints values: "true", "1m0s",
// "[a,b]", "a=b,c=d".
std::map<std::string, std::string> ValuesOf(std::span<const Info> table, const Line& line);

// The word for a flag's value in help: "FILE", "duration"; "" for switches.
std::string_view ValueWord(const Info& flag);

// The headings of the rows that have an effect, each once, in the order of their first rows.
std::vector<std::string_view> Groups(std::span<const Info> table);

// The rows as --help shows them, below the headings of their groups: name, value, meaning, default,
// risk. Those without effect stand at the end with their reasons.
std::string Help(std::span<const Info> table);

}  // namespace portcullis::flags
