// SPDX-License-Identifier: Apache-2.0

#include "offline/changes.h"

#include <utility>

#include "admission/trace/table.h"
#include "base/strings.h"
#include "json/patch.h"
#include "json/pointer.h"
#include "json/yaml.h"
#include "offline/report/format.h"

namespace portcullis::offline {
namespace {

constexpr std::size_t kMostLines = 40;  // of a value

// "spec.tolerations:" with the lines of the value, or "spec.priority: 0".
std::vector<std::string> LinesOf(std::string_view path, json::Value value) {
  const std::string yaml = json::ToYaml(value);
  std::vector<std::string> lines;
  for (const std::string_view line : base::Split(base::Trim(yaml), '\n')) lines.emplace_back(line);
  const bool is_short = lines.size() == 1 && (!value.is_object() || value.empty()) &&
                        (!value.is_array() || value.empty());
  if (is_short) return {base::StrCat(path, ": ", lines.front())};
  const std::size_t shown = std::min(lines.size(), kMostLines);
  std::vector<std::string> out = {base::StrCat(path, ":")};
  for (std::size_t i = 0; i < shown; ++i) out.push_back(base::StrCat("  ", lines[i]));
  if (shown < lines.size()) {
    out.push_back(base::StrCat("  … ", std::to_string(lines.size() - shown), " more lines"));
  }
  return out;
}

class Writer {
 public:
  Writer(std::string_view sent, DiffStyle style) : style_(style) {
    const auto parsed = json::ParseYamlOrJson(arena_, sent);
    if (parsed.ok()) object_ = *parsed;
  }

  std::string Write(json::Value trace) {
    for (const json::Value& step : trace["steps"].elements()) AddStep(step);
    return std::move(out_);
  }

 private:
  void AddStep(json::Value step) {
    const json::Value changes = step["changes"];
    // Of an object in another version: it cannot be followed.
    if (step.Has("objectVersion")) object_ = {};
    std::string lines;
    for (const json::Value& change : changes.elements()) AddChange(change, lines);
    if (lines.empty()) return;
    const std::int64_t round = step["round"].AsInt();
    out_ += base::StrCat(Text(base::StrCat(step["phase"].AsString(), " ",
                                           round == 0 ? "" : std::to_string(round) + " ",
                                           admission::TraceStepName(step))),
                         "\n", lines);
  }

  void AddChange(json::Value change, std::string& lines) {
    const std::string_view pointer = change["path"].AsString();
    const auto before = json::Resolve(object_, pointer);
    const auto after = json::ApplyPatch(arena_, object_, json::MakeArray(arena_, {change}));
    object_ = after.ok() ? *after : json::Value();
    // Who has set which field is a table of its own.
    if (pointer.starts_with("/metadata/managedFields")) return;
    const std::string path = admission::TraceFieldPath(pointer);
    const std::string_view op = change["op"].AsString();
    const bool inserts = op == "add" && !pointer.empty() && IsInList(pointer);
    if (op != "remove" && op != "replace" && op != "add") {  // move, copy
      Add('+',
          base::StrCat(path, " (", op, " of ", admission::TraceFieldPath(change["from"].AsString()),
                       ")"),
          lines);
      return;
    }
    if (op == "remove" && !before) Add('-', path, lines);
    if (before && !inserts) {
      for (const std::string& line : LinesOf(path, *before)) Add('-', line, lines);
    }
    if (op == "remove") return;
    for (const std::string& line : LinesOf(path, change["value"])) Add('+', line, lines);
  }

  // Whether the last step of the pointer is an index.
  static bool IsInList(std::string_view pointer) {
    const std::string_view last = pointer.substr(pointer.rfind('/') + 1);
    return last == "-" || (!last.empty() && last.find_first_not_of("0123456789") == last.npos);
  }

  std::string Text(std::string_view text) const {
    return style_ == DiffStyle::kHtml ? XmlText(text) : std::string(text);
  }

  void Add(char sign, std::string_view line, std::string& lines) const {
    const bool added = sign == '+';
    const std::string text = Text(base::StrCat(std::string_view(&sign, 1), " ", line));
    switch (style_) {
      case DiffStyle::kPlain:
        lines += base::StrCat(text, "\n");
        break;
      case DiffStyle::kColor:
        lines += base::StrCat(added ? "\x1b[32m" : "\x1b[31m", text, "\x1b[0m\n");
        break;
      case DiffStyle::kHtml:
        lines += base::StrCat(added ? "<ins>" : "<del>", text, added ? "</ins>\n" : "</del>\n");
        break;
    }
  }

  json::Arena arena_;
  const DiffStyle style_;
  json::Value object_;  // before the next change; null: unknown
  std::string out_;
};

}  // namespace

std::string ChangesOfTrace(json::Value trace, std::string_view sent, DiffStyle style) {
  return Writer(sent, style).Write(trace);
}

}  // namespace portcullis::offline
