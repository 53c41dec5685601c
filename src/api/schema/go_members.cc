// SPDX-License-Identifier: Apache-2.0

#include "api/schema/go_members.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/inline_vector.h"

namespace portcullis::api::schema {
namespace {

using json::Value;

// Lists and maps with omitempty of which Kubernetes tells an empty one from an absent one: it puts its
// default only where there is none, forbids even an empty one, or takes it for a choice. By their owners.
constexpr std::pair<std::string_view, std::string_view> kKeptWhenEmpty[] = {
    {"DeviceRequest", "selectors"},
    {"DeviceRequest", "tolerations"},
    {"HPAScalingRules", "policies"},
    {"JSONSchemaProps", "dependencies"}};

bool IsKeptWhenEmpty(const Schema& owner, const Field& field) {
  const std::pair wanted(owner.go_struct, field.name);
  return std::find(std::begin(kKeptWhenEmpty), std::end(kKeptWhenEmpty), wanted) !=
         std::end(kKeptWhenEmpty);
}

}  // namespace

std::optional<Value> WrittenEmpty(const Schema& owner, const Field& field, Value value,
                                  const EmptyForms& forms) {
  const bool kept = (field.schema->kind == Kind::kBytes && forms.keeps_empty_bytes) ||
                    IsKeptWhenEmpty(owner, field);
  return kept ? std::optional<Value>(value) : std::nullopt;
}

Value ZeroOf(json::Arena& arena, const Schema& schema) {
  switch (schema.kind) {
    case Kind::kString:
      return Value::StringView("");
    case Kind::kInteger:
    case Kind::kNumber:
    case Kind::kIntOrString:
      return Value::Int(0);
    case Kind::kBoolean:
      return Value::Bool(false);
    case Kind::kQuantity:
      return Value::StringView("0");
    case Kind::kDuration:
      return Value::StringView("0s");
    case Kind::kStruct: {
      base::InlineVector<json::Member, 8> members;
      for (const Field& field : schema.fields) {
        if (const auto value = WrittenWhenUnset(arena, field)) {
          members.push_back(WrittenMember(field, *value));
        }
      }
      return json::MakeObject(arena, members.span());
    }
    default:
      return {};
  }
}

bool SortEntries(std::span<json::Member> entries) {
  const auto lower = [](const json::Member& a, const json::Member& b) {
    return a.name() < b.name();
  };
  if (std::is_sorted(entries.begin(), entries.end(), lower)) return false;
  std::sort(entries.begin(), entries.end(), lower);
  return true;
}

}  // namespace portcullis::api::schema
