// SPDX-License-Identifier: Apache-2.0

#include "report.h"

#include <array>
#include <cstdio>

#include "base/strings.h"
#include "json/value.h"
#include "json/writer.h"

namespace portcullis::load {
namespace {

// Recorded from kube-apiserver v1.36 with etcd, as the rows of Scenarios().
constexpr double kRecordedReadyMilliseconds = 4300;
constexpr double kRecordedIdleMegabytes = 335;

struct Compared {
  double requests_per_second = 0;
  double p50 = 0;
  double p99 = 0;
  double cpu = 0;
};

Compared BaselineOf(const Row& row) {
  if (row.baseline) {
    const Figures& figures = row.baseline->figures;
    return {figures.requests_per_second, figures.p50_milliseconds, figures.p99_milliseconds,
            figures.cpu_milliseconds};
  }
  const Recorded& recorded = row.scenario->recorded;
  return {recorded.requests_per_second, recorded.p50_milliseconds, recorded.p99_milliseconds,
          recorded.cpu_milliseconds};
}

double Ratio(double a, double b) { return b > 0 ? a / b : 0; }

std::string Number(const char* format, double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

// "12.3x", or "-" where there is nothing to compare.
std::string Times(double ratio) { return ratio > 0 ? Number("%.1fx", ratio) : "-"; }

std::string Padded(std::string text, std::size_t width) {
  if (text.size() < width) text.insert(0, width - text.size(), ' ');
  return text;
}

std::string Line(const Report& report, const Row& row) {
  std::string line(row.scenario->name);
  line.resize(20, ' ');
  if (!row.error.empty()) return base::StrCat(line, "  ", row.error, "\n");
  const Figures& figures = row.server.figures;
  const Compared baseline = BaselineOf(row);
  line += Padded(Number("%.0f", figures.requests_per_second), 10);
  line += Padded(Number("%.2f", figures.p50_milliseconds), 9);
  line += Padded(Number("%.2f", figures.p99_milliseconds), 9);
  line += Padded(report.has_cpu ? Number("%.4f", figures.cpu_milliseconds) : "-", 10);
  line += Padded(report.has_cpu ? Number("%.1f", figures.memory_megabytes) : "-", 9);
  line += Padded(Times(Ratio(figures.requests_per_second, baseline.requests_per_second)), 10);
  line += Padded(report.has_cpu ? Times(Ratio(baseline.cpu, figures.cpu_milliseconds)) : "-", 10);
  line += Padded(Times(Ratio(baseline.p99, figures.p99_milliseconds)), 9);
  if (row.baseline && report.has_cpu) {
    line +=
        Number("   CPU %.3fx", row.cpu.value) + Number(" +-%.3f of the baseline", row.cpu.spread);
  }
  if (row.server.webhook_calls_per_request > 0) {
    line += Number("   %.2f webhook calls each", row.server.webhook_calls_per_request);
  }
  if (figures.errors > 0) {
    line += base::StrCat("\n    ", std::to_string(figures.errors), " of ",
                         std::to_string(figures.requests), " failed: ", figures.first_error);
  }
  return line + "\n";
}

json::Value ToJson(json::Arena& arena, const ScenarioResult& result) {
  const Figures& figures = result.figures;
  const auto number = [](double value) { return json::Value::Double(value); };
  return json::ObjectBuilder(arena)
      .Set("requestsPerSecond", number(figures.requests_per_second))
      .Set("p50Milliseconds", number(figures.p50_milliseconds))
      .Set("p99Milliseconds", number(figures.p99_milliseconds))
      .Set("cpuMillisecondsPerRequest", number(figures.cpu_milliseconds))
      .Set("memoryMegabytes", number(figures.memory_megabytes))
      .Set("requests", static_cast<std::int64_t>(figures.requests))
      .Set("errors", static_cast<std::int64_t>(figures.errors))
      .Set("firstError", std::string_view(figures.first_error))
      .Set("webhookCallsPerRequest", number(result.webhook_calls_per_request))
      .Build();
}

json::Value ToJson(json::Arena& arena, const Estimate& ratio) {
  return json::ObjectBuilder(arena)
      .Set("median", json::Value::Double(ratio.value))
      .Set("spread", json::Value::Double(ratio.spread))
      .Build();
}

json::Value ToJson(json::Arena& arena, const Row& row) {
  json::ObjectBuilder out(arena);
  out.Set("scenario", row.scenario->name).Set("summary", row.scenario->summary);
  if (!row.error.empty()) return out.Set("error", std::string_view(row.error)).Build();
  const Compared baseline = BaselineOf(row);
  out.Set("server", ToJson(arena, row.server));
  if (baseline.requests_per_second > 0) {
    out.Set("baseline",
            json::ObjectBuilder(arena)
                .Set("requestsPerSecond", json::Value::Double(baseline.requests_per_second))
                .Set("p50Milliseconds", json::Value::Double(baseline.p50))
                .Set("p99Milliseconds", json::Value::Double(baseline.p99))
                .Set("cpuMillisecondsPerRequest", json::Value::Double(baseline.cpu))
                .Set("memoryMegabytes",
                     json::Value::Double(row.baseline ? row.baseline->figures.memory_megabytes : 0))
                .Build());
  }
  if (row.baseline) {
    out.Set("cpuRatio", ToJson(arena, row.cpu));
    out.Set("requestsPerSecondRatio", ToJson(arena, row.rate));
  }
  return out.Build();
}

}  // namespace

std::string AsText(const Report& report) {
  std::string text;
  if (report.baseline_is_recorded) {
    text +=
        "Compared with figures RECORDED from kube-apiserver v1.36 + etcd 3.5 on another run (2 "
        "cores, 16\nconnections), not measured now. Give --baseline-kubeconfig for a server to "
        "measure beside this one.\n\n";
  }
  if (report.start && !report.start->ready_milliseconds.empty()) {
    const auto& times = report.start->ready_milliseconds;
    const double median = times[times.size() / 2];
    text += base::StrCat("start to ready: ", Number("%.1f", median), " ms (median of ",
                         std::to_string(times.size()), ", best ", Number("%.1f", times.front()),
                         ", worst ", Number("%.1f", times.back()), "), ",
                         Times(kRecordedReadyMilliseconds / median), " faster than recorded\n");
    text +=
        base::StrCat("idle memory: ", Number("%.1f", report.start->idle_megabytes), " MB, 1/",
                     Number("%.1f", Ratio(kRecordedIdleMegabytes, report.start->idle_megabytes)),
                     " of recorded\n\n");
  }
  if (report.rows.empty()) return text;
  text += base::StrCat("                     requests/s   p50 ms   p99 ms CPU ms/rq   RSS MB",
                       "    more/s  less CPU less p99\n");
  for (const auto& row : report.rows) text += Line(report, row);
  return text;
}

std::string AsJson(const Report& report) {
  json::Arena arena;
  json::ObjectBuilder out(arena);
  out.Set("baselineIsRecorded", report.baseline_is_recorded);
  out.Set("connections", report.connections);
  if (report.start) {
    json::ArrayBuilder times(arena);
    for (const double time : report.start->ready_milliseconds) {
      times.Add(json::Value::Double(time));
    }
    out.Set("readyMilliseconds", times.Build());
    out.Set("idleMegabytes", json::Value::Double(report.start->idle_megabytes));
  }
  json::ArrayBuilder rows(arena);
  for (const auto& row : report.rows) rows.Add(ToJson(arena, row));
  out.Set("scenarios", rows.Build());
  return json::ToString(out.Build(), {.indent = 2}) + "\n";
}

}  // namespace portcullis::load
