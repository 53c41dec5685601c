// SPDX-License-Identifier: Apache-2.0

#include "server/aggregation/merged_open_api.h"

#include <map>

#include "base/strings.h"
#include "json/reader.h"
#include "json/writer.h"

namespace portcullis::server {
namespace {

using Members = std::map<std::string, json::Value, std::less<>>;  // sorted, as Go writes them

void Add(json::Value object, Members& out) {
  for (const json::Member& member : object.members())
    out.try_emplace(std::string(member.name()), member.value);
}

json::Value Build(json::Arena& arena, const Members& members) {
  json::ObjectBuilder out(arena);
  for (const auto& [name, value] : members) out.Set(name, value);
  return out.Build();
}

std::string Reference(std::string_view definition) {
  return base::StrCat("\"#/definitions/", definition, "\"");
}

// The names of `theirs` that mean something else in `ours`, and the next free ones.
std::map<std::string, std::string> Renames(json::Value theirs, const Members& ours) {
  std::map<std::string, std::string> renames;
  for (const json::Member& member : theirs.members()) {
    const std::string text = json::ToString(member.value);
    std::string name(member.name());
    const auto clashes = [&] {
      const auto found = ours.find(name);
      return found != ours.end() && json::ToString(found->second) != text;
    };
    for (int i = 2; clashes(); ++i) name = base::StrCat(member.name(), "_v", std::to_string(i));
    if (name != member.name()) renames.emplace(member.name(), std::move(name));
  }
  return renames;
}

std::string ReplaceAll(std::string text, const std::string& from, const std::string& to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

}  // namespace

std::string OpenApiV2Of(json::Value document, std::string_view prefix) {
  json::Arena arena;
  Members paths;
  for (const json::Member& path : document["paths"].members()) {
    if (path.name().starts_with(prefix)) paths.emplace(path.name(), path.value);
  }
  if (paths.empty()) return {};
  return json::ToString(json::ObjectBuilder(arena)
                            .Set("paths", Build(arena, paths))
                            .Set("definitions", document["definitions"])
                            .Set("parameters", document["parameters"])
                            .Build());
}

base::Result<std::string> MergedOpenApiV2(std::string_view document,
                                          const std::vector<std::string>& parts) {
  json::Arena arena;
  const json::Value own = TRY(json::Parse(arena, document));
  Members paths;
  Members definitions;
  Members parameters;
  Add(own["paths"], paths);
  Add(own["definitions"], definitions);
  Add(own["parameters"], parameters);
  for (std::string text : parts) {
    json::Value part = TRY(json::Parse(arena, text));
    const auto renames = Renames(part["definitions"], definitions);
    for (const auto& [from, to] : renames)
      text = ReplaceAll(std::move(text), Reference(from), Reference(to));
    if (!renames.empty()) part = TRY(json::Parse(arena, text));
    for (const json::Member& member : part["definitions"].members()) {
      const auto renamed = renames.find(std::string(member.name()));
      definitions.try_emplace(
          renamed == renames.end() ? std::string(member.name()) : renamed->second, member.value);
    }
    Add(part["paths"], paths);
    Add(part["parameters"], parameters);
  }
  return json::ToString(json::ObjectBuilder(arena, own)
                            .Set("paths", Build(arena, paths))
                            .Set("definitions", Build(arena, definitions))
                            .Set("parameters", Build(arena, parameters))
                            .Build());
}

}  // namespace portcullis::server
