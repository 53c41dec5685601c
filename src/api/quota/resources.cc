// SPDX-License-Identifier: Apache-2.0

#include "api/quota/resources.h"

#include "base/strings.h"
#include "json/writer.h"

namespace portcullis::api::quota {

Quantity ReadQuantity(json::Value value) {
  base::Result<Quantity> parsed = value.is_number() ? Quantity::Parse(json::ToString(value))
                                                    : Quantity::Parse(value.AsString());
  return parsed.ok() ? *std::move(parsed) : Quantity();
}

Resources ReadResources(json::Value object) {
  Resources out;
  for (const json::Member& member : object.members()) {
    if (member.value.is_string() || member.value.is_number()) {
      out.emplace(std::string(member.name()), ReadQuantity(member.value));
    }
  }
  return out;
}

json::Value ResourcesToJson(json::Arena& arena, const Resources& resources) {
  json::ObjectBuilder out(arena);
  for (const auto& [name, amount] : resources) out.Set(arena.Copy(name), amount.ToString());
  return out.Build();
}

void Add(Resources& total, const Resources& amounts) {
  for (const auto& [name, amount] : amounts) {
    auto [at, is_new] = total.try_emplace(name, amount);
    if (!is_new) at->second.Add(amount);
  }
}

void TakeMax(Resources& total, const Resources& amounts) {
  for (const auto& [name, amount] : amounts) {
    auto [at, is_new] = total.try_emplace(name, amount);
    if (!is_new && at->second < amount) at->second = amount;
  }
}

Resources Subtract(const Resources& a, const Resources& b) {
  Resources out = a;
  for (const auto& [name, amount] : b) {
    out.try_emplace(name).first->second.Sub(amount);
  }
  return out;
}

bool Equal(const Resources& a, const Resources& b) {
  if (a.size() != b.size()) return false;
  for (auto left = a.begin(), right = b.begin(); left != a.end(); ++left, ++right) {
    if (left->first != right->first || left->second != right->second) return false;
  }
  return true;
}

std::string ResourcesText(const Resources& resources) {
  std::string out;
  for (const auto& [name, amount] : resources) {
    if (!out.empty()) out += ",";
    out += base::StrCat(name, "=", amount.ToString());
  }
  return out;
}

}  // namespace portcullis::api::quota
