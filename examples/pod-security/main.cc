// SPDX-License-Identifier: Apache-2.0

// Judges Pods in YAML files by the Pod Security Standards, without a server. See README.md.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "base/strings.h"
#include "json/yaml.h"
#include "policy/pod_security/evaluator.h"

namespace {

namespace base = portcullis::base;
namespace json = portcullis::json;
namespace pod_security = portcullis::policy::pod_security;

// "restricted" or "restricted:v1.22".
std::optional<pod_security::LevelVersion> ParsePolicy(std::string_view text) {
  const auto cut = base::Cut(text, ":");
  const auto level = pod_security::ParseLevel(cut ? cut->first : text);
  const auto version = pod_security::ParseVersion(cut ? cut->second : "latest");
  if (!level || !version) return std::nullopt;
  return pod_security::LevelVersion{*level, *version};
}

// How many Pods of the document stream do not keep to the policy; prints each. -1 if it is no YAML.
int Judge(const pod_security::Evaluator& evaluator, const pod_security::LevelVersion& policy,
          std::string_view text) {
  int refused = 0;
  for (const std::string_view document : json::SplitYaml(text)) {
    json::Arena arena;
    const auto pod = json::ParseYaml(arena, document);
    if (!pod.ok()) {
      std::fprintf(stderr, "%s\n", pod.status().message().c_str());
      return -1;
    }
    if ((*pod)["kind"].AsString() != "Pod") continue;
    const auto verdict = evaluator.Evaluate(policy, {(*pod)["metadata"], (*pod)["spec"]});
    if (verdict.allowed()) continue;
    ++refused;
    const std::string name((*pod)["metadata"]["name"].AsString());
    std::printf("pod %s: would violate PodSecurity \"%s\": %s\n", name.c_str(),
                pod_security::LevelVersionText(policy).c_str(), verdict.Detail().c_str());
  }
  return refused;
}

}  // namespace

int main(int argc, char** argv) {
  const auto policy = argc > 2 ? ParsePolicy(argv[1]) : std::nullopt;
  if (!policy) {
    std::fprintf(stderr, "usage: example-pod-security LEVEL[:VERSION] FILE...\n");
    return 2;
  }
  const pod_security::Evaluator evaluator;
  bool all_keep_to_it = true;
  for (int i = 2; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "cannot read %s\n", argv[i]);
      return 2;
    }
    const std::string text((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
    const int refused = Judge(evaluator, *policy, text);
    if (refused < 0) return 2;
    all_keep_to_it = all_keep_to_it && refused == 0;
  }
  return all_keep_to_it ? 0 : 1;
}
