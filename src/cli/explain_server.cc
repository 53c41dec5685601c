// SPDX-License-Identifier: Apache-2.0

#include "cli/explain_server.h"

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "api/names.h"
#include "base/strings.h"
#include "cli/fetcher.h"
#include "golang/url.h"
#include "json/reader.h"
#include "json/writer.h"
#include "server/admission_traces.h"

namespace portcullis::cli {
namespace {

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kParameters = "?dryRun=All&fieldValidation=Strict&fieldManager=";

// A resource as discovery names it.
struct Served {
  std::string name;
  bool namespaced = false;
};

class Explainer {
 public:
  Explainer(Fetcher& fetcher, json::Arena& arena, const std::string& ns)
      : fetcher_(fetcher), arena_(arena), ns_(ns) {}

  base::Result<offline::Result> Explain(const offline::Manifest& manifest) {
    offline::Result result;
    result.place = manifest.Find({});
    result.api_version = manifest.api_version;
    result.kind = manifest.kind;
    result.name = manifest.name;
    const auto version = TRY(api::ParseGroupVersion(manifest.api_version));
    const std::string root = version.group.empty() ? base::StrCat("/api/", version.version)
                                                   : base::StrCat("/apis/", manifest.api_version);
    const auto served = FindResource(root, manifest.kind);
    if (!served.ok()) return Failed(std::move(result), served.status());
    result.resource = served->name;
    if (!version.group.empty()) result.resource += base::StrCat(".", version.group);
    std::string path = root;
    if (served->namespaced) {
      result.ns = manifest.ns.empty() ? ns_ : manifest.ns;
      path += base::StrCat("/namespaces/", golang::PathEscape(result.ns));
    }
    path += base::StrCat("/", served->name);
    TRY(Judge(manifest, path, result));
    return result;
  }

 private:
  base::Result<Served> FindResource(const std::string& root, std::string_view kind) {
    auto known = resources_.find(root);
    if (known == resources_.end()) {
      known = resources_.emplace(root, TRY(fetcher_.Get(root, kJson))).first;
    }
    for (const json::Value& resource : known->second["resources"].elements()) {
      const std::string_view name = resource["name"].AsString();
      if (resource["kind"].AsString() != kind || name.find('/') != std::string_view::npos) continue;
      return Served{std::string(name), resource["namespaced"].AsBool()};
    }
    return base::BadRequest(base::StrCat("the server has no ", kind, " in ", root));
  }

  static offline::Result Failed(offline::Result result, const base::Status& status) {
    result.verdict = offline::Verdict::kError;
    result.code = status.http_code();
    AddFailure(result, status.message());
    return result;
  }

  static void AddFailure(offline::Result& result, std::string_view message) {
    result.message = message;
    offline::Failure failure;
    failure.source = "server";
    failure.message = message;
    failure.code = result.code;
    failure.place = result.place;
    result.failures.push_back(std::move(failure));
  }

  // An object that is there is updated; its version says which.
  base::Status Judge(const offline::Manifest& manifest, const std::string& collection,
                     offline::Result& result) {
    const std::string own = base::StrCat(collection, "/", golang::PathEscape(manifest.name));
    json::Value object = manifest.object;
    bool stored = false;
    if (!manifest.name.empty()) {
      const auto found = fetcher_.Get(own, kJson);
      stored = found.ok();
      if (stored) {
        object = json::SetPath(arena_, object, {"metadata", "resourceVersion"},
                               (*found)["metadata"]["resourceVersion"]);
      }
    }
    result.operation = stored ? "UPDATE" : "CREATE";
    const std::string url = base::StrCat(stored ? own : collection, kParameters,
                                         stored ? "kubectl-replace" : "kubectl-create");
    const net::Headers headers = {{"Accept", std::string(kJson)},
                                  {"Content-Type", std::string(kJson)},
                                  {std::string(server::kTraceHeader), "full"}};
    const net::Response answer =
        TRY(fetcher_.Send(stored ? "PUT" : "POST", url, headers, json::ToString(object)));
    result.sent = json::ToString(object);
    result.code = answer.status;
    if (answer.status < 300) {
      result.object = answer.content();
    } else {
      result.verdict = offline::Verdict::kDeny;
      result.status = answer.content();
      const auto status = json::Parse(arena_, answer.content());
      AddFailure(result, status.ok() ? (*status)["message"].AsString() : answer.content());
    }
    return ReadTrace(answer, result);
  }

  base::Status ReadTrace(const net::Response& answer, offline::Result& result) {
    const std::string path(answer.headers.Get(server::kTraceHeader));
    if (path.empty()) {
      // What is refused before admission has no trace: by authorization, by the decoder.
      if (answer.status >= 300) return base::OkStatus();
      return base::ConfigError("the server makes no traces: it is not Portcullis");
    }
    const json::Value trace = TRY(fetcher_.Get(base::StrCat(path, "?format=json"), kJson));
    result.trace = json::ToString(trace);
    for (const json::Value& warning : trace["verdict"]["warnings"].elements()) {
      result.warnings.emplace_back(warning.AsString());
    }
    return base::OkStatus();
  }

  Fetcher& fetcher_;
  json::Arena& arena_;
  const std::string& ns_;
  std::map<std::string, json::Value> resources_;  // of discovery, by the path of the version
};

}  // namespace

base::Result<offline::Report> ExplainOnServer(const LiveCluster& live,
                                              const offline::Inputs& inputs) {
  const auto config = TRY(ConfigOf(live));
  json::Arena arena;
  const auto fetcher = TRY(Fetcher::Create(config, arena));
  Explainer explainer(*fetcher, arena, live.ns);
  offline::Report report;
  report.problems = inputs.problems;
  report.files = inputs.files;
  for (std::size_t i = 0; i < inputs.own; ++i) {
    report.results.push_back(TRY(explainer.Explain(inputs.manifests[i])));
  }
  return report;
}

}  // namespace portcullis::cli
