// SPDX-License-Identifier: Apache-2.0

#include "offline/report/coverage_forms.h"

#include <algorithm>
#include <map>

#include "base/strings.h"
#include "json/value.h"
#include "json/writer.h"
#include "offline/report/format.h"

namespace portcullis::offline {
namespace {

constexpr CoverageForm kForms[] = {
    {"text", &WriteCoverageText},
    {"json", &WriteCoverageJson},
    {"lcov", &WriteLcov},
    {"cobertura", &WriteCobertura},
};

struct Total {
  std::size_t reached = 0;
  std::size_t goals = 0;
};

Total TotalOf(const std::vector<PolicyCoverage>& policies) {
  Total total;
  for (const PolicyCoverage& policy : policies) {
    total.reached += policy.reached();
    total.goals += policy.goals();
  }
  return total;
}

// Rounded down: 100 % is everything.
std::string Percent(std::size_t reached, std::size_t goals) {
  return base::StrCat(std::to_string(goals == 0 ? 100 : reached * 100 / goals), " %");
}

// What is not reached of the point, or "".
std::string_view Missing(const CoveragePoint& point) {
  if (point.reached() == point.goals()) return "";
  if (point.hits == 0) return point.text.empty() ? "matches no request" : "is never evaluated";
  if (point.held == 0 && point.failed == 0) return "never has a result";
  return point.held == 0 ? "never holds" : "always holds";
}

json::Value Number(std::size_t number) {
  return json::Value::Int(static_cast<std::int64_t>(number));
}

// The points of the lines of one file.
using Lines = std::map<std::size_t, std::vector<const CoveragePoint*>>;

std::map<std::string, Lines> LinesOf(const std::vector<PolicyCoverage>& policies) {
  std::map<std::string, Lines> files;
  for (const PolicyCoverage& policy : policies) {
    for (const CoveragePoint& point : policy.points) {
      files[point.place.file][std::max<std::size_t>(point.place.line, 1)].push_back(&point);
    }
  }
  return files;
}

std::size_t HitsOf(const std::vector<const CoveragePoint*>& points) {
  std::size_t hits = 0;
  for (const CoveragePoint* point : points) hits = std::max(hits, point->hits);
  return hits;
}

// The two ways of each point of the line that decides.
Total BranchesOf(const std::vector<const CoveragePoint*>& points) {
  Total total;
  for (const CoveragePoint* point : points) {
    if (!point->decides) continue;
    total.goals += 2;
    total.reached += point->reached();
  }
  return total;
}

// Of lines, then of branches.
std::pair<Total, Total> TotalsOf(const Lines& lines) {
  std::pair<Total, Total> totals;
  for (const auto& [line, points] : lines) {
    ++totals.first.goals;
    if (HitsOf(points) > 0) ++totals.first.reached;
    const Total branches = BranchesOf(points);
    totals.second.goals += branches.goals;
    totals.second.reached += branches.reached;
  }
  return totals;
}

// "0.75", of nothing "1".
std::string Rate(const Total& total) {
  if (total.goals == 0) return "1";
  std::string out;
  json::WriteDouble(static_cast<double>(total.reached * 10000 / total.goals) / 10000.0, out);
  return out;
}

std::string Attribute(std::string_view name, std::string_view value) {
  return base::StrCat(" ", name, "=\"", XmlText(value), "\"");
}

std::string LineElement(std::size_t line, const std::vector<const CoveragePoint*>& points) {
  const Total branches = BranchesOf(points);
  std::string out = base::StrCat("            <line", Attribute("number", std::to_string(line)),
                                 Attribute("hits", std::to_string(HitsOf(points))),
                                 Attribute("branch", branches.goals > 0 ? "true" : "false"));
  if (branches.goals > 0) {
    const std::string percent = std::to_string(branches.reached * 100 / branches.goals);
    out += Attribute("condition-coverage",
                     base::StrCat(percent, "% (", std::to_string(branches.reached), "/",
                                  std::to_string(branches.goals), ")"));
  }
  return out + "/>\n";
}

}  // namespace

std::span<const CoverageForm> CoverageForms() { return kForms; }

const CoverageForm* FindCoverageForm(std::string_view name) {
  for (const CoverageForm& form : kForms) {
    if (form.name == name) return &form;
  }
  return nullptr;
}

std::string WriteCoverageText(const std::vector<PolicyCoverage>& policies) {
  std::string out;
  for (const PolicyCoverage& policy : policies) {
    out += base::StrCat(policy.place.ToString(), ": ", policy.kind, " ", policy.name, ": ",
                        Percent(policy.reached(), policy.goals()), "\n");
    for (const CoveragePoint& point : policy.points) {
      const std::string_view missing = Missing(point);
      if (missing.empty()) continue;
      const std::string text = OneLine(point.text);
      out += base::StrCat("  ", point.place.ToString(), ": ", point.path, " ", missing,
                          text.empty() ? "" : base::StrCat(": ", text), "\n");
    }
  }
  const Total total = TotalOf(policies);
  return base::StrCat(out, "coverage: ", Percent(total.reached, total.goals), " (",
                      std::to_string(total.reached), " of ", std::to_string(total.goals), ")\n");
}

std::string WriteCoverageJson(const std::vector<PolicyCoverage>& policies) {
  json::Arena arena;
  json::ArrayBuilder list(arena);
  for (const PolicyCoverage& policy : policies) {
    json::ArrayBuilder points(arena);
    for (const CoveragePoint& point : policy.points) {
      json::ObjectBuilder object(arena);
      object.Set("path", point.path)
          .Set("line", Number(point.place.line))
          .Set("column", Number(point.place.column))
          .Set("hits", Number(point.hits));
      if (!point.text.empty()) object.Set("expression", point.text);
      if (point.decides) {
        object.Set("true", Number(point.held)).Set("false", Number(point.failed));
      }
      points.Add(object.Build());
    }
    list.Add(json::ObjectBuilder(arena)
                 .Set("file", policy.place.file)
                 .Set("line", Number(policy.place.line))
                 .Set("kind", policy.kind)
                 .Set("name", policy.name)
                 .Set("reached", Number(policy.reached()))
                 .Set("goals", Number(policy.goals()))
                 .Set("points", points.Build())
                 .Build());
  }
  const Total total = TotalOf(policies);
  const json::Value document = json::ObjectBuilder(arena)
                                   .Set("policies", list.Build())
                                   .Set("reached", Number(total.reached))
                                   .Set("goals", Number(total.goals))
                                   .Build();
  return json::ToString(document, {.escape_html = false, .indent = 2}) + "\n";
}

std::string WriteLcov(const std::vector<PolicyCoverage>& policies) {
  std::string out = "TN:\n";
  for (const auto& [file, lines] : LinesOf(policies)) {
    out += base::StrCat("SF:", file, "\n");
    for (const auto& [line, points] : lines) {
      std::size_t block = 0;
      for (const CoveragePoint* point : points) {
        if (!point->decides) continue;
        const std::string begin =
            base::StrCat("BRDA:", std::to_string(line), ",", std::to_string(block++), ",");
        const auto taken = [&](std::size_t times) {
          return point->hits == 0 ? std::string("-") : std::to_string(times);
        };
        out += base::StrCat(begin, "0,", taken(point->held), "\n", begin, "1,",
                            taken(point->failed), "\n");
      }
    }
    const auto [of_lines, of_branches] = TotalsOf(lines);
    out += base::StrCat("BRF:", std::to_string(of_branches.goals),
                        "\nBRH:", std::to_string(of_branches.reached), "\n");
    for (const auto& [line, points] : lines) {
      out += base::StrCat("DA:", std::to_string(line), ",", std::to_string(HitsOf(points)), "\n");
    }
    out += base::StrCat("LF:", std::to_string(of_lines.goals),
                        "\nLH:", std::to_string(of_lines.reached), "\nend_of_record\n");
  }
  return out;
}

std::string WriteCobertura(const std::vector<PolicyCoverage>& policies) {
  std::string classes;
  Total all_lines;
  Total all_branches;
  for (const auto& [file, lines] : LinesOf(policies)) {
    const auto [of_lines, of_branches] = TotalsOf(lines);
    all_lines.goals += of_lines.goals;
    all_lines.reached += of_lines.reached;
    all_branches.goals += of_branches.goals;
    all_branches.reached += of_branches.reached;
    classes += base::StrCat("        <class", Attribute("name", file), Attribute("filename", file),
                            Attribute("line-rate", Rate(of_lines)),
                            Attribute("branch-rate", Rate(of_branches)),
                            " complexity=\"0\">\n          <methods/>\n          <lines>\n");
    for (const auto& [line, points] : lines) classes += LineElement(line, points);
    classes += "          </lines>\n        </class>\n";
  }
  const std::string rates = base::StrCat(Attribute("line-rate", Rate(all_lines)),
                                         Attribute("branch-rate", Rate(all_branches)));
  return base::StrCat(
      "<?xml version=\"1.0\" ?>\n<!DOCTYPE coverage SYSTEM "
      "\"http://cobertura.sourceforge.net/xml/coverage-04.dtd\">\n<coverage",
      rates, Attribute("lines-covered", std::to_string(all_lines.reached)),
      Attribute("lines-valid", std::to_string(all_lines.goals)),
      Attribute("branches-covered", std::to_string(all_branches.reached)),
      Attribute("branches-valid", std::to_string(all_branches.goals)),
      " complexity=\"0\" version=\"portcullis\" timestamp=\"0\">\n"
      "  <sources>\n    <source>.</source>\n  </sources>\n  <packages>\n    <package "
      "name=\"policies\"",
      rates, " complexity=\"0\">\n      <classes>\n", classes,
      "      </classes>\n    </package>\n  </packages>\n</coverage>\n");
}

}  // namespace portcullis::offline
