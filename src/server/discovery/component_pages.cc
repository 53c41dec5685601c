// SPDX-License-Identifier: Apache-2.0

#include "server/discovery/component_pages.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>

#include "api/api_status.h"
#include "base/clock.h"
#include "base/strings.h"
#include "golang/time.h"
#include "json/writer.h"
#include "metrics/metrics.h"
#include "metrics/process_metrics.h"
#include "server/negotiation.h"
#include "server/options.h"
#include "server/reply.h"

namespace portcullis::server {
namespace {

constexpr std::string_view kComponent = "apiserver";
constexpr std::string_view kText = "text/plain; charset=utf-8";

// What a page shows: its text, and its object but for the version.
struct Page {
  std::string_view path;  // "statusz"
  std::string_view kind;  // "Statusz"
  std::string text;
  json::Value content;  // the members behind metadata
};

// An error is written in the form that is accepted, in that of no object if there is none.
Reply Refusal(Call& call, const base::Status& status) {
  Reply reply = ErrorReply(call, status);
  if (call.accepted.type != MediaType::kProtobuf) return reply;
  reply.content_type = "application/json";
  reply.value = {};
  reply.body = json::ToString(api::StatusToJson(call.arena, status), {.indent = 2});
  return reply;
}

Reply Serve(Call& call, const Page& page) {
  call.takes_cbor = call.env.cbor;
  const std::string_view accept = call.headers().Get("Accept");
  auto accepted =
      NegotiateComponentPage(accept, call.info.query.Get("pretty"),
                             call.headers().Get("User-Agent"), page.kind, call.env.cbor);
  if (!accepted.ok()) return Refusal(call, accepted.status());
  if (accepted->form_version.empty()) {
    Reply reply;
    reply.content_type = kText;
    reply.body = base::StrCat("\n", kComponent, " ", page.path,
                              "\nWarning: This endpoint is not meant to be machine parseable, has "
                              "no formatting compatibility guarantees and is for debugging "
                              "purposes only.\n",
                              page.text);
    return reply;
  }
  call.accepted = *std::move(accepted);
  const std::string_view version = call.accepted.form_version;
  const json::Value metadata =
      json::MakeObject(call.arena, {{"name", json::Value::StringView(kComponent)}});
  json::ObjectBuilder object(call.arena);
  object.Set("kind", page.kind)
      .Set("apiVersion", std::string_view(base::StrCat("config.k8s.io/", version)))
      .Set("metadata", metadata);
  for (const json::Member& member : page.content.members()) object.Add(member.name(), member.value);
  Reply reply = ValueReply(call, 200, object.Build());
  reply.content_type =
      base::StrCat(reply.content_type, ";g=config.k8s.io;v=", version, ";as=", page.kind);
  if (version == "v1alpha1") {
    reply.headers.Set("Warning", base::StrCat("299 - \"This version of the ", page.path,
                                              " endpoint is deprecated. Please use a newer "
                                              "version.\""));
  }
  return reply;
}

// The first parts of the paths that say something about the server, each once and sorted.
std::set<std::string> Folders(std::span<const std::string> paths) {
  constexpr std::string_view kOthers[] = {"/apis", "/api", "/openid", "/openapi", "/.well-known"};
  std::set<std::string> folders;
  for (const std::string& path : paths) {
    const std::string folder = path.substr(0, path.find('/', 1));
    if (folder.size() < 2 || folder[0] != '/') continue;
    if (std::find(std::begin(kOthers), std::end(kOthers), folder) != std::end(kOthers)) continue;
    folders.insert(folder);
  }
  return folders;
}

// "Mon Nov  2 15:04:05 UTC 2026", Go's time.UnixDate.
std::string UnixDate(std::int64_t seconds) {
  constexpr std::array<std::string_view, 7> kDays = {"Sun", "Mon", "Tue", "Wed",
                                                     "Thu", "Fri", "Sat"};
  constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const golang::CivilTime time = golang::ToCivil(seconds);
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%2d %02d:%02d:%02d UTC %lld", time.day, time.hour,
                time.minute, time.second, static_cast<long long>(time.year));
  return base::StrCat(kDays[static_cast<std::size_t>(time.weekday)], " ",
                      kMonths[static_cast<std::size_t>(time.month - 1)], " ", text.data());
}

std::string Uptime(std::int64_t seconds) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%lld hr %02d min %02d sec",
                static_cast<long long>(seconds / 3600), static_cast<int>(seconds / 60 % 60),
                static_cast<int>(seconds % 60));
  return text.data();
}

}  // namespace

