#include "kube_cel/schema_rules.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "api/time.h"
#include "base/strings.h"
#include "cel/checker/cost_estimate.h"
#include "cel/syntax/ast.h"

namespace portcullis::kube_cel {
namespace {

using cel::Type;
using cel::Value;

constexpr std::uint64_t kRequestSize = 3 * 1024 * 1024;

constexpr std::string_view kReserved[] = {
    "true",     "false",   "null",      "in",       "as",  "break",  "const",
    "continue", "else",    "for",       "function", "if",  "import", "let",
    "loop",     "package", "namespace", "return",   "var", "void",   "while"};

bool IsIntOrString(json::Value props) { return props["x-kubernetes-int-or-string"].AsBool(); }

// The schema of additional properties, or null.
json::Value AdditionalOf(json::Value props) {
  const json::Value additional = props["additionalProperties"];
  return additional.is_object() ? additional : json::Value();
}

// Struct types of one schema, by name.
class SchemaTypes final : public cel::TypeProvider {
 public:
  // The type of `props`, or null if it is not exposed.
  const Type* Add(json::Value props, const std::string& name, bool is_resource) {
    if (IsIntOrString(props)) return &cel::kDynType;
    const std::string_view type = props["type"].AsString();
    const std::string_view format = props["format"].AsString();
    if (type == "boolean") return &cel::kBoolType;
    if (type == "integer") return &cel::kIntType;
    if (type == "number") return &cel::kDoubleType;
    if (type == "string") {
      if (format == "byte") return &cel::kBytesType;
      if (format == "duration") return &cel::kDurationType;
      if (format == "date" || format == "date-time") return &cel::kTimestampType;
      return &cel::kStringType;
    }
    if (type == "array") {
      const Type* element = Add(props["items"], name + ".@items", IsEmbedded(props["items"]));
      return element == nullptr ? nullptr : cel::MakeListType(arena_, element);
    }
    if (type != "object") return nullptr;
    if (const json::Value additional = AdditionalOf(props); !additional.is_null()) {
      const Type* value = Add(additional, name + ".@values", IsEmbedded(additional));
      return value == nullptr ? nullptr : cel::MakeMapType(arena_, &cel::kStringType, value);
    }
    return AddStruct(props, name, is_resource);
  }

  const Type* FindStruct(std::string_view) const override { return nullptr; }
  const Type* FindField(const Type& type, std::string_view field) const override {
    const auto fields = structs_.find(type.name);
    if (fields == structs_.end()) return nullptr;
    const auto found = fields->second.find(field);
    return found == fields->second.end() ? nullptr : found->second;
  }

 private:
  using Fields = std::map<std::string, const Type*, std::less<>>;

  static bool IsEmbedded(json::Value props) {
    return props["x-kubernetes-embedded-resource"].AsBool();
  }

  const Type* AddStruct(json::Value props, const std::string& name, bool is_resource) {
    Fields fields;
    for (const json::Member& member : props["properties"].members()) {
      const std::string field = EscapeFieldName(member.name());
      if (field.empty()) continue;
      const Type* type = Add(member.value, name + "." + field, IsEmbedded(member.value));
      if (type == nullptr) continue;
      fields[field] = type;
      // Reserved words that may stand behind a dot are fields under their own name too.
      if (field != member.name() && IsPlainAfterDot(member.name())) {
        fields[std::string(member.name())] = type;
      }
    }
    if (is_resource) {
      fields["apiVersion"] = &cel::kStringType;
      fields["kind"] = &cel::kStringType;
      const std::string metadata = name + ".metadata";
      Fields& names = structs_[metadata];
      names["name"] = &cel::kStringType;
      names["generateName"] = &cel::kStringType;
      fields["metadata"] = cel::MakeStructType(arena_, metadata);
    }
    structs_[name] = std::move(fields);
    return cel::MakeStructType(arena_, name);
  }

  static bool IsPlainAfterDot(std::string_view name) {
    if (name == "true" || name == "false" || name == "null" || name == "in") return false;
    return std::find(std::begin(kReserved), std::end(kReserved), name) != std::end(kReserved);
  }

