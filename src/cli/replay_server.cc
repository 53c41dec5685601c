// SPDX-License-Identifier: Apache-2.0

#include "cli/replay_server.h"

#include <memory>
#include <string>
#include <utility>

#include "base/strings.h"
#include "cli/fetcher.h"
#include "golang/url.h"
#include "json/reader.h"
#include "json/writer.h"
#include "offline/suites/compare.h"
#include "offline/suites/suite_format.h"

namespace portcullis::cli {
namespace {

constexpr std::string_view kJson = "application/json";
// From this minor version of Kubernetes 1 on every server knows dryRun.
constexpr std::int64_t kDryRunSince = 13;

bool IsSuccess(int code) { return code >= 200 && code < 300; }

// The path as a client writes it, without a query.
std::string PathOf(const offline::HttpRequest& request) {
  std::string path = request.group.empty()
                         ? base::StrCat("/api/", request.version)
                         : base::StrCat("/apis/", request.group, "/", request.version);
  const bool is_namespace = request.group.empty() && request.resource == "namespaces";
  if (!request.ns.empty() && !is_namespace) {
    path += base::StrCat("/namespaces/", golang::PathEscape(request.ns));
  }
  for (const std::string& part : {request.resource, request.name, request.subresource}) {
    if (!part.empty()) path += base::StrCat("/", golang::PathEscape(part));
  }
  return path;
}

std::string QueryOf(const offline::HttpRequest& request) {
  std::string query = "?dryRun=All";
  for (const auto& [name, value] : request.query) {
    if (name == "dryRun" || name == "timeout" || name == "timeoutSeconds") continue;
    query += base::StrCat("&", golang::QueryEscape(name), "=", golang::QueryEscape(value));
  }
  return query;
}

net::Headers HeadersOf(const offline::HttpRequest& request, const api::UserInfo& user,
                       bool impersonate) {
  net::Headers headers = {
      {"Accept", std::string(kJson)},
      {"Content-Type", request.content_type.empty() ? std::string(kJson) : request.content_type}};
  if (!request.user_agent.empty()) headers.Add("User-Agent", request.user_agent);
  if (!impersonate || user.name.empty()) return headers;
  headers.Add("Impersonate-User", user.name);
  if (!user.uid.empty()) headers.Add("Impersonate-Uid", user.uid);
  for (const std::string& group : user.groups) headers.Add("Impersonate-Group", group);
  for (const auto& [key, values] : user.extra) {
    const std::string name = base::StrCat("Impersonate-Extra-", golang::PathEscape(key));
    for (const std::string& value : values) headers.Add(name, value);
  }
  return headers;
}

class Replayer {
 public:
  Replayer(Fetcher& fetcher, json::Arena& arena, bool impersonate)
      : fetcher_(fetcher), arena_(arena), impersonate_(impersonate) {}

  // A server that does not know dryRun would carry the requests out.
  base::Status CheckServer() {
    const json::Value version = TRY(fetcher_.Get("/version", kJson));
    std::string_view minor = version["minor"].AsString();
    minor = minor.substr(0, minor.find_first_not_of("0123456789"));
    const auto number = base::ParseInt(minor);
    if (version["major"].AsString() == "1" && number && *number >= kDryRunSince) {
      return base::OkStatus();
    }
    return base::ConfigError(base::StrCat(
        "the server is version ", version["gitVersion"].AsString(), ": dry runs need 1.13"));
  }

  base::Result<offline::Result> Replay(offline::Case& one, const std::string& suite) {
    offline::Result judged;
    const offline::Manifest& manifest = one.review.manifest;
    judged.place = manifest.Find({});
    if (!one.not_ours.empty()) return offline::Compare(one, suite, judged);
    const offline::HttpRequest& request = *one.request;
    judged.operation = request.method;
    judged.resource = request.resource;
    judged.ns = request.ns;
    judged.name = request.name;
    const std::string body = TRY(BodyOf(one));
    if (!one.not_ours.empty()) return offline::Compare(one, suite, judged);
    const net::Response answer =
        TRY(fetcher_.Send(request.method, PathOf(request) + QueryOf(request),
                          HeadersOf(request, one.review.user, impersonate_), body));
    Read(answer, one, judged);
    return offline::Compare(one, suite, judged);
  }

