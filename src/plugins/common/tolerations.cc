#include "plugins/common/tolerations.h"

#include <string_view>
#include <vector>

namespace portcullis::plugins::common {
namespace {

std::string_view Text(json::Value toleration, std::string_view member) {
  return toleration[member].AsString();
}

}  // namespace

bool SameToleration(json::Value a, json::Value b) {
  for (std::string_view member : {"key", "operator", "value", "effect"}) {
    if (Text(a, member) != Text(b, member)) return false;
  }
  return a["tolerationSeconds"] == b["tolerationSeconds"];
}

bool Covers(json::Value wide, json::Value narrow) {
  if (SameToleration(wide, narrow)) return true;
  std::string_view op = Text(wide, "operator");
  if (Text(wide, "key") != Text(narrow, "key") && !(Text(wide, "key").empty() && op == "Exists")) {
    return false;
  }
  std::string_view effect = Text(wide, "effect");
  if (effect != Text(narrow, "effect") && !effect.empty()) return false;
  const json::Value most = wide["tolerationSeconds"];
  if (effect == "NoExecute" && most.is_int()) {
    const json::Value seconds = narrow["tolerationSeconds"];
    if (!seconds.is_int() || seconds.AsInt() > most.AsInt()) return false;
  }
  if (op.empty() || op == "Equal") {
    return Text(narrow, "operator") == "Equal" && Text(wide, "value") == Text(narrow, "value");
  }
  return op == "Exists";
}

json::Value MergeTolerations(json::Arena& arena, json::Value first, json::Value second) {
  std::vector<json::Value> all(first.elements().begin(), first.elements().end());
  all.insert(all.end(), second.elements().begin(), second.elements().end());
  std::vector<json::Value> kept;
  for (std::size_t i = 0; i < all.size(); ++i) {
    bool covered = false;
    for (const json::Value& other : kept) covered = covered || Covers(other, all[i]);
    for (std::size_t j = i + 1; j < all.size() && !covered; ++j) {
      covered = !SameToleration(all[i], all[j]) && Covers(all[j], all[i]);
    }
    if (!covered) kept.push_back(all[i]);
  }
  return json::MakeArray(arena, kept);
}

bool AllowedBy(json::Value tolerations, json::Value whitelist) {
  if (whitelist.empty()) return true;
  for (const json::Value& toleration : tolerations.elements()) {
    bool covered = false;
    for (const json::Value& allowed : whitelist.elements()) {
      covered = covered || Covers(allowed, toleration);
    }
    if (!covered) return false;
  }
  return true;
}

}  // namespace portcullis::plugins::common
