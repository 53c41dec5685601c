// SPDX-License-Identifier: Apache-2.0

#include "offline/explain.h"

#include "admission/trace/table.h"
#include "base/strings.h"
#include "json/reader.h"
#include "json/yaml.h"
#include "offline/changes.h"
#include "offline/report/format.h"

namespace portcullis::offline {
namespace {

// The object without the owners of its fields, which the trace tells better.
std::string ObjectText(json::Arena& arena, const std::string& text) {
  const auto object = json::Parse(arena, text);
  if (!object.ok()) return "";
  return json::ToYaml(json::RemovePath(arena, *object, {"metadata", "managedFields"}));
}

std::string Colored(std::string_view text, std::string_view color, DiffStyle style) {
  if (style != DiffStyle::kColor) return std::string(text);
  return base::StrCat("\x1b[", color, "m", text, "\x1b[0m");
}

// What stands above the changes.
std::string HeadOf(const Result& result, DiffStyle style) {
  const std::string verdict = base::ToUpper(VerdictText(result.verdict));
  std::string out = base::StrCat(result.place.ToString(), ": ",
                                 Colored(verdict, IsRefusal(result.verdict) ? "31" : "32", style),
                                 " ", NameOf(result), "\n");
  for (const Failure& failure : result.failures) {
    out += base::StrCat("  ", failure.place.ToString(), ": ", failure.message, "\n");
    if (!failure.rule.file.empty()) {
      out += base::StrCat("      rule ", failure.rule.ToString(),
                          failure.expression.empty() ? "" : ": ", failure.expression, "\n");
    }
    for (const auto& [part, value] : failure.values) {
      out += base::StrCat("        ", part, " = ", value, "\n");
    }
  }
  json::Arena arena;
  if (!result.object.empty()) out += base::StrCat("\n", ObjectText(arena, result.object));
  for (const auto& [subject, object] : result.pods) {
    out += base::StrCat("\n# the ", subject, "\n", ObjectText(arena, object));
  }
  return out;
}

std::string TextOf(const Result& result, DiffStyle style) {
  const auto text = [&](const std::string& plain) {
    return style == DiffStyle::kHtml ? XmlText(plain) : plain;
  };
  std::string out = text(HeadOf(result, style));
  json::Arena arena;
  const auto trace = json::Parse(arena, result.trace);
  if (!trace.ok() || !trace->is_object()) return out;
  const std::string changes = ChangesOfTrace(*trace, result.sent, style);
  if (!changes.empty()) out += base::StrCat("\n", changes);
  return out + base::StrCat("\n", text(admission::TraceTable(*trace)));
}

}  // namespace

std::string ExplainAsText(const Report& report, bool color) {
  std::string out;
  for (const Problem& problem : report.problems) {
    out += base::StrCat(problem.place.ToString(), ": ERROR ", problem.message, "\n");
  }
  for (const Result& result : report.results) {
    if (!out.empty()) out += "\n";
    out += TextOf(result, color ? DiffStyle::kColor : DiffStyle::kPlain);
  }
  return out;
}

std::string ExplainAsHtml(const Report& report) {
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>portcullis "
      "explain</title>\n<style>:root { color-scheme: light dark; } body { font: 15px/1.5 "
      "system-ui, "
      "sans-serif; margin: 2rem auto; max-width: 90rem; padding: 0 1rem; } pre { font: 13px/1.4 "
      "ui-monospace, monospace; overflow-x: auto; } .deny, del { color: #c62828; "
      "} ins { color: #2e7d32; } del, ins { text-decoration: none; }</style></head><body>\n";
  for (const Problem& problem : report.problems) {
    out += base::StrCat("<p class=\"deny\">", XmlText(problem.place.ToString()), ": ",
                        XmlText(problem.message), "</p>\n");
  }
  for (const Result& result : report.results) {
    out += base::StrCat(
        "<details", report.results.size() == 1 || IsRefusal(result.verdict) ? " open" : "",
        "><summary class=\"", VerdictText(result.verdict), "\">", XmlText(result.place.ToString()),
        " ", VerdictText(result.verdict), " ", XmlText(NameOf(result)), "</summary><pre>",
        TextOf(result, DiffStyle::kHtml), "</pre></details>\n");
  }
  return out + "</body></html>\n";
}

}  // namespace portcullis::offline
