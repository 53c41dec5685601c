// SPDX-License-Identifier: Apache-2.0

#include "offline/two_sides.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "json/diff.h"
#include "json/reader.h"
#include "json/writer.h"
#include "json/yaml.h"
#include "offline/report/format.h"

namespace portcullis::offline {
namespace {

// Names that the server would choose at random.
std::string WithoutRandomNames(std::string text) {
  constexpr std::string_view kPrefix = "kube-api-access-";
  constexpr std::size_t kRandom = 5;
  for (std::size_t at = text.find(kPrefix); at != std::string::npos;
       at = text.find(kPrefix, at + 1)) {
    const std::size_t begin = at + kPrefix.size();
    if (begin + kRandom <= text.size()) text.replace(begin, kRandom, std::string(kRandom, '?'));
  }
  return text;
}

// The object without what differs from run to run.
json::Value Comparable(json::Arena& arena, const std::string& text) {
  auto parsed = json::Parse(arena, arena.Copy(WithoutRandomNames(text)));
  if (!parsed.ok() || !parsed->is_object()) return {};
  // A Job has its uid in its labels and its selector.
  const std::string_view uid = (*parsed)["metadata"]["uid"].AsString();
  if (!uid.empty()) {
    parsed = json::Parse(arena, arena.Copy(base::ReplaceAll(WithoutRandomNames(text), uid, "uid")));
    if (!parsed.ok()) return {};
  }
  json::Value metadata = (*parsed)["metadata"];
  for (std::string_view name : {"uid", "creationTimestamp", "resourceVersion", "managedFields"}) {
    metadata = json::Without(arena, metadata, name);
  }
  if (metadata.Has("generateName")) metadata = json::Without(arena, metadata, "name");
  return json::With(arena, *parsed, "metadata", metadata);
}

base::Result<Report> JudgeSide(const DiffSide& side) {
  return side.inputs.tests.empty() ? Judge(side.inputs, side.options)
                                   : RunTests(side.inputs, side.options);
}

std::vector<std::string> Messages(const Result& result) {
  std::vector<std::string> out;
  for (const Failure& failure : result.failures) {
    out.push_back(WithoutRandomNames(failure.message));
  }
  return out;
}

bool IsSame(const Result& before, const Result& after) {
  return before.verdict == after.verdict && before.code == after.code &&
         before.message == after.message && Messages(before) == Messages(after) &&
         before.warnings == after.warnings && before.audit_annotations == after.audit_annotations &&
         before.webhooks_not_called == after.webhooks_not_called;
}

std::string PatchBetween(const Result& before, const Result& after) {
  if (before.object.empty() || after.object.empty()) return "";
  json::Arena arena;
  const json::Value patch =
      json::Diff(arena, Comparable(arena, before.object), Comparable(arena, after.object));
  return patch.empty() ? "" : json::ToString(patch);
}

std::string Headline(const Difference& one) {
  const std::string_view was = VerdictText(one.before.verdict);
  const std::string_view is = VerdictText(one.after.verdict);
  return base::StrCat(one.after.place.ToString(), ": ", NameOf(one.after), ": ", was,
                      was == is ? "" : base::StrCat(" -> ", is), "\n");
}

// Lines with - and + for what only one of the lists has.
void AddChanges(std::string_view what, const std::vector<std::string>& before,
                const std::vector<std::string>& after, std::vector<std::string>& out) {
  const auto add = [&](char sign, const std::vector<std::string>& some,
                       const std::vector<std::string>& others) {
    for (const std::string& text : some) {
      if (std::find(others.begin(), others.end(), text) != others.end()) continue;
      out.push_back(base::StrCat(std::string(1, sign), " ", what, text));
    }
  };
  add('-', before, after);
  add('+', after, before);
}

std::vector<std::string> Annotations(const Result& result) {
  std::vector<std::string> out;
  for (const auto& [key, value] : result.audit_annotations) {
    out.push_back(base::StrCat(key, ": ", value));
  }
  return out;
}

// What differs besides the verdict, line by line.
std::vector<std::string> ChangesOf(const Difference& one) {
  std::vector<std::string> out;
  AddChanges("", Messages(one.before), Messages(one.after), out);
  AddChanges("warning: ", one.before.warnings, one.after.warnings, out);
  AddChanges("annotation ", Annotations(one.before), Annotations(one.after), out);
  AddChanges("webhook ", one.before.webhooks_not_called, one.after.webhooks_not_called, out);
  json::Arena arena;
  const auto patch = json::Parse(arena, one.patch.empty() ? "[]" : one.patch);
  if (!patch.ok()) return out;
  for (const json::Value& change : patch->elements()) {
    out.push_back(base::StrCat(
        change["op"].AsString(), " ", change["path"].AsString(),
        change.Has("value") ? base::StrCat(": ", json::ToString(change["value"])) : ""));
  }
  return out;
}

json::Value SideOf(json::Arena& arena, const Result& result) {
  const auto texts = [&](const std::vector<std::string>& all) {
    json::ArrayBuilder array(arena);
    for (const std::string& text : all) array.Add(text);
    return array.Build();
  };
  json::ObjectBuilder annotations(arena);
  for (const auto& [key, value] : result.audit_annotations) annotations.Set(key, value);
  return json::ObjectBuilder(arena)
      .Set("verdict", VerdictText(result.verdict))
      .Set("code", result.code)
      .Set("message", result.message)
      .Set("failures", texts(Messages(result)))
      .Set("warnings", texts(result.warnings))
      .Set("auditAnnotations", annotations.Build())
      .Build();
}

json::Value DiffAsValue(const DiffReport& report, json::Arena& arena) {
  json::ArrayBuilder changes(arena);
  for (const Difference& one : report.differences) {
    json::ObjectBuilder change(arena);
    change.Set("file", one.after.place.file)
        .Set("line", static_cast<std::int64_t>(one.after.place.line))
        .Set("name", NameOf(one.after))
        .Set("operation", one.after.operation)
        .Set("old", SideOf(arena, one.before))
        .Set("new", SideOf(arena, one.after));
    const auto patch = json::Parse(arena, one.patch.empty() ? "[]" : one.patch);
    if (patch.ok()) change.Set("patch", *patch);
    changes.Add(change.Build());
  }
  json::ArrayBuilder problems(arena);
  for (const Problem& problem : report.problems) {
    problems.Add(base::StrCat(problem.place.ToString(), ": ", problem.message));
  }
  const json::Value summary =
      json::ObjectBuilder(arena)
          .Set("requests", static_cast<std::int64_t>(report.differences.size() + report.same))
          .Set("differ", static_cast<std::int64_t>(report.differences.size()))
          .Build();
  return json::ObjectBuilder(arena)
      .Set("changes", changes.Build())
      .Set("problems", problems.Build())
      .Set("summary", summary)
      .Build();
}

// An octal number of a header of tar.
std::size_t Octal(std::string_view text) {
  std::size_t number = 0;
  for (const char c : text) {
    if (c < '0' || c > '7') break;
    number = number * 8 + static_cast<std::size_t>(c - '0');
  }
  return number;
}

std::string_view CText(std::string_view field) { return field.substr(0, field.find('\0')); }

// "30 path=a/long/name\n…" of an extended header.
std::string PathOfRecord(std::string_view records) {
  const auto cut = base::Cut(records, " path=");
  if (!cut) return "";
  return std::string(cut->second.substr(0, cut->second.find('\n')));
}

}  // namespace

base::Status ReadTar(const std::string& revision, std::string_view archive, Inputs& inputs) {
  constexpr std::size_t kBlock = 512;
  std::string long_name;
  while (archive.size() >= kBlock && archive[0] != '\0') {
    const std::string_view head = archive.substr(0, kBlock);
    const std::size_t size = Octal(head.substr(124, 12));
    const std::size_t padded = (size + kBlock - 1) / kBlock * kBlock;
    archive.remove_prefix(kBlock);
    if (padded > archive.size()) return base::ConfigError("git archive: the archive is cut off");
    const std::string_view content = archive.substr(0, size);
    archive.remove_prefix(padded);
    const char type = head[156];
    if (type == 'x') long_name = PathOfRecord(content);
    if (type != '0' && type != '\0') continue;
    std::string name = std::exchange(long_name, "");
    if (name.empty()) {
      const std::string_view prefix = CText(head.substr(345, 155));
      name = base::StrCat(prefix, prefix.empty() ? "" : "/", CText(head.substr(0, 100)));
    }
    const bool wanted =
        name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".json");
    if (wanted) ReadText(base::StrCat(revision, "/", name), std::string(content), false, inputs);
  }
  return base::OkStatus();
}

