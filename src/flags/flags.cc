// SPDX-License-Identifier: Apache-2.0

#include "flags/flags.h"

#include <algorithm>
#include <optional>

#include "base/clock.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "golang/strconv.h"
#include "golang/time.h"

namespace portcullis::flags {
namespace {

constexpr std::string_view kTypeNames[] = {"string",   "int",     "",
                                           "duration", "strings", "mapStringString"};

bool IsLetter(char c) { return c >= 'a' && c <= 'z'; }

// As pflag names a flag in errors: "--name", "-n, --name".
std::string NameOf(const Info& flag) {
  std::string name = base::StrCat("--", flag.name);
  if (flag.shorthand == '\0') return name;
  return base::StrCat("-", std::string(1, flag.shorthand), ", ", name);
}

class Reader {
 public:
  Reader(std::span<const Info> table, std::span<const std::string> words, const Grammar& grammar,
         const std::function<base::Status(std::size_t, std::string_view)>& apply)
      : table_(table), words_(words), grammar_(grammar), apply_(apply) {}

  base::Result<Line> Run() {
    while (next_ < words_.size() && !line_.help) {
      const std::string& word = words_[next_++];
      if (word == "--") {
        while (next_ < words_.size()) TRY(Argument(words_[next_++]));
      } else if (!IsFlag(word)) {
        TRY(Argument(word));
      } else if (word.starts_with("--")) {
        TRY(Long(word));
      } else {
        TRY(Short(word));
      }
    }
    return std::move(line_);
  }

 private:
  bool IsFlag(std::string_view word) const {
    if (word.size() < 2 || word[0] != '-') return false;
    if (grammar_.arguments != Arguments::kExpressions) return true;
    if (word[1] == '-') return word.size() > 2 && IsLetter(word[2]);
    return word.size() == 2 && (word[1] == 'h' || FindShort(word[1]));
  }

  base::Status Argument(const std::string& word) {
    if (grammar_.arguments == Arguments::kNone) {
      return base::ConfigError(base::StrCat("unknown command ", base::GoQuote(word), " for ",
                                            base::GoQuote(grammar_.command)));
    }
    line_.arguments.push_back(word);
    return base::OkStatus();
  }

  base::Status Long(std::string_view word) {
    const std::string_view body = word.substr(2);
    if (body.starts_with('-') || body.starts_with('=')) {
      return base::ConfigError(base::StrCat("bad flag syntax: ", word));
    }
    const auto parts = base::Cut(body, "=");
    const std::string_view name = parts ? parts->first : body;
    const auto row = FindLong(name);
    if (!row && name == "help") {
      line_.help = true;
      return base::OkStatus();
    }
    if (!row) return Unknown(name);
    if (parts) return Apply(*row, parts->second);
    return ApplyNext(*row, word);
  }

  // "-abc": switches, the last of them perhaps with a value; "-n=value" and "-nvalue".
  base::Status Short(std::string_view word) {
    for (std::size_t at = 1; at < word.size(); ++at) {
      const auto row = FindShort(word[at]);
      if (!row && word[at] == 'h') {
        line_.help = true;
        return base::OkStatus();
      }
      if (!row) {
        return base::ConfigError(
            base::StrCat("unknown shorthand flag: '", word.substr(at, 1), "' in ", word));
      }
      const std::string_view rest = word.substr(at + 1);
      if (rest.size() > 1 && rest[0] == '=') return Apply(*row, rest.substr(1));
      if (table_[*row].type == Type::kBool) {
        TRY(Apply(*row, "true"));
        continue;
      }
      if (!rest.empty()) return Apply(*row, rest);
      return ApplyNext(*row, word, word.substr(at, 1));
    }
    return base::OkStatus();
  }

  // Without a value of its own: a switch is on, everything else takes the next word.
  base::Status ApplyNext(std::size_t row, std::string_view word, std::string_view letter = {}) {
    if (table_[row].type == Type::kBool) return Apply(row, "true");
    if (next_ < words_.size()) return Apply(row, words_[next_++]);
    if (letter.empty()) {
      return base::ConfigError(base::StrCat("flag needs an argument: --", table_[row].name));
    }
    return base::ConfigError(base::StrCat("flag needs an argument: '", letter, "' in ", word));
  }

  base::Status Apply(std::size_t row, std::string_view value) {
    line_.given.insert(table_[row].name);
    line_.values.emplace_back(table_[row].name, std::string(value));
    base::Status status = apply_(row, value);
    if (status.ok()) return status;
    return base::ConfigError(base::StrCat("invalid argument ", base::GoQuote(value), " for \"",
                                          NameOf(table_[row]), "\" flag: ", status.message()));
  }

  base::Status Unknown(std::string_view name) const {
    std::vector<std::string_view> names = {"help"};
    for (const Info& flag : table_) names.push_back(flag.name);
    const std::string_view near = base::Nearest(name, names);
    std::string text = base::StrCat("unknown flag: --", name);
    if (!near.empty()) text += base::StrCat(" (did you mean --", near, "?)");
    return base::ConfigError(std::move(text));
  }

