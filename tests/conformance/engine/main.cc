// SPDX-License-Identifier: Apache-2.0

// Carries out requests by an engine and nothing else: no server, no HTTP. A line of JSON on standard
// input is a request (ReadRequest() below), the line on standard output its answer (answer.h). The flags are
// those of `portcullis serve` that the suites use; others are refused. See engine_replay.py.

#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "answer.h"
#include "api/api_status.h"
#include "authn/methods.h"
#include "authz/impersonation.h"
#include "authz/modes.h"
#include "base/clock.h"
#include "base/strings.h"
#include "engine/boot/boot_objects.h"
#include "engine/engine.h"
#include "engine/subresources/subresources.h"
#include "engine/verbs.h"
#include "engine/write/write.h"
#include "json/reader.h"
#include "net/client.h"
#include "net/http.h"
#include "net/io_threads.h"
#include "offline/http_request.h"
#include "store/memory/memory_store.h"

namespace portcullis::conformance {
namespace {

using engine::Verb;

// A step of a scenario, in which nothing is encoded as HTTP encodes it:
//   {"method": "POST", "path": "/api/v1/namespaces/a/pods", "query": [["dryRun", "All"]],
//    "headers": [["Content-Type", "application/json"]], "body": "{…}"}
struct Request : offline::HttpRequest {
  net::Headers headers;
};

base::Result<Request> ReadRequest(json::Value line) {
  Request request;
  request.method = line["method"].AsString();
  for (const json::Value& pair : line["query"].elements()) {
    request.query.emplace_back(pair[std::size_t{0}].AsString(), pair[1].AsString());
  }
  for (const json::Value& pair : line["headers"].elements()) {
    request.headers.Add(pair[std::size_t{0}].AsString(), pair[1].AsString());
  }
  request.content_type = request.headers.Get("Content-Type");
  request.user_agent = request.headers.Get("User-Agent");
  request.body = line["body"].AsString();
  TRY(offline::ReadPath(request, line["path"].AsString()));
  return request;
}

std::vector<std::string> Words(std::string_view list) {
  std::vector<std::string> words;
  for (std::string_view word : base::Split(list, ',')) words.emplace_back(word);
  return words;
}

base::Status ReadFlag(std::string_view name, std::string_view value,
                      engine::EngineOptions& options) {
  if (name == "allow-privileged") {
    options.allow_privileged = value == "true";
  } else if (name == "admission-control-config-file") {
    options.admission_control_config_file = value;
  } else if (name == "enable-admission-plugins") {
    options.admission_plugins.enable = Words(value);
  } else if (name == "disable-admission-plugins") {
    options.admission_plugins.disable = Words(value);
  } else if (name == "default-not-ready-toleration-seconds") {
    options.default_not_ready_toleration_seconds = base::ParseInt(value).value_or(0);
  } else if (name == "default-unreachable-toleration-seconds") {
    options.default_unreachable_toleration_seconds = base::ParseInt(value).value_or(0);
  } else if (name == "runtime-config") {
    options.runtime_config = TRY(api::catalog::ParseRuntimeConfig(value));
  } else if (name == "feature-gates") {
    for (std::string_view pair : base::Split(value, ',')) {
      const auto cut = base::Cut(pair, "=");
      if (cut) options.feature_gates[std::string(cut->first)] = cut->second == "true";
    }
  } else if (!name.starts_with("audit-")) {  // annotations are part of each answer
    return base::ConfigError(base::StrCat("the engine is not run with --", name));
  }
  return base::OkStatus();
}

// Knows whether an operation has waited for others.
class Place final : public admission::Place {
 public:
  void Leave() override { left = true; }
  void Return() override {}
  bool left = false;
};

// The engine with RBAC, a client for webhooks and the objects of every cluster.
class World {
 public:
  base::Status Open(int argc, const char* const* argv) {
    engine::EngineOptions options;
    for (int i = 1; i < argc; ++i) {
      const auto cut = base::Cut(argv[i], "=");
      if (!cut || !cut->first.starts_with("--")) return base::ConfigError(argv[i]);
      TRY(ReadFlag(cut->first.substr(2), cut->second, options));
    }
    TRY(io_.status());
    https_ = net::HttpsClient::Create(io_, {});
    authz::ModeOptions modes;
    modes.modes = {"RBAC"};
    modes.aggregate_cluster_roles = false;
    auto assembled = TRY(authz::Assemble(modes, *store_));
    authorizer_ = std::move(assembled.authorizer);
    rbac_ = std::move(assembled.rbac);
    options.store = store_.get();
    options.authorizer = authorizer_.get();
    options.rbac = rbac_.get();
    options.https = https_.get();
    options.tokens = tokens_.get();
    engine_ = TRY(engine::Engine::Create(std::move(options)));
    engine_->Start();
    return engine::MakeBootObjects(engine_->world(), {});
  }