base::Result<DiffReport> Diff(const DiffSide& before, const DiffSide& after) {
  Report was = TRY(JudgeSide(before));
  Report is = TRY(JudgeSide(after));
  DiffReport report;
  for (const Report* side : {&was, &is}) {
    report.problems.insert(report.problems.end(), side->problems.begin(), side->problems.end());
  }
  // Tests have a result for each case; manifests of the requests come before those of the sides.
  std::size_t count = std::min(was.results.size(), is.results.size());
  if (before.inputs.tests.empty()) count = std::min(count, before.inputs.own);
  for (std::size_t i = 0; i < count; ++i) {
    Difference one{std::move(was.results[i]), std::move(is.results[i]), ""};
    one.patch = PatchBetween(one.before, one.after);
    if (IsSame(one.before, one.after) && one.patch.empty()) {
      ++report.same;
    } else {
      report.differences.push_back(std::move(one));
    }
  }
  return report;
}

std::string DiffAsText(const DiffReport& report) {
  std::string out;
  for (const Problem& problem : report.problems) {
    out += base::StrCat(problem.place.ToString(), ": ERROR ", problem.message, "\n");
  }
  for (const Difference& one : report.differences) {
    out += Headline(one);
    for (const std::string& line : ChangesOf(one)) out += base::StrCat("  ", line, "\n");
  }
  if (!out.empty()) out += "\n";
  const std::size_t all = report.differences.size() + report.same;
  return out + base::StrCat(std::to_string(all), all == 1 ? " request: " : " requests: ",
                            std::to_string(report.differences.size()), " differ, ",
                            std::to_string(report.same), " are judged alike\n");
}