Reply ServeStatusz(Call& call, std::span<const std::string> paths) {
  const auto started = static_cast<std::int64_t>(metrics::ProcessStart());
  const auto now =
      std::chrono::duration_cast<std::chrono::seconds>(call.env.clock->Now().time_since_epoch());
  const std::int64_t up = std::max<std::int64_t>(0, now.count() - started);
  const std::string release = call.env.release->version();
  const std::string binary = base::StrCat(release, ".0");
  json::ArrayBuilder folders(call.arena);
  std::string all;
  for (const std::string& folder : Folders(paths)) {
    folders.Add(folder);
    all += base::StrCat(" ", folder);
  }
  Page page{"statusz", "Statusz", {}, {}};
  page.text = base::StrCat("\nStarted: ", UnixDate(started), "\nUp: ", Uptime(up),
                           "\nGo version: none\nBinary version: ", binary,
                           "\nEmulation version: ", release, "\nPaths:", all, "\n");
  page.content =
      json::ObjectBuilder(call.arena)
          .Set("startTime",
               std::string_view(base::FormatTime(base::WallTime(std::chrono::seconds(started)))))
          .Set("uptimeSeconds", up)
          .Set("goVersion", "none")
          .Set("binaryVersion", std::string_view(binary))
          .Set("emulationVersion", std::string_view(release))
          .Set("paths", folders.Build())
          .Build();
  return Serve(call, page);
}

Reply ServeFlagz(Call& call) {
  Page page{"flagz", "Flagz", {}, {}};
  json::ObjectBuilder flags(call.arena);
  for (const auto& [name, value] : call.env.options->flag_values) {
    page.text += base::StrCat(name, "=", value, "\n");
    flags.Add(name, json::String(call.arena, value));
  }
  json::ObjectBuilder content(call.arena);
  if (!flags.empty()) content.Set("flags", flags.Build());
  page.content = content.Build();
  return Serve(call, page);
}

struct HealthMetrics::Series {
  metrics::Registry registry;
  metrics::Family<metrics::Gauge>& last = registry.AddGauge(
      {"kubernetes_healthcheck", "This metric records the result of a single healthcheck.",
       metrics::Stability::kStable},
      {"name", "type"});
  metrics::Family<metrics::Counter>& total = registry.AddCounter(
      {"kubernetes_healthchecks_total", "This metric records the results of all healthcheck.",
       metrics::Stability::kStable},
      {"name", "type", "status"});
};

std::string ProcessStartSeconds() {
  static const double kStart = metrics::ProcessStart();
  return std::to_string(static_cast<std::int64_t>(kStart));
}

Reply MetricsWereReset() {
  Reply reply = TextReply(200, "metrics reset\n");
  reply.headers.Remove("X-Content-Type-Options");
  return reply;
}

HealthMetrics::HealthMetrics() : series_(std::make_shared<Series>()) {
  metrics::AddProcessStart(series_->registry, metrics::Stability::kAlpha);
}
HealthMetrics::~HealthMetrics() = default;

std::shared_ptr<HealthMetrics::Series> HealthMetrics::series() const {
  const base::MutexLock lock(mutex_);
  return series_;
}

void HealthMetrics::Observe(std::string_view check, std::string_view kind, bool healthy) {
  const auto series = this->series();
  series->last.With({check, kind}).Set(healthy ? 1 : 0);
  series->total.With({check, kind, healthy ? "success" : "error"}).Increment();
}

Reply HealthMetrics::Serve(Call& call) {
  if (call.info.method == "DELETE") {
    const base::MutexLock lock(mutex_);
    series_ = std::make_shared<Series>();
    return MetricsWereReset();
  }
  Reply reply;
  reply.body = series()->registry.Expose();
  reply.content_type.clear();
  if (reply.body.empty()) return reply;
  reply.content_type = std::string(metrics::kContentType);
  reply.headers.Set(kProcessStartHeader, ProcessStartSeconds());
  return reply;
}

}  // namespace portcullis::server