  std::optional<std::size_t> FindLong(std::string_view name) const {
    return Find([name](const Info& flag) { return flag.name == name; });
  }
  std::optional<std::size_t> FindShort(char letter) const {
    return Find([letter](const Info& flag) { return flag.shorthand == letter; });
  }
  template <typename Predicate>
  std::optional<std::size_t> Find(Predicate predicate) const {
    const auto found = std::find_if(table_.begin(), table_.end(), predicate);
    if (found == table_.end()) return std::nullopt;
    return static_cast<std::size_t>(found - table_.begin());
  }

  const std::span<const Info> table_;
  const std::span<const std::string> words_;
  const Grammar grammar_;
  const std::function<base::Status(std::size_t, std::string_view)>& apply_;
  std::size_t next_ = 0;
  Line line_;
};

constexpr std::string_view kIndent = "\n      ";

void AddHelp(const Info& flag, std::string& text) {
  const std::string_view value = ValueWord(flag);
  text += base::StrCat("  ", NameOf(flag), value.empty() ? "" : " ", value, kIndent,
                       base::ReplaceAll(flag.meaning, "\n", kIndent));
  if (!flag.default_text.empty()) text += base::StrCat(" (default ", flag.default_text, ")");
  if (!flag.risk.empty()) text += base::StrCat(kIndent, "Opens a door: ", flag.risk);
  text += '\n';
}

}  // namespace

base::Result<Line> Read(
    std::span<const Info> table, std::span<const std::string> words, const Grammar& grammar,
    const std::function<base::Status(std::size_t row, std::string_view value)>& apply) {
  return Reader(table, words, grammar, apply).Run();
}

namespace {

// An element of a list, as a field of CSV.
std::string Field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  return base::StrCat("\"", base::ReplaceAll(text, "\"", "\"\""), "\"");
}

std::vector<std::string> Pieces(std::string_view text) {
  std::vector<std::string> pieces;
  for (const std::string_view piece : base::Split(text, ',')) {
    const std::string_view trimmed = base::Trim(piece);
    if (!trimmed.empty()) pieces.emplace_back(trimmed);
  }
  return pieces;
}

// `values` are those that were given; none: the default.
std::string Printed(const Info& flag, const std::vector<std::string_view>& values) {
  const std::string_view last = values.empty() ? flag.default_text : values.back();
  switch (flag.type) {
    case Type::kBool: {
      const auto value = golang::ParseBool(last);
      return value.ok() && *value ? "true" : "false";
    }
    case Type::kInt: {
      const auto value = golang::ParseInt(last, 0, 64);
      return value.ok() ? std::to_string(*value) : "0";
    }
    case Type::kDuration: {
      const auto value = golang::ParseDuration(last);
      return base::FormatDuration(base::Duration(value.ok() ? *value : 0));
    }
    case Type::kString:
      return std::string(last);
    case Type::kList:
    case Type::kMap:
      break;
  }
  std::vector<std::string> pieces;
  if (values.empty()) pieces = Pieces(flag.default_text);
  for (const std::string_view value : values) {
    for (std::string& piece : Pieces(value)) pieces.push_back(std::move(piece));
  }
  if (flag.type == Type::kList) {
    for (std::string& piece : pieces) piece = Field(piece);
    return base::StrCat("[", base::Join(pieces, ","), "]");
  }
  std::map<std::string, std::string> pairs;
  for (const std::string& piece : pieces) {
    const auto cut = base::Cut(piece, "=");
    pairs[std::string(cut ? cut->first : piece)] = piece;
  }
  pieces.clear();
  for (auto& [name, pair] : pairs) pieces.push_back(std::move(pair));
  return base::Join(pieces, ",");
}

}  // namespace

std::map<std::string, std::string> ValuesOf(std::span<const Info> table, const Line& line) {
  std::map<std::string, std::vector<std::string_view>> given;
  for (const auto& [name, value] : line.values) given[std::string(name)].push_back(value);
  std::map<std::string, std::string> all;
  for (const Info& flag : table) {
    const std::string name(flag.name);
    all[name] = Printed(flag, given[name]);
  }
  all["help"] = line.help ? "true" : "false";
  return all;
}

std::string_view ValueWord(const Info& flag) {
  return flag.value_name.empty() ? kTypeNames[static_cast<std::size_t>(flag.type)]
                                 : flag.value_name;
}

std::vector<std::string_view> Groups(std::span<const Info> table) {
  std::vector<std::string_view> groups;
  for (const Info& flag : table) {
    if (!flag.note.empty()) continue;
    if (std::find(groups.begin(), groups.end(), flag.group) == groups.end()) {
      groups.push_back(flag.group);
    }
  }
  return groups;
}

std::string Help(std::span<const Info> table) {
  std::string text;
  for (const std::string_view group : Groups(table)) {
    text += base::StrCat(text.empty() ? "" : "\n", group, group.empty() ? "Flags:\n" : " flags:\n");
    for (const Info& flag : table) {
      if (flag.note.empty() && flag.group == group) AddHelp(flag, text);
    }
  }
  std::string ignored;
  for (const Info& flag : table) {
    if (!flag.note.empty()) ignored += base::StrCat("  --", flag.name, kIndent, flag.note, "\n");
  }
  if (ignored.empty()) return text;
  return base::StrCat(text, "\nAccepted as kube-apiserver's, without effect:\n", ignored);
}

}  // namespace portcullis::flags
