// SPDX-License-Identifier: Apache-2.0

// The part of Judging that judges what controllers make of objects.
#include <utility>

#include "base/strings.h"
#include "json/writer.h"
#include "offline/judging.h"

namespace portcullis::offline {
namespace {

// Names that the server would choose differ from run to run; reports do not.
void HideGeneratedName(json::Value object, std::size_t first, Result& result) {
  const std::string_view prefix = object["metadata"]["generateName"].AsString();
  if (prefix.empty()) return;
  constexpr std::size_t kRandom = 5;
  const std::string quoted = base::StrCat("\"", prefix);
  for (std::size_t i = first; i < result.failures.size(); ++i) {
    std::string& message = result.failures[i].message;
    const std::size_t at = message.find(quoted);
    if (at == std::string::npos) continue;
    const std::size_t end = at + quoted.size() + kRandom;
    if (end < message.size() && message[end] == '"') {
      message.replace(end - kRandom, kRandom, std::string(kRandom, '?'));
    }
  }
}

}  // namespace

void Judging::JudgeExpansions(const Manifest& manifest, json::Value object, const std::string& ns,
                              const std::vector<std::string>& prefix, Result& result) {
  json::Arena arena;
  for (const Expansion& expansion :
       Expand(arena, object, prefix.empty() ? manifest.object : json::Value(), ns,
              options_.pod_templates)) {
    std::vector<std::string> path = prefix;
    path.insert(path.end(), expansion.path.begin(), expansion.path.end());
    // A quota is used up by every pod; without one, each pod is judged as the first one is.
    const std::size_t count = cluster_->HasQuota(ns) ? expansion.count : 1;
    for (std::size_t i = 0; i < count; ++i) {
      if (!JudgeExpansion(manifest, expansion, i, {ns, path}, result)) break;
    }
  }
}

bool Judging::JudgeExpansion(const Manifest& manifest, const Expansion& expansion,
                             std::size_t index, const Site& site, Result& result) {
  engine::Operation op(cluster_->world());
  if (!engine::ResolveObject(op, expansion.object).ok()) return false;
  op.ns = site.ns;
  MakeServiceAccountOf(expansion.object, site.ns);
  api::UserInfo user;
  user.name = base::StrCat("system:serviceaccount:kube-system:", expansion.asker);
  user.groups = {"system:serviceaccounts", "system:serviceaccounts:kube-system",
                 std::string(api::kGroupAuthenticated)};
  const std::string kind = base::ToLower(expansion.object["kind"].AsString());
  std::string subject = base::StrCat(kind, " of ", manifest.kind, " ", manifest.name);
  if (index > 0) {
    subject =
        base::StrCat(kind, " ", std::to_string(index + 1), " of ", std::to_string(expansion.count),
                     " of ", manifest.kind, " ", manifest.name);
  }
  const std::size_t before = result.failures.size();
  const std::string body = json::ToString(expansion.object);
  const Judged judged =
      Submit(op, {.body = body, .user = &user}, {manifest, site.path, subject}, result);
  HideGeneratedName(expansion.object, before, result);
  if (!judged.admitted) {
    if (result.verdict == Verdict::kAllow) {
      result.verdict = Verdict::kDeny;
      result.code = judged.status.http_code();
      result.message = result.failures.size() > before ? result.failures[before].message
                                                       : judged.status.message();
      result.object.clear();
    }
  }
  if (judged.admitted && kind == "pod" && index == 0 && options_.traces && IsOwn(manifest)) {
    result.pods.emplace_back(subject, json::ToString(judged.object));
  }
  // A ReplicaSet has its Deployment's fields in the same places.
  JudgeExpansions(manifest, judged.admitted ? judged.object : expansion.object, site.ns, site.path,
                  result);
  return judged.admitted;
}

}  // namespace portcullis::offline
