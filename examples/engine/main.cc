// SPDX-License-Identifier: Apache-2.0

// Admits an object into a cluster that exists only in memory, without a server. See README.md.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "admission/trace/table.h"
#include "admission/trace/trace.h"
#include "api/user_info.h"
#include "base/clock.h"
#include "base/strings.h"
#include "engine/engine.h"
#include "engine/operation_trace.h"
#include "engine/verbs.h"
#include "json/yaml.h"

namespace {

namespace admission = portcullis::admission;
namespace api = portcullis::api;
namespace base = portcullis::base;
namespace engine = portcullis::engine;
namespace json = portcullis::json;

std::optional<std::string> ReadFile(const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
}

// The object and the steps it went through, as text.
void Show(engine::Operation& op, const admission::Trace& trace,
          const base::Result<engine::Outcome>& outcome) {
  for (const std::string& warning : op.recorder.warnings()) {
    std::printf("Warning: %s\n", warning.c_str());
  }
  if (outcome.ok()) {
    const json::Value object = outcome->stored->document().root();
    std::printf("%s%s/%s created\n", json::ToYaml(object).c_str(),
                base::ToLower(object["kind"].AsString()).c_str(),
                std::string(object["metadata"]["name"].AsString()).c_str());
  } else {
    std::printf("Error: %s\n", outcome.status().message().c_str());
  }
  const json::Value document =
      admission::TraceDocument(op.arena, trace, engine::DescribeOperation(op), {});
  std::printf("\n%s", admission::TraceTable(document).c_str());
}

// Creates the object of a YAML document; prints what became of it and why if `shown`.
bool Create(const engine::Engine& engine, std::string_view document, bool shown) {
  engine::Operation op(engine.world());
  const auto parsed = json::ParseYaml(op.arena, document);
  const base::Status resolved = parsed.ok() ? engine::ResolveObject(op, *parsed) : parsed.status();
  if (!resolved.ok()) {
    std::fprintf(stderr, "%s\n", resolved.message().c_str());
    return false;
  }
  op.verb = engine::Verb::kCreate;
  op.name.clear();  // a new object is named by its body
  op.user.name = "alice";
  op.user.groups = {std::string(api::kGroupAuthenticated)};
  engine::Input input;
  input.body = document;
  input.type = engine::MediaType::kYaml;
  input.options.field_manager = "example-engine";

  admission::Trace trace(base::SystemClock());
  if (shown) op.recorder.set_trace(&trace);
  const auto outcome = engine::Write(op, input);
  engine::FinishTrace(trace, outcome);
  if (shown) Show(op, trace, outcome);
  if (!shown && !outcome.ok()) std::fprintf(stderr, "%s\n", outcome.status().message().c_str());
  return outcome.ok();
}

}  // namespace

int main(int argc, char** argv) {
  const auto cluster = argc == 3 ? ReadFile(argv[1]) : std::nullopt;
  const auto object = argc == 3 ? ReadFile(argv[2]) : std::nullopt;
  if (!cluster || !object) {
    std::fprintf(stderr, "usage: example-engine CLUSTER.yaml OBJECT.yaml\n");
    return 2;
  }
  auto engine = engine::Engine::Create({});
  if (!engine.ok()) {
    std::fprintf(stderr, "%s\n", engine.status().message().c_str());
    return 2;
  }
  for (const std::string_view document : json::SplitYaml(*cluster)) {
    if (!Create(**engine, document, false)) return 2;
  }
  return Create(**engine, *object, true) ? 0 : 1;
}
