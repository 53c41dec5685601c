// SPDX-License-Identifier: Apache-2.0

// Judges a folder of pods with known verdicts: <level>/<version>/{pass,fail}/*.yaml, the layout in
// which the Pod Security Standards' own test data are published. Prints each pod judged otherwise,
// then `N passed, N failed`; exits with 1 if any failed.
//
//   pod_security_facts tests/conformance/pod_security/facts

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "json/yaml.h"
#include "policy/pod_security/evaluator.h"

namespace {

namespace fs = std::filesystem;
namespace json = portcullis::json;
namespace pod_security = portcullis::policy::pod_security;

// What the place of a file says about it.
struct Fact {
  fs::path path;
  pod_security::LevelVersion policy;
  bool allowed = false;
};

std::optional<Fact> FactOf(const fs::path& path) {
  if (path.extension() != ".yaml") return std::nullopt;
  const fs::path verdict = path.parent_path();
  const fs::path version = verdict.parent_path();
  const auto level = pod_security::ParseLevel(version.parent_path().filename().string());
  const auto parsed = pod_security::ParseVersion(version.filename().string());
  if (!level || !parsed) return std::nullopt;
  if (verdict.filename() != "pass" && verdict.filename() != "fail") return std::nullopt;
  return Fact{path, {*level, *parsed}, verdict.filename() == "pass"};
}

std::vector<Fact> FactsIn(const fs::path& folder) {
  std::vector<Fact> facts;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (std::optional<Fact> fact = FactOf(entry.path())) facts.push_back(*std::move(fact));
  }
  std::sort(facts.begin(), facts.end(),
            [](const Fact& a, const Fact& b) { return a.path < b.path; });
  return facts;
}

// "" if the pod is judged as its place says.
std::string Problem(const pod_security::Evaluator& evaluator, const Fact& fact) {
  std::ifstream file(fact.path);
  std::ostringstream text;
  text << file.rdbuf();
  json::Arena arena;
  const auto pod = json::ParseYaml(arena, text.str());
  if (!pod.ok()) return pod.status().message();
  const auto verdict = evaluator.Evaluate(fact.policy, {(*pod)["metadata"], (*pod)["spec"]});
  if (verdict.allowed() == fact.allowed) return {};
  return verdict.allowed() ? "allowed, must be refused" : "refused: " + verdict.Detail();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || !fs::is_directory(argv[1])) {
    std::cerr << "usage: pod_security_facts <folder>\n";
    return 2;
  }
  const pod_security::Evaluator evaluator;
  std::size_t passed = 0;
  std::size_t failed = 0;
  for (const Fact& fact : FactsIn(argv[1])) {
    const std::string problem = Problem(evaluator, fact);
    if (problem.empty()) {
      ++passed;
      continue;
    }
    ++failed;
    std::cout << fs::relative(fact.path, argv[1]).string() << ": " << problem << "\n";
  }
  std::cout << passed << " passed, " << failed << " failed\n";
  return failed == 0 && passed > 0 ? 0 : 1;
}
