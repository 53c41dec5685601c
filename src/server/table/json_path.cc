// SPDX-License-Identifier: Apache-2.0

#include "server/table/json_path.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/strings.h"

namespace portcullis::server::table {
namespace {

using json::Value;
using Values = std::vector<Value>;

constexpr int kMaxDepth = 64;  // of filters in filters and of descent

// Steps through a path while it is read. A mistake ends with nothing found.
class Walker {
 public:
  Walker(std::string_view path, int depth) : path_(path), depth_(depth) {}

  Values Walk(Values found) {
    if (depth_ > kMaxDepth) return {};
    while (!path_.empty() && !broken_) {
      if (Take("..")) {
        found = Descend(found);
        if (path_.empty() || path_.front() == '[') continue;
        found = Fields(found, Name());
      } else if (Take(".")) {
        if (path_.empty() || path_.front() == '[') continue;
        found = Fields(found, Name());
      } else if (Take("[")) {
        found = Bracket(found);
      } else {
        broken_ = true;
      }
    }
    return broken_ ? Values() : found;
  }

 private:
  bool Take(std::string_view text) {
    if (!path_.starts_with(text)) return false;
    path_.remove_prefix(text.size());
    return true;
  }

  // Up to the next dot or bracket; a backslash takes away the meaning of what follows it.
  std::string Name() {
    std::string name;
    while (!path_.empty() && path_.front() != '.' && path_.front() != '[') {
      if (path_.front() == '\\' && path_.size() > 1) path_.remove_prefix(1);
      name.push_back(path_.front());
      path_.remove_prefix(1);
    }
    return name;
  }

  static void AppendAll(Value value, Values& out) {
    for (const Value& element : value.elements()) out.push_back(element);
    for (const json::Member& member : value.members()) out.push_back(member.value);
  }

  Values Fields(const Values& found, std::string_view name) {
    Values out;
    for (const Value& value : found) {
      if (name == "*") {
        AppendAll(value, out);
      } else if (const Value* member = value.is_object() ? value.Find(name) : nullptr) {
        out.push_back(*member);
      }
    }
    return out;
  }

  static void DescendInto(Value value, int depth, Values& out) {
    out.push_back(value);
    if (depth > kMaxDepth) return;
    Values below;
    AppendAll(value, below);
    for (const Value& one : below) DescendInto(one, depth + 1, out);
  }
  static Values Descend(const Values& found) {
    Values out;
    for (const Value& value : found) DescendInto(value, 0, out);
    return out;
  }

  // Behind "[": the text up to its "]", with quotes and inner brackets respected.
  std::string_view Inside() {
    char quote = 0;
    int depth = 1;
    for (std::size_t i = 0; i < path_.size(); ++i) {
      const char c = path_[i];
      if (quote != 0) {
        if (c == '\\') ++i;
        if (c == quote) quote = 0;
        continue;
      }
      if (c == '"' || c == '\'') quote = c;
      if (c == '[') ++depth;
      if (c != ']' || --depth > 0) continue;
      const std::string_view inside = path_.substr(0, i);
      path_.remove_prefix(i + 1);
      return inside;
    }
    broken_ = true;
    return {};
  }

  static bool IsQuoted(std::string_view text) {
    return text.size() >= 2 && text.front() == text.back() &&
           (text.front() == '\'' || text.front() == '"');
  }

  Values Bracket(const Values& found) {
    const std::string_view inside = base::Trim(Inside());
    if (broken_) return {};
    if (inside.starts_with("?(") && inside.ends_with(")")) {
      return Filtered(found, inside.substr(2, inside.size() - 3));
    }
    Values out;
    for (std::string_view part : SplitUnion(inside)) {
      part = base::Trim(part);
      Values some;
      if (part == "*") {
        some = Fields(found, "*");
      } else if (IsQuoted(part)) {
        some = Fields(found, part.substr(1, part.size() - 2));
      } else {
        some = Slice(found, part);
      }
      out.insert(out.end(), some.begin(), some.end());
    }
    return out;
  }

  static std::vector<std::string_view> SplitUnion(std::string_view text) {
    std::vector<std::string_view> parts;
    char quote = 0;
    std::size_t start = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (quote != 0) {
        if (text[i] == quote) quote = 0;
      } else if (text[i] == '"' || text[i] == '\'') {
        quote = text[i];
      } else if (text[i] == ',') {
        parts.push_back(text.substr(start, i - start));
        start = i + 1;
      }
    }
    parts.push_back(text.substr(start));
    return parts;
  }