  std::string Do(json::Value line) {
    engine::Operation op(engine_->world());
    op.catalog = op.world.catalog->Get();
    op.started = op.world.clock->Steady();
    op.deadline = op.started + std::chrono::seconds(60);
    const auto request = ReadRequest(line);
    if (!request.ok()) return Answer(op).Of(request.status());
    const auto answer = Carry(op, *request);
    return answer.ok() ? *answer : Answer(op).Of(answer.status());
  }

 private:
  // The administrator of the suites, or whom the headers name instead.
  base::Status Identify(engine::Operation& op, const Request& request) {
    op.user.name = "conformance-admin";
    op.user.groups = {std::string(api::kGroupMasters), std::string(api::kGroupAuthenticated)};
    op.user.extra["authentication.kubernetes.io/credential-id"] = {
        base::StrCat("X509SHA256=", std::string(64, 'a'))};
    auto other = TRY(
        authz::Impersonate(request.headers, AttributesOf(request, op.user), *authorizer_, &modes_));
    if (other) op.user = std::move(other->user);
    return base::OkStatus();
  }

  base::Result<std::string> Carry(engine::Operation& op, const Request& request) {
    TRY(Identify(op, request));
    const authz::Attributes attributes = AttributesOf(request, op.user);
    const authz::Decision decision = authorizer_->Authorize(attributes);
    if (!decision.allowed()) return authz::Denied(attributes, decision.reason);
    TRY(Resolve(op, request));
    if (!op.resource->deprecation_warning.empty()) {
      op.recorder.Warn(op.resource->deprecation_warning);
    }
    Place place;
    op.recorder.set_place(&place);
    const bool may_wait = engine::WaitsOf(op) != admission::Waits::kForNothing;
    auto line = Answered(op, request);
    op.recorder.set_place(nullptr);
    if (place.left && !may_wait) {
      return base::InternalError("engine::WaitsOf() has promised that it does not wait");
    }
    return line;
  }

  static base::Result<std::string> Answered(engine::Operation& op, const Request& request) {
    const Answer answer(op);
    switch (op.verb) {
      case Verb::kList: {
        const engine::ListOptions options = ReadListOptions(request);
        const engine::Selection selection = TRY(engine::ReadSelection(op, options));
        return answer.Of(TRY(engine::ListObjects(op, options, selection)));
      }
      case Verb::kDeleteCollection:
        return answer.Of(TRY(engine::DeleteCollection(op, ReadListOptions(request),
                                                      TRY(ReadDeleteOptions(op, request)))));
      case Verb::kDelete:
        return answer.Of(TRY(engine::Delete(op, TRY(ReadDeleteOptions(op, request)))));
      case Verb::kGet:
        return answer.Of(TRY(Read(op)));
      default:
        return answer.Of(TRY(Write(op, ReadInput(op, request))));
    }
  }

  static base::Result<engine::Outcome> Read(engine::Operation& op) {
    if (const engine::Function function = engine::FindFunction(op)) {
      return engine::Finish(op, *function(op, {}));
    }
    engine::Outcome outcome;
    outcome.stored = op.world.store->Get(engine::KeyOf(op, op.name));
    if (outcome.stored == nullptr) return api::NotFoundStatus(op.group_resource(), op.name);
    return outcome;
  }

  static base::Result<engine::Outcome> Write(engine::Operation& op, const engine::Input& input) {
    return op.verb == Verb::kConnect ? engine::Connect(op, input) : engine::Write(op, input);
  }

  net::IoThreads io_;
  const std::unique_ptr<store::Store> store_ = store::OpenMemory();
  authz::LastModes modes_;
  std::unique_ptr<net::HttpsClient> https_;
  std::shared_ptr<const authz::Authorizer> authorizer_;
  std::shared_ptr<authz::rbac::RuleBook> rbac_;
  // Knows no token at all.
  const std::unique_ptr<authn::Authenticator> bearers_ = authn::MakeBearerToken({});
  const std::unique_ptr<authn::TokenAuthenticator> tokens_ = authn::MakeTokenReviewer(*bearers_);
  std::unique_ptr<engine::Engine> engine_;
};

int Run(int argc, const char* const* argv) {
  World world;
  const base::Status opened = world.Open(argc, argv);
  if (!opened.ok()) {
    std::fprintf(stderr, "engine-replay: %s\n", opened.message().c_str());
    return 2;
  }
  for (std::string line; std::getline(std::cin, line);) {
    json::Arena arena;
    const auto request = json::Parse(arena, line);
    if (!request.ok()) {
      std::fprintf(stderr, "engine-replay: %s\n", request.status().message().c_str());
      return 2;
    }
    std::cout << world.Do(*request) << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace portcullis::conformance

int main(int argc, char** argv) { return portcullis::conformance::Run(argc, argv); }
