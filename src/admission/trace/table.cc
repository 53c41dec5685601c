// SPDX-License-Identifier: Apache-2.0

#include "admission/trace/table.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "base/clock.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "json/pointer.h"

namespace portcullis::admission {
namespace {

constexpr std::size_t kShownChanges = 3;
constexpr std::size_t kGap = 2;

// Rows of columns, each as wide as its widest cell; the last one is never padded.
class Table {
 public:
  void Add(std::vector<std::string> row) {
    for (std::size_t i = 0; i + 1 < row.size(); ++i) {
      if (widths_.size() <= i) widths_.resize(i + 1);
      widths_[i] = std::max(widths_[i], base::RuneCount(row[i]));
    }
    rows_.push_back(std::move(row));
  }

  std::string Text() const {
    std::string out;
    for (const auto& row : rows_) {
      std::string line;
      for (std::size_t i = 0; i < row.size(); ++i) {
        line += row[i];
        if (i + 1 < row.size()) line.append(widths_[i] + kGap - base::RuneCount(row[i]), ' ');
      }
      line.resize(line.find_last_not_of(' ') + 1);
      out += line + "\n";
    }
    return out;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::size_t> widths_;
};

// Three digits are enough: "1.23ms".
std::string DurationText(json::Value nanoseconds) {
  std::int64_t value = nanoseconds.AsInt();
  std::int64_t unit = 1;
  while (value / unit >= 1000) unit *= 10;
  return base::FormatDuration(std::chrono::nanoseconds(value / unit * unit));
}

std::string ChangesText(json::Value changes) {
  std::string text;
  const std::size_t shown = std::min(changes.size(), kShownChanges);
  for (const json::Value& change : changes.elements().subspan(0, shown)) {
    if (!text.empty()) text += ", ";
    text += base::StrCat(change["op"].AsString(), " ", TraceFieldPath(change["path"].AsString()));
  }
  if (changes.size() > shown) {
    text += base::StrCat(", and ", std::to_string(changes.size() - shown), " more");
  }
  return text;
}

std::string PhaseText(json::Value step) {
  std::string text(step["phase"].AsString());
  if (step["round"].AsInt() != 0) text += base::StrCat(" ", std::to_string(step["round"].AsInt()));
  if (step.Has("attempt")) {
    text += base::StrCat(" (attempt ", std::to_string(step["attempt"].AsInt()), ")");
  }
  return text;
}

std::string WhyText(json::Value step) {
  std::string text(step["message"].AsString());
  const std::string_view reason = step["reason"].AsString();
  if (!reason.empty()) text = base::StrCat(reason, text.empty() ? "" : ": ", text);
  const std::string changes = ChangesText(step["changes"]);
  if (!text.empty() && !changes.empty()) text += "; ";
  text += changes;
  return base::ReplaceAll(text, "\n", " ");
}

std::string TargetText(json::Value request) {
  std::string text(request["resource"].AsString());
  if (request.Has("group")) text += base::StrCat(".", request["group"].AsString());
  if (request.Has("subresource")) text += base::StrCat("/", request["subresource"].AsString());
  text += " ";
  if (request.Has("namespace")) text += base::StrCat(request["namespace"].AsString(), "/");
  text += request["name"].AsString();
  return text;
}

std::string VerdictText(json::Value verdict) {
  return base::StrCat(verdict["allowed"].AsBool() ? "allowed" : "refused", ", ",
                      std::to_string(verdict["code"].AsInt()));
}

void AddStep(json::Value step, Table& table) {
  const std::string object(step["object"].AsString());
  const bool is_part = step.Has("webhook") || step.Has("policy");
  std::string actor = base::StrCat(is_part ? "  " : "", TraceStepName(step));
  if (!object.empty()) actor += base::StrCat(" [", object, "]");
  table.Add({PhaseText(step), std::move(actor), std::string(step["outcome"].AsString()),
             DurationText(step["durationNanoseconds"]),
             step.Has("cost") ? std::to_string(step["cost"].AsInt()) : "", WhyText(step)});
  for (const json::Value& warning : step["warnings"].elements()) {
    table.Add({"", "", "", "", "", base::StrCat("warning: ", warning.AsString())});
  }
  for (const json::Member& annotation : step["auditAnnotations"].members()) {
    table.Add({"", "", "", "", "",
               base::StrCat("audit: ", annotation.name(), "=", annotation.value.AsString())});
  }
}

}  // namespace

std::string TraceFieldPath(std::string_view pointer) {
  const auto tokens = json::ParsePointer(pointer);
  if (!tokens.ok() || tokens->empty()) return "(all)";
  std::string path;
  for (const std::string& token : *tokens) {
    const bool is_index = token.find_first_not_of("0123456789") == std::string::npos;
    if (is_index || token.find_first_of("./") != std::string::npos) {
      path += base::StrCat("[", token, "]");
    } else {
      path += base::StrCat(path.empty() ? "" : ".", token);
    }
  }
  return path;
}

std::string TraceStepName(json::Value step) {
  for (const std::string_view name : {"stage", "plugin"}) {
    if (step.Has(name)) return std::string(step[name].AsString());
  }
  std::string text(step[step.Has("webhook") ? "configuration" : "policy"].AsString());
  for (const std::string_view name : {"webhook", "binding"}) {
    if (step.Has(name)) text += base::StrCat("/", step[name].AsString());
  }
  if (step.Has("param")) text += base::StrCat(" (param ", step["param"].AsString(), ")");
  return text;
}

std::string TraceTable(json::Value document) {
  const json::Value request = document["request"];
  const json::Value verdict = document["verdict"];
  std::string out =
      base::StrCat(request["verb"].AsString(), " ", TargetText(request), " by ",
                   request["user"].AsString(), request["dryRun"].AsBool() ? " (dry run)" : "", ": ",
                   VerdictText(verdict), ", ", DurationText(document["durationNanoseconds"]), "\n");
  if (verdict.Has("message")) out += base::StrCat(verdict["message"].AsString(), "\n");
  Table steps;
  steps.Add({"PHASE", "STEP", "OUTCOME", "TIME", "COST", "WHY"});
  for (const json::Value& step : document["steps"].elements()) AddStep(step, steps);
  out += "\n" + steps.Text();
  if (document.Has("omittedSteps")) {
    out += base::StrCat("and ", std::to_string(document["omittedSteps"].AsInt()), " more steps\n");
  }
  if (!document.Has("fields")) return out;
  Table fields;
  fields.Add({"FIELD", "SET BY"});
  for (const json::Value& field : document["fields"].elements()) {
    fields.Add({TraceFieldPath(field["path"].AsString()), std::string(field["setBy"].AsString())});
  }
  return out + "\n" + fields.Text();
}

std::string TraceListTable(json::Value documents) {
  Table table;
  table.Add({"TIME", "ID", "USER", "VERB", "OBJECT", "VERDICT", "DURATION"});
  for (const json::Value& document : documents.elements()) {
    const json::Value request = document["request"];
    table.Add({std::string(document["time"].AsString()), std::string(document["id"].AsString()),
               std::string(request["user"].AsString()), std::string(request["verb"].AsString()),
               TargetText(request), VerdictText(document["verdict"]),
               DurationText(document["durationNanoseconds"])});
  }
  return table.Text();
}

}  // namespace portcullis::admission
