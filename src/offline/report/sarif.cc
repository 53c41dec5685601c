// SPDX-License-Identifier: Apache-2.0

// SARIF 2.1.0 (docs.oasis-open.org/sarif/sarif/v2.1.0): a result for each failure and warning.
#include <algorithm>

#include "base/strings.h"
#include "json/writer.h"
#include "offline/report/format.h"

namespace portcullis::offline {
namespace {

// The part of a source that rules are told apart by: its first word.
std::string RuleId(std::string_view source) {
  const auto cut = base::Cut(source, ",");
  return std::string(cut ? cut->first : source);
}

class Sarif {
 public:
  explicit Sarif(json::Arena& arena) : arena_(arena), results_(arena) {}

  void Add(std::string_view level, const std::string& rule, std::string_view message,
           const Location& place) {
    if (std::find(rules_.begin(), rules_.end(), rule) == rules_.end()) rules_.push_back(rule);
    json::ArrayBuilder locations(arena_);
    if (!place.file.empty()) locations.Add(LocationOf(place));
    results_.Add(json::ObjectBuilder(arena_)
                     .Set("ruleId", rule)
                     .Set("level", level)
                     .Set("message", Message(message))
                     .Set("locations", locations.Build())
                     .Build());
  }

  json::Value Build() {
    json::ArrayBuilder rules(arena_);
    for (const std::string& rule : rules_) {
      rules.Add(json::ObjectBuilder(arena_).Set("id", rule).Build());
    }
    const json::Value driver =
        json::ObjectBuilder(arena_).Set("name", "portcullis").Set("rules", rules.Build()).Build();
    const json::Value run =
        json::ObjectBuilder(arena_)
            .Set("tool", json::ObjectBuilder(arena_).Set("driver", driver).Build())
            .Set("columnKind", "unicodeCodePoints")
            .Set("results", results_.Build())
            .Build();
    return json::ObjectBuilder(arena_)
        .Set("$schema", "https://json.schemastore.org/sarif-2.1.0.json")
        .Set("version", "2.1.0")
        .Set("runs", json::ArrayBuilder(arena_).Add(run).Build())
        .Build();
  }

 private:
  json::Value Message(std::string_view text) {
    return json::ObjectBuilder(arena_).Set("text", text).Build();
  }

  json::Value LocationOf(const Location& place) {
    json::ObjectBuilder physical(arena_);
    physical.Set("artifactLocation",
                 json::ObjectBuilder(arena_).Set("uri", Uri(place.file)).Build());
    if (place.line != 0) {
      json::ObjectBuilder region(arena_);
      region.Set("startLine", json::Value::Int(static_cast<std::int64_t>(place.line)));
      if (place.column != 0) {
        region.Set("startColumn", json::Value::Int(static_cast<std::int64_t>(place.column)));
      }
      physical.Set("region", region.Build());
    }
    return json::ObjectBuilder(arena_).Set("physicalLocation", physical.Build()).Build();
  }

  // A relative reference: what RFC 3986 has no place for in paths is escaped.
  static std::string Uri(std::string_view path) {
    constexpr std::string_view kPlain = "-._~!$&'()*+,;=@/";
    std::string out;
    for (const char c : path) {
      const bool letter =
          (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
      if (letter || kPlain.find(c) != std::string_view::npos) {
        out += c;
      } else {
        out += base::StrCat("%", base::ToUpper(base::HexEncode(std::string_view(&c, 1))));
      }
    }
    return out;
  }

  json::Arena& arena_;
  json::ArrayBuilder results_;
  std::vector<std::string> rules_;
};

}  // namespace

std::string WriteSarif(const Report& report, const FormatOptions&) {
  json::Arena arena;
  Sarif sarif(arena);
  for (const Problem& problem : report.problems) {
    sarif.Add("error", "unreadable", problem.message, problem.place);
  }
  for (const Result& result : report.results) {
    for (const Failure& failure : result.failures) {
      sarif.Add("error", RuleId(failure.source), failure.message, failure.place);
    }
    if (result.is_case) continue;
    if (!result.rule.empty()) {
      sarif.Add(result.is_info ? "note" : "warning", result.rule, result.message, result.place);
      continue;
    }
    for (const std::string& warning : result.warnings) {
      sarif.Add("warning", "warning", warning, result.place);
    }
  }
  return json::ToString(sarif.Build(), {.escape_html = false, .indent = 2}) + "\n";
}

}  // namespace portcullis::offline