  // "1", "-1", "0:2", ":2", "::2".
  Values Slice(const Values& found, std::string_view text) {
    std::vector<std::optional<std::int64_t>> numbers;
    for (const std::string_view part : base::Split(text, ':')) {
      const auto number = base::ParseInt(part);
      if (!part.empty() && !number) {
        broken_ = true;
        return {};
      }
      numbers.push_back(part.empty() ? std::nullopt : number);
    }
    if (numbers.size() > 3) {
      broken_ = true;
      return {};
    }
    Values out;
    for (const Value& value : found) {
      if (value.is_null()) continue;
      const auto size = static_cast<std::int64_t>(value.size());
      const std::int64_t given = numbers[0].value_or(0);
      const std::int64_t first = given < 0 ? given + size : given;
      // Without a colon it is the one element; `[]` is the first.
      std::int64_t last = numbers.size() > 1 ? numbers[1].value_or(size) : given + 1;
      if (last < 0 || (last == 0 && numbers.size() == 1)) last += size;
      const std::int64_t step = numbers.size() > 2 ? numbers[2].value_or(1) : 1;
      const bool within = first >= 0 && first < size && last >= first && last <= size;
      if (!value.is_array() || step <= 0 || (first != last && !within)) {
        broken_ = true;
        return {};
      }
      for (std::int64_t i = first; i < last; i += step) {
        out.push_back(value[static_cast<std::size_t>(i)]);
      }
    }
    return out;
  }

  Values Filtered(const Values& found, std::string_view condition) const {
    Values out;
    for (const Value& value : found) {
      for (const Value& element : value.elements()) {
        if (Holds(element, condition)) out.push_back(element);
      }
    }
    return out;
  }

  static std::size_t OperatorAt(std::string_view text, std::string_view& found) {
    char quote = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (quote != 0) {
        if (text[i] == quote) quote = 0;
        continue;
      }
      if (text[i] == '"' || text[i] == '\'') quote = text[i];
      for (const std::string_view op : {"==", "!=", "<=", ">=", "<", ">"}) {
        if (!text.substr(i).starts_with(op)) continue;
        found = op;
        return i;
      }
    }
    return std::string_view::npos;
  }

  bool Holds(Value element, std::string_view condition) const {
    std::string_view op;
    const std::size_t at = OperatorAt(condition, op);
    if (at == std::string_view::npos) return !Operand(element, condition).empty();
    const Values left = Operand(element, condition.substr(0, at));
    const Values right = Operand(element, condition.substr(at + op.size()));
    if (left.size() != 1 || right.size() != 1) return false;
    return Compare(left.front(), right.front(), op);
  }

  // "@.type", "'text'", "5", "true".
  Values Operand(Value element, std::string_view text) const {
    text = base::Trim(text);
    if (text.starts_with('@')) return Walker(text.substr(1), depth_ + 1).Walk({element});
    if (IsQuoted(text)) return {Value::StringView(text.substr(1, text.size() - 2))};
    if (const auto number = base::ParseInt(text)) return {Value::Int(*number)};
    if (text == "true" || text == "false") return {Value::Bool(text == "true")};
    return {};
  }

  static bool Compare(Value a, Value b, std::string_view op) {
    int order = 0;
    if (a.is_number() && b.is_number()) {
      order = a.AsDouble() < b.AsDouble() ? -1 : a.AsDouble() > b.AsDouble() ? 1 : 0;
    } else if (a.is_string() && b.is_string()) {
      order = a.AsString().compare(b.AsString());
    } else if (a.is_bool() && b.is_bool()) {
      order = a.AsBool() == b.AsBool() ? 0 : 1;
    } else {
      return op == "!=";
    }
    if (op == "==") return order == 0;
    if (op == "!=") return order != 0;
    if (op == "<") return order < 0;
    if (op == "<=") return order <= 0;
    if (op == ">") return order > 0;
    return order >= 0;
  }

  std::string_view path_;
  const int depth_;
  bool broken_ = false;
};

}  // namespace

std::vector<Value> FindJsonPath(Value object, std::string_view path) {
  return Walker(path, 0).Walk({object});
}

}  // namespace portcullis::server::table
