// SPDX-License-Identifier: Apache-2.0

// JSON and YAML: one document with every result.
#include "base/strings.h"
#include "json/reader.h"
#include "json/writer.h"
#include "json/yaml.h"
#include "offline/report/format.h"

namespace portcullis::offline {
namespace {

json::Value Count(std::size_t number) {
  return json::Value::Int(static_cast<std::int64_t>(number));
}

json::Value Texts(json::Arena& arena, const std::vector<std::string>& texts) {
  json::ArrayBuilder array(arena);
  for (const std::string& text : texts) array.Add(text);
  return array.Build();
}

json::Value PlaceOf(json::Arena& arena, const Location& place) {
  json::ObjectBuilder object(arena);
  object.Set("file", place.file);
  if (place.line != 0) object.Set("line", Count(place.line)).Set("column", Count(place.column));
  return object.Build();
}

json::Value FailureOf(json::Arena& arena, const Failure& failure) {
  json::ObjectBuilder object(arena);
  object.Set("source", failure.source);
  if (!failure.subject.empty()) object.Set("subject", failure.subject);
  object.Set("path", failure.path)
      .Set("line", Count(failure.place.line))
      .Set("column", Count(failure.place.column))
      .Set("code", failure.code)
      .Set("message", failure.message);
  if (!failure.rule.file.empty()) object.Set("rule", PlaceOf(arena, failure.rule));
  if (!failure.expression.empty()) object.Set("expression", failure.expression);
  if (!failure.values.empty()) {
    json::ArrayBuilder values(arena);
    for (const auto& [part, value] : failure.values) {
      values.Add(json::ObjectBuilder(arena).Set("expression", part).Set("value", value).Build());
    }
    object.Set("values", values.Build());
  }
  if (!failure.advice.empty()) object.Set("advice", failure.advice);
  return object.Build();
}

json::Value ResultOf(json::Arena& arena, const Result& result) {
  json::ArrayBuilder failures(arena);
  for (const Failure& failure : result.failures) failures.Add(FailureOf(arena, failure));
  json::ObjectBuilder annotations(arena);
  for (const auto& [key, value] : result.audit_annotations) annotations.Set(key, value);
  json::ObjectBuilder object(arena);
  object.Set("file", result.place.file)
      .Set("line", Count(result.place.line))
      .Set("column", Count(result.place.column))
      .Set("apiVersion", result.api_version)
      .Set("kind", result.kind)
      .Set("namespace", result.ns)
      .Set("name", result.name)
      .Set("operation", result.operation)
      .Set("verdict", VerdictText(result.verdict))
      .Set("code", result.code)
      .Set("message", result.message)
      .Set("failures", failures.Build())
      .Set("warnings", Texts(arena, result.warnings))
      .Set("auditAnnotations", annotations.Build());
  if (!result.webhooks_not_called.empty()) {
    object.Set("webhooksNotCalled", Texts(arena, result.webhooks_not_called));
  }
  if (!result.status.empty()) {
    const auto parsed = json::Parse(arena, result.status);
    if (parsed.ok()) object.Set("status", *parsed);
  }
  if (!result.object.empty()) {
    const auto parsed = json::Parse(arena, result.object);
    if (parsed.ok()) object.Set("object", *parsed);
  }
  json::ArrayBuilder pods(arena);
  for (const auto& [subject, text] : result.pods) {
    const auto parsed = json::Parse(arena, text);
    if (!parsed.ok()) continue;
    pods.Add(json::ObjectBuilder(arena).Set("subject", subject).Set("object", *parsed).Build());
  }
  if (pods.size() > 0) object.Set("pods", pods.Build());
  if (!result.trace.empty()) {
    const auto parsed = json::Parse(arena, result.trace);
    if (parsed.ok()) object.Set("trace", *parsed);
  }
  return object.Build();
}

json::Value DocumentOf(json::Arena& arena, const Report& report) {
  json::ArrayBuilder results(arena);
  for (const Result& result : report.results) results.Add(ResultOf(arena, result));
  json::ArrayBuilder problems(arena);
  for (const Problem& problem : report.problems) {
    problems.Add(json::With(arena, PlaceOf(arena, problem.place), "message",
                            json::String(arena, problem.message)));
  }
  const json::Value summary = json::ObjectBuilder(arena)
                                  .Set("files", Count(report.files))
                                  .Set("manifests", Count(report.results.size()))
                                  .Set("ignored", Count(report.ignored))
                                  .Set("allow", Count(report.Count(Verdict::kAllow)))
                                  .Set("deny", Count(report.Count(Verdict::kDeny)))
                                  .Set("error", Count(report.Count(Verdict::kError)))
                                  .Set("skip", Count(report.Count(Verdict::kSkip)))
                                  .Set("pass", Count(report.Count(Verdict::kPass)))
                                  .Set("fail", Count(report.Count(Verdict::kFail)))
                                  .Set("warnings", Count(report.warnings()))
                                  .Set("problems", Count(report.problems.size()))
                                  .Build();
  return json::ObjectBuilder(arena)
      .Set("results", results.Build())
      .Set("problems", problems.Build())
      .Set("notes", Texts(arena, report.notes))
      .Set("summary", summary)
      .Build();
}

}  // namespace

std::string WriteJson(const Report& report, const FormatOptions&) {
  json::Arena arena;
  return json::ToString(DocumentOf(arena, report), {.escape_html = false, .indent = 2}) + "\n";
}

std::string WriteYaml(const Report& report, const FormatOptions&) {
  json::Arena arena;
  return json::ToYaml(DocumentOf(arena, report));
}

}  // namespace portcullis::offline
