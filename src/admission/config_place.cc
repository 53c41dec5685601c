// SPDX-License-Identifier: Apache-2.0

#include "admission/config_place.h"

#include <optional>

#include "base/strings.h"
#include "json/yaml_place.h"

namespace portcullis::admission {
namespace {

bool IsNameChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

// The field path that begins at `message[at]`, as steps; `at` is moved behind it.
std::vector<std::string> ReadPath(std::string_view message, std::size_t& at) {
  std::vector<std::string> steps;
  std::string step;
  const auto end_step = [&] {
    if (!step.empty()) steps.push_back(std::move(step));
    step.clear();
  };
  for (; at < message.size(); ++at) {
    const char c = message[at];
    if (IsNameChar(c)) {
      step += c;
    } else if (c == '.' || c == '[') {
      end_step();
    } else if (c != ']') {
      break;
    }
  }
  end_step();
  return steps;
}

std::string Text(std::string_view file, const json::YamlPlace& place) {
  return base::StrCat(file, ":", std::to_string(place.line), ":", std::to_string(place.column));
}

}  // namespace

std::string PlaceOfMistake(std::string_view file, std::string_view text, std::string_view message,
                           const std::vector<std::string>& root) {
  std::optional<json::YamlPlace> best;
  std::vector<std::string> names;
  for (std::size_t at = 0; at < message.size();) {
    if (!IsNameChar(message[at])) {
      ++at;
      continue;
    }
    std::vector<std::string> path = ReadPath(message, at);
    if (path.empty()) continue;
    // The kinds of some files stand in front of their messages' paths.
    for (int skipped = 0; skipped < 2 && !path.empty(); ++skipped) {
      std::vector<std::string> whole = root;
      whole.insert(whole.end(), path.begin(), path.end());
      auto found = json::FindInYaml(text, whole);
      if (found && found->steps <= root.size()) found.reset();
      if (found && found->steps == whole.size() && path.size() > 1) return Text(file, *found);
      if (found && (!best || found->steps > best->steps)) best = found;
      if (skipped == 0 && !found) names.push_back(path.front());
      path.erase(path.begin());
    }
  }
  if (best) return Text(file, *best);
  for (const std::string& name : names) {
    if (const auto found = json::FindMemberInYaml(text, name)) return Text(file, *found);
  }
  if (const auto found = json::FindInYaml(text, root)) return Text(file, *found);
  return std::string(file);
}

}  // namespace portcullis::admission