  json::Arena arena_;
  std::map<std::string, Fields, std::less<>> structs_;
};

// Sizes that a schema promises, in bytes of JSON and in characters or elements.
std::uint64_t MinSerialized(json::Value props) {
  const std::string_view type = props["type"].AsString();
  if (IsIntOrString(props)) return 1;
  if (type == "string") return 2;
  if (type == "boolean") return 4;
  if (type == "array") return 2;
  if (type == "object") {
    std::uint64_t size = 2;
    for (const json::Value& required : props["required"].elements()) {
      const json::Value field = props["properties"][required.AsString()];
      if (field.is_null() || field.Has("default")) continue;
      size += required.AsString().size() + MinSerialized(field) + 4;
    }
    return size;
  }
  return 1;
}

std::uint64_t MaxLength(json::Value props) {
  const std::string_view format = props["format"].AsString();
  if (const json::Value values = props["enum"]; values.is_array() && !values.empty()) {
    std::uint64_t longest = 0;
    for (const json::Value& value : values.elements()) {
      longest = std::max<std::uint64_t>(longest, value.AsString().size());
    }
    return longest;
  }
  if (format == "duration" || format == "date-time") return 32;
  if (format == "date") return 12;
  if (const json::Value limit = props["maxLength"]; limit.is_int() && limit.AsInt() >= 0) {
    const auto length = static_cast<std::uint64_t>(limit.AsInt());
    return format == "byte" ? length : length * 4;
  }
  return kRequestSize - 2;
}

class Sizes final : public cel::SizeEstimator {
 public:
  explicit Sizes(json::Value props) : props_(props) {}

  std::optional<cel::Range> Size(std::span<const std::string_view> path,
                                 const Type&) const override {
    json::Value node = props_;
    for (std::size_t i = 1; i < path.size(); ++i) {
      if (path[i] == "@items") {
        node = node["items"];
      } else if (path[i] == "@values") {
        node = AdditionalOf(node);
      } else if (path[i] == "@keys") {
        return cel::Range{0, kRequestSize - 2};
      } else {
        node = FieldOf(node, path[i]);
      }
      if (!node.is_object()) return std::nullopt;
    }
    const std::string_view type = node["type"].AsString();
    if (type == "string") return cel::Range{0, MaxLength(node)};
    if (type == "array" || type == "object") return cel::Range{0, MaxElements(node)};
    return std::nullopt;
  }

 private:
  static json::Value FieldOf(json::Value props, std::string_view field) {
    for (const json::Member& member : props["properties"].members()) {
      if (EscapeFieldName(member.name()) == field || member.name() == field) return member.value;
    }
    return AdditionalOf(props);
  }

  const json::Value props_;
};

// Whether the plain JSON would be seen wrongly.
bool NeedsConversion(json::Value props) {
  if (IsIntOrString(props)) return false;
  const std::string_view type = props["type"].AsString();
  if (type == "number") return true;  // an integral literal is a double all the same
  if (type == "string") {
    const std::string_view format = props["format"].AsString();
    return format == "byte" || format == "duration" || format == "date" || format == "date-time";
  }
  if (type == "array") return NeedsConversion(props["items"]);
  if (type != "object") return false;
  if (const json::Value additional = AdditionalOf(props); !additional.is_null()) {
    return NeedsConversion(additional);
  }
  const auto members = props["properties"].members();
  return std::any_of(members.begin(), members.end(), [](const json::Member& member) {
    return EscapeFieldName(member.name()) != member.name() || NeedsConversion(member.value);
  });
}

Value TextValue(json::Arena& arena, std::string_view format, std::string_view text) {
  if (format == "byte") {
    const auto bytes = base::Base64Decode(text);
    return bytes ? cel::MakeBytes(arena, *bytes) : cel::MakeError(arena, "illegal base64 data");
  }
  if (format == "duration") {
    const auto duration = api::ParseDuration(text);
    return duration.ok() ? Value::Duration(*duration)
                         : cel::MakeError(arena, duration.status().message());
  }
  const std::string full = format == "date" ? base::StrCat(text, "T00:00:00Z") : std::string(text);
  const auto moment = api::ParseTime(full);
  if (!moment.ok()) return cel::MakeError(arena, moment.status().message());
  return Value::Timestamp(moment->seconds, static_cast<std::uint32_t>(moment->nanos));
}

}  // namespace

std::string EscapeFieldName(std::string_view name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return "";
  if (std::find(std::begin(kReserved), std::end(kReserved), name) != std::end(kReserved)) {
    return base::StrCat("__", name, "__");
  }
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter) {
      out += c;
    } else if (c == '_') {
      const bool two = i + 1 < name.size() && name[i + 1] == '_';
      out += two ? "__underscores__" : "_";
      if (two) ++i;
    } else if (c == '.') {
      out += "__dot__";
    } else if (c == '-') {
      out += "__dash__";
    } else if (c == '/') {
      out += "__slash__";
    } else {
      return "";
    }
  }
  return out;
}

