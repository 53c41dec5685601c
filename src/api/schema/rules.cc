// SPDX-License-Identifier: Apache-2.0

#include "api/schema/rules.h"

#include <algorithm>

#include "base/strings.h"
#include "json/reader.h"

namespace portcullis::api::schema {
namespace {

class Parser {
 public:
  explicit Parser(RuleFile& file) : file_(file) {}

  base::Status Line(std::string_view line, std::size_t number) {
    number_ = number;
    const std::string_view content = base::Trim(line);
    if (content.empty() || content[0] == '#') return base::OkStatus();
    if (line[0] != ' ') return Head(content);
    if (file_.blocks.empty()) return Error("a statement before the first block");
    Statement statement;
    std::string_view rest = content;
    if (const auto since = base::Cut(content, " since 1.")) {
      const auto minor = base::ParseInt(since->second);
      if (!minor) return Error("want: since 1.<minor>");
      statement.since_minor = static_cast<int>(*minor);
      rest = since->first;
    }
    if (const auto gate = base::Cut(rest, " gate ")) {
      statement.gate = file_.arena.Copy(gate->second);
      rest = gate->first;
    }
    const auto when = base::Cut(rest, " when ");
    if (when) {
      rest = when->first;
      TRY(Conditions(when->second, statement.conditions));
    }
    TRY(Parse(rest, statement));
    file_.blocks.back().statements.push_back(std::move(statement));
    return base::OkStatus();
  }

 private:
  base::Status Error(std::string_view what) const {
    return base::ConfigError(base::StrCat("line ", std::to_string(number_), ": ", what));
  }

  base::Status Head(std::string_view content) {
    RuleBlock& block = file_.blocks.emplace_back();
    for (const std::string_view word : base::Split(content, ' ')) {
      block.words.push_back(file_.arena.Copy(word));
    }
    block.head = block.words.front();
    block.words.erase(block.words.begin());
    if (block.words.empty()) return Error("a block needs a name");
    return base::OkStatus();
  }

  base::Status Parse(std::string_view text, Statement& statement) {
    const auto words = base::Split(text, ' ');
    if (words[0] == "use" || words[0] == "call") {
      if (words.size() != 4 || words[2] != "at") return Error("want: use <Name> at <path>");
      statement.action = words[0] == "use" ? Statement::Action::kUse : Statement::Action::kCall;
      statement.name = file_.arena.Copy(words[1]);
      statement.path = TRY(Path(words[3]));
      return base::OkStatus();
    }
    if (words.size() < 3) return Error("want: <path> = <value>");
    const std::string_view op = words[1];
    const auto start = static_cast<std::size_t>(words[2].data() - text.data());
    const std::string_view operand = base::Trim(text.substr(start));
    statement.path = TRY(Path(words[0]));
    if (op == "->") {
      statement.action = Statement::Action::kMove;
      statement.source = TRY(Path(operand));
      return base::OkStatus();
    }
    if (op == "=") {
      statement.action = Statement::Action::kSetIfAbsent;
    } else if (op == "?=") {
      statement.action = Statement::Action::kSetIfZero;
    } else if (op == ":=") {
      statement.action = Statement::Action::kSetAlways;
    } else {
      return Error(base::StrCat("unknown operator ", op));
    }
    return Operand(operand, statement);
  }

  base::Status Operand(std::string_view operand, Statement& statement) {
    if (operand.starts_with('@')) {
      statement.source = TRY(Path(operand.substr(1)));
      if (statement.source->empty()) return Error("want a field after @");
    } else {
      statement.value = TRY(json::Parse(file_.arena, operand));
    }
    return base::OkStatus();
  }

  base::Status Conditions(std::string_view text, std::vector<Condition>& conditions) {
    while (!text.empty()) {
      std::string_view piece = text;
      if (const auto next = base::Cut(text, " and ")) {
        piece = next->first;
        text = next->second;
      } else {
        text = {};
      }
      const auto words = base::Split(base::Trim(piece), ' ');
      if (words.size() < 2) return Error("want: <path> == <value>, present, absent or nonempty");
      Condition condition;
      condition.path = TRY(Path(words[0]));
      if (condition.path.empty()) return Error("a condition needs a field");
      if (words[1] == "present") {
        condition.test = Condition::Test::kPresent;
      } else if (words[1] == "absent") {
        condition.test = Condition::Test::kAbsent;
      } else if (words[1] == "nonempty") {
        condition.test = Condition::Test::kNonempty;
      } else if ((words[1] == "==" || words[1] == "!=") && words.size() == 3) {
        condition.test = words[1] == "==" ? Condition::Test::kEquals : Condition::Test::kDiffers;
        condition.value = TRY(json::Parse(file_.arena, words[2]));
      } else {
        return Error(base::StrCat("unknown condition ", piece));
      }
      conditions.push_back(std::move(condition));
    }
    return base::OkStatus();
  }

  // `spec.containers[].env[]`; names with dots stand in double quotes; `.` is the object itself.
  base::Result<RulePath> Path(std::string_view text) {
    RulePath path;
    if (text == ".") return path;
    while (!text.empty()) {
      std::string_view name;
      if (text[0] == '"') {
        const std::size_t end = text.find('"', 1);
        if (end == std::string_view::npos) return Error("a quote is not closed");
        name = text.substr(1, end - 1);
        text.remove_prefix(end + 1);
      } else {
        name = text.substr(0, text.find_first_of(".["));
        text.remove_prefix(name.size());
      }
      if (name.empty()) return Error("a path has an empty step");
      path.push_back({file_.arena.Copy(name), json::HashKey(name), false});
      if (text.starts_with("[]")) {
        path.back().each = true;
        text.remove_prefix(2);
      }
      if (text.starts_with('.')) {
        text.remove_prefix(1);
      } else if (!text.empty()) {
        return Error("want a dot between the steps of a path");
      }
    }
    return path;
  }

  RuleFile& file_;
  std::size_t number_ = 0;
};

}  // namespace

base::Status ParseRules(std::string_view text, RuleFile& file) {
  Parser parser(file);
  std::size_t number = 0;
  for (const std::string_view line : base::Split(text, '\n')) {
    TRY(parser.Line(line, ++number));
  }
  return base::OkStatus();
}

json::Value AtPath(json::Value object, const RulePath& path) {
  for (const PathStep& step : path) {
    const json::Value* member = object.Find(step.name, step.hash);
    if (member == nullptr) return {};
    object = *member;
  }
  return object;
}

bool Holds(const Condition& condition, json::Value value) {
  switch (condition.test) {
    case Condition::Test::kEquals:
      return value == condition.value;
    case Condition::Test::kDiffers:
      return !(value == condition.value);
    case Condition::Test::kPresent:
      return !value.is_null();
    case Condition::Test::kAbsent:
      return value.is_null();
    case Condition::Test::kNonempty:
      return !IsZeroValue(value);
  }
  return false;
}

bool Holds(const std::vector<Condition>& conditions, json::Value object) {
  return std::all_of(conditions.begin(), conditions.end(), [&](const Condition& condition) {
    return Holds(condition, AtPath(object, condition.path));
  });
}

bool IsZeroValue(json::Value value) {
  switch (value.type()) {
    case json::Type::kNull:
      return true;
    case json::Type::kBool:
      return !value.AsBool();
    case json::Type::kInt:
    case json::Type::kDouble:
      return value.AsDouble() == 0;
    case json::Type::kString:
      return value.AsString().empty();
    case json::Type::kArray:
    case json::Type::kObject:
      return value.empty();
  }
  return false;
}

}  // namespace portcullis::api::schema