Report DiffAsReport(const DiffReport& report) {
  Report out;
  out.problems = report.problems;
  for (const Difference& one : report.differences) {
    Result& result = out.results.emplace_back(one.after);
    result.verdict = Verdict::kFail;
    result.failures.clear();
    result.warnings.clear();
    result.object.clear();
    const auto add = [&](std::string message) {
      Failure failure;
      failure.source = "diff";
      failure.message = std::move(message);
      failure.place = one.after.place;
      result.failures.push_back(std::move(failure));
    };
    if (one.before.verdict != one.after.verdict) {
      add(base::StrCat("verdict ", VerdictText(one.before.verdict), " -> ",
                       VerdictText(one.after.verdict)));
    }
    for (std::string& line : ChangesOf(one)) add(std::move(line));
    result.message = result.failures.empty() ? "" : result.failures.front().message;
  }
  out.notes.push_back(base::StrCat(std::to_string(report.same), " requests are judged alike"));
  return out;
}

std::string DiffAsYaml(const DiffReport& report) {
  json::Arena arena;
  return json::ToYaml(DiffAsValue(report, arena));
}

std::string DiffAsJson(const DiffReport& report) {
  json::Arena arena;
  return json::ToString(DiffAsValue(report, arena), {.escape_html = false, .indent = 2}) + "\n";
}

}  // namespace portcullis::offline