std::uint64_t MaxElements(json::Value props) {
  const bool list = props["type"].AsString() == "array";
  const json::Value limit = props[list ? "maxItems" : "maxProperties"];
  if (limit.is_int() && limit.AsInt() >= 0) return static_cast<std::uint64_t>(limit.AsInt());
  if (list) return (kRequestSize - 2) / (MinSerialized(props["items"]) + 1);
  const json::Value additional = AdditionalOf(props);
  if (additional.is_null()) return props["properties"].size();
  return (kRequestSize - 2) / (MinSerialized(additional) + 6);
}

std::shared_ptr<const ScopeEnvironment> MakeRuleEnvironment(json::Value props, bool is_resource,
                                                            bool optional_old_self) {
  auto types = std::make_shared<SchemaTypes>();
  const Type* self = types->Add(props, "selfType", is_resource);
  if (self == nullptr) self = &cel::kDynType;
  cel::EnvironmentBuilder builder;
  AddKubernetesLibraries(builder);
  json::Arena arena;
  builder.AddVariable("self", self);
  builder.AddVariable("oldSelf", optional_old_self ? cel::MakeOptionalType(arena, self) : self);
  builder.SetTypes(types);
  auto scope = std::make_shared<ScopeEnvironment>();
  scope->indices.fill(-1);
  auto built = builder.Build();
  if (!built.ok()) return scope;  // the tables are tested: cannot happen
  scope->environment = *std::move(built);
  scope->indices[static_cast<std::size_t>(Input::kObject)] =
      scope->environment->VariableIndex("self");
  scope->indices[static_cast<std::size_t>(Input::kOldObject)] =
      scope->environment->VariableIndex("oldSelf");
  return scope;
}

Value RuleValue(json::Arena& arena, json::Value props, json::Value value) {
  if (!NeedsConversion(props)) return cel::MakeFromJson(arena, value);
  if (value.is_string()) return TextValue(arena, props["format"].AsString(), value.AsString());
  if (value.is_int()) return Value::Double(static_cast<double>(value.AsInt()));
  if (value.is_array()) {
    std::vector<Value> elements;
    for (const json::Value& element : value.elements()) {
      elements.push_back(RuleValue(arena, props["items"], element));
    }
    return cel::MakeList(arena, elements);
  }
  if (!value.is_object()) return cel::MakeFromJson(arena, value);
  const json::Value additional = AdditionalOf(props);
  std::vector<cel::MapEntry> entries;
  for (const json::Member& member : value.members()) {
    if (!additional.is_null()) {
      entries.push_back({Value::String(member.name()), RuleValue(arena, additional, member.value)});
      continue;
    }
    const std::string field = EscapeFieldName(member.name());
    const Value converted = RuleValue(arena, props["properties"][member.name()], member.value);
    if (!field.empty()) entries.push_back({cel::MakeString(arena, field), converted});
    if (field != member.name()) entries.push_back({Value::String(member.name()), converted});
  }
  return cel::MakeMap(arena, entries);
}

std::uint64_t EstimateRuleCost(const ScopeEnvironment& scope, json::Value props,
                               std::string_view rule) {
  const cel::Compilation checked = scope.environment->Check(rule);
  if (checked.ast == nullptr) return 0;
  return cel::EstimateCost(*scope.environment, *checked.ast, Sizes(props)).max;
}

}  // namespace portcullis::kube_cel
