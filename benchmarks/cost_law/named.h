// SPDX-License-Identifier: Apache-2.0

// Families that no schema tells: lists that belong together, patches, custom resources,
// definitions, policies, expressions, queries, headers.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "family.h"

namespace portcullis::cost_law {

std::vector<Family> NamedFamilies();

// The tables, one file each.
void AddPods(std::vector<Family>& out);
void AddPatches(std::vector<Family>& out);
void AddCustomResources(std::vector<Family>& out);
void AddDefinitions(std::vector<Family>& out);
void AddExpressions(std::vector<Family>& out);
void AddRequests(std::vector<Family>& out);

// --- Writing bodies ---

// "[x0,x1,…]": text(i) for each i below n, joined by commas, between brackets.
std::string ListOf(std::size_t n, const std::function<std::string(std::size_t)>& text);
std::string MapOf(std::size_t n, const std::function<std::string(std::size_t)>& text);
// The text with every "#" replaced by the number: R"({"name":"n#"})".
std::string With(std::string_view text, std::size_t i);
// ListOf and MapOf of such texts.
std::string List(std::size_t n, std::string_view element);
std::string Map(std::size_t n, std::string_view entry);
std::string Repeat(std::size_t n, std::string_view piece);

constexpr std::string_view kMerge = "application/merge-patch+json";
constexpr std::string_view kStrategic = "application/strategic-merge-patch+json";
constexpr std::string_view kJsonPatch = "application/json-patch+json";
constexpr std::string_view kApply = "application/apply-patch+yaml";

// A request that needs nothing but the world.
Family Alone(std::string name, std::string method, std::string path,
             std::function<std::string(std::size_t)> body,
             std::string_view content_type = "application/json");
// A change of the object that `before` makes in `collection` under the name "law".
struct ChangeOf {
  std::string collection;
  std::function<std::string(std::size_t)> before;
  std::string method;
  std::string_view content_type;
  std::function<std::string(std::size_t)> body;
};
Family Change(std::string name, ChangeOf change);

}  // namespace portcullis::cost_law