 private:
  // The body as it is sent: an update needs the version of what the server has, and a deletion says by its
  // body that it is a dry run, because a server does not look at the query then.
  base::Result<std::string> BodyOf(offline::Case& one) {
    const offline::HttpRequest& request = *one.request;
    if (request.method == "DELETE") {
      const auto recorded = json::Parse(arena_, request.body.empty() ? "{}" : request.body);
      json::Value options = recorded.ok() ? *recorded : json::Value();
      if (!options.is_object()) options = json::ObjectBuilder(arena_).Build();
      options = json::Without(arena_, options, "preconditions");
      const json::Value all =
          json::ArrayBuilder(arena_).Add(json::Value::StringView("All")).Build();
      return json::ToString(json::With(arena_, options, "dryRun", all));
    }
    if (request.method != "PUT") return request.body;
    const auto stored = fetcher_.Get(PathOf(request), kJson);
    if (!stored.ok()) {
      if (stored.status().reason() != base::Reason::kNotFound) return stored.status();
      one.not_ours = "updates of objects that the server does not have";
      return std::string();
    }
    const json::Value object = TRY(json::Parse(arena_, request.body));
    return json::ToString(json::SetPath(arena_, object, {"metadata", "resourceVersion"},
                                        (*stored)["metadata"]["resourceVersion"]));
  }

  void Read(const net::Response& answer, offline::Case& one, offline::Result& judged) {
    judged.code = answer.status;
    const auto& wanted = one.expect.code;
    const bool wants_success = !wanted || IsSuccess(*wanted);
    for (const std::string_view warning : answer.headers.All("Warning")) {
      judged.warnings.emplace_back(warning);
    }
    if (IsSuccess(answer.status)) {
      // 200 or 201: whether an apply finds its object there.
      if (wanted && wants_success) judged.code = *wanted;
      judged.object = answer.content();
      return;
    }
    const auto status = json::Parse(arena_, answer.content());
    const std::string_view reason = status.ok() ? (*status)["reason"].AsString() : "";
    if (wants_success && reason == "AlreadyExists") {
      // The store says so, and is asked when admission is through.
      judged.code = wanted.value_or(201);
      return;
    }
    if (wants_success && answer.status == 404) {
      one.not_ours = "requests about objects or namespaces that the server does not have";
      return;
    }
    judged.verdict = offline::Verdict::kDeny;
    judged.status = answer.content();
    judged.message = status.ok() ? (*status)["message"].AsString() : answer.content();
    offline::Failure failure;
    failure.source = "server";
    failure.message = judged.message;
    failure.code = judged.code;
    failure.place = judged.place;
    judged.failures.push_back(std::move(failure));
  }

  Fetcher& fetcher_;
  json::Arena& arena_;
  const bool impersonate_;
};

}  // namespace

base::Result<offline::Report> ReplayOnServer(const LiveCluster& live, const offline::Inputs& inputs,
                                             bool impersonate) {
  const auto config = TRY(ConfigOf(live));
  json::Arena arena;
  const auto fetcher = TRY(Fetcher::Create(config, arena));
  Replayer replayer(*fetcher, arena, impersonate);
  TRY(replayer.CheckServer());
  offline::Report report;
  report.problems = inputs.problems;
  report.files = inputs.files;
  offline::Suites suites = offline::ReadSuites(inputs.tests);
  report.problems.insert(report.problems.end(), suites.problems.begin(), suites.problems.end());
  for (offline::Suite& suite : suites.suites) {
    for (offline::Case& one : suite.cases) {
      report.results.push_back(TRY(replayer.Replay(one, suite.name)));
    }
  }
  offline::NoteNotRun(report);
  return report;
}

}  // namespace portcullis::cli
