// SPDX-License-Identifier: Apache-2.0

#include "kube_cel/schema_sizes.h"

#include <algorithm>

#include "kube_cel/schema_rules.h"

namespace portcullis::kube_cel {
namespace {

using json::Value;

constexpr std::uint64_t kRequestSize = 3 * 1024 * 1024;
constexpr std::uint64_t kLongestText = kRequestSize - 2;  // without the quotes
constexpr std::uint64_t kBytesPerCharacter = 4;

bool IsEmbedded(Value props) { return props["x-kubernetes-embedded-resource"].AsBool(); }
bool IsString(Value props) { return props["type"].AsString() == "string"; }

// A limit such as maxItems; negative ones count as 0.
std::optional<std::uint64_t> Limit(Value props, std::string_view name) {
  const Value limit = props[name];
  if (!limit.is_int()) return std::nullopt;
  return static_cast<std::uint64_t>(std::max<std::int64_t>(limit.AsInt(), 0));
}

Value ElementOf(Value props) {
  const std::string_view type = props["type"].AsString();
  if (type == "array") return props["items"];
  const Value additional = props["additionalProperties"];
  return type == "object" && additional.is_object() ? additional : Value();
}

SchemaSize SizeOfString(Value props) {
  const std::string_view format = props["format"].AsString();
  const auto limit = Limit(props, "maxLength");
  if (format == "byte") return {2, limit.value_or(kLongestText)};
  if (format == "duration") return {3, 32};
  if (format == "date") return {12, 12};
  if (format == "date-time") return {21, 32};
  if (limit) return {2, *limit * kBytesPerCharacter};
  const Value values = props["enum"];
  if (values.size() == 0) return {2, kLongestText};
  std::uint64_t longest = 0;
  for (const Value& value : values.elements()) {
    longest = std::max<std::uint64_t>(longest, value.AsString().size());
  }
  return {2, longest};
}

// Elements that fit into a request when each takes so many bytes.
std::uint64_t Fitting(std::uint64_t bytes_each) { return (kRequestSize - 2) / bytes_each; }

std::optional<SchemaSize> SizeOfStruct(Value props, bool is_resource) {
  std::uint64_t size = 2;
  json::Arena arena;
  for (const json::Member& member : VisibleProperties(arena, props, is_resource)) {
    const auto field = SizeOfSchema(member.value, IsEmbedded(member.value));
    if (!field || member.value.Has("default")) continue;
    const auto required = props["required"].elements();
    const bool is_required = std::any_of(required.begin(), required.end(), [&](Value name) {
      return name.AsString() == member.name();
    });
    if (is_required) size += member.name().size() + field->min_json + 4;
  }
  return SchemaSize{size, 0};
}

}  // namespace

std::vector<json::Member> VisibleProperties(json::Arena& arena, Value props, bool is_resource) {
  const Value properties = props["properties"];
  std::vector<json::Member> result(properties.members().begin(), properties.members().end());
  const Value metadata = properties["metadata"];
  const bool complete = IsString(properties["kind"]) && IsString(properties["apiVersion"]) &&
                        metadata["type"].AsString() == "object" &&
                        IsString(metadata["properties"]["name"]) &&
                        IsString(metadata["properties"]["generateName"]);
  if (!is_resource || complete) return result;
  std::erase_if(result, [](const json::Member& member) {
    return member.name() == "kind" || member.name() == "apiVersion" || member.name() == "metadata";
  });
  const Value text = json::ObjectBuilder(arena).Set("type", "string").Build();
  const Value names =
      json::ObjectBuilder(arena).Set("name", text).Set("generateName", text).Build();
  const Value own =
      json::ObjectBuilder(arena)
          .Set("kind", text)
          .Set("apiVersion", text)
          .Set("metadata",
               json::ObjectBuilder(arena).Set("type", "object").Set("properties", names).Build())
          .Build();
  result.insert(result.end(), own.members().begin(), own.members().end());
  return result;
}

std::optional<SchemaSize> SizeOfSchema(Value props, bool is_resource) {
  if (props["x-kubernetes-int-or-string"].AsBool()) {
    const auto limit = Limit(props, "maxLength");
    return SchemaSize{1, limit ? *limit * kBytesPerCharacter : kLongestText};
  }
  const std::string_view type = props["type"].AsString();
  if (type == "string") return SizeOfString(props);
  if (type == "boolean") return SchemaSize{4, 0};
  if (type == "integer" || type == "number") return SchemaSize{1, 0};
  if (type != "array" && type != "object") return std::nullopt;
  const Value element = ElementOf(props);
  if (type == "object" && !element.is_object()) return SizeOfStruct(props, is_resource);
  const auto size = SizeOfSchema(element, IsEmbedded(element));
  if (!size) return std::nullopt;
  // Commas between elements; quotes, a colon and a comma around keys.
  if (type == "array") {
    return SchemaSize{2, Limit(props, "maxItems").value_or(Fitting(size->min_json + 1))};
  }
  return SchemaSize{2, Limit(props, "maxProperties").value_or(Fitting(size->min_json + 6))};
}

std::uint64_t MaxOccurrences(Value props, bool is_resource) {
  const auto size = SizeOfSchema(props, is_resource);
  return size ? kRequestSize / (size->min_json + 1) : kRequestSize;
}

std::optional<std::uint64_t> ElementLimit(Value props) {
  const std::string_view type = props["type"].AsString();
  if (type == "array") return Limit(props, "maxItems");
  if (type == "object" && !props["additionalProperties"].is_null()) {
    return Limit(props, "maxProperties");
  }
  return 1;
}

std::optional<cel::Range> SchemaSizes::Size(std::span<const std::string_view> path,
                                            const cel::Type&) const {
  if (path.empty()) return std::nullopt;
  json::Arena arena;
  Value node = props_;
  bool is_resource = is_resource_;
  bool is_key = false;
  for (const std::string_view step : path.subspan(1)) {  // the first leads to the root
    if (is_key) return std::nullopt;
    Value next;
    if (step == "@items" || step == "@values") {
      next = ElementOf(node);
    } else if (step == "@keys") {
      is_key = node["type"].AsString() == "object" && ElementOf(node).is_object();
      if (!is_key) return std::nullopt;
      continue;
    } else if (!ElementOf(node).is_object()) {
      for (const json::Member& member : VisibleProperties(arena, node, is_resource)) {
        if (EscapeFieldName(member.name()) == step) next = member.value;
      }
    }
    if (!next.is_object()) return std::nullopt;
    node = next;
    is_resource = IsEmbedded(node);
  }
  if (is_key) return cel::Range{0, 0};  // Kubernetes knows nothing of the length of keys
  const auto size = SizeOfSchema(node, is_resource);
  if (!size) return std::nullopt;
  return cel::Range{0, size->max_elements};
}

}  // namespace portcullis::kube_cel
