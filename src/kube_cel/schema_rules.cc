// SPDX-License-Identifier: Apache-2.0

#include "kube_cel/schema_rules.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "base/strings.h"
#include "cel/checker/cost_estimate.h"
#include "cel/syntax/ast.h"
#include "golang/time.h"
#include "kube_cel/schema_sizes.h"

namespace portcullis::kube_cel {
namespace {

using cel::Type;
using cel::Value;

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
      const Type* element = Add(props["items"], name + ".@idx", IsEmbedded(props["items"]));
      return element == nullptr ? nullptr : cel::MakeListType(arena_, element);
    }
    if (type != "object") return nullptr;
    if (const json::Value additional = AdditionalOf(props); !additional.is_null()) {
      const Type* value = Add(additional, name + ".@elem", IsEmbedded(additional));
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
    for (const json::Member& member : VisibleProperties(arena_, props, is_resource)) {
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

std::optional<std::string> UnescapeFieldName(std::string_view name) {
  std::string out;
  for (std::size_t i = 0; i < name.size();) {
    const std::size_t end = name.substr(i).starts_with("__") ? name.find("__", i + 2) : name.npos;
    if (end == name.npos) {
      out += name[i++];
      continue;
    }
    const std::string_view word = name.substr(i + 2, end - i - 2);
    const bool reserved =
        std::find(std::begin(kReserved), std::end(kReserved), word) != std::end(kReserved);
    if (reserved) {
      if (i != 0 || end + 2 != name.size()) return std::nullopt;
      return std::string(word);
    }
    constexpr std::pair<std::string_view, std::string_view> kWords[] = {
        {"underscores", "__"}, {"dot", "."}, {"dash", "-"}, {"slash", "/"}};
    const auto* known = std::find_if(std::begin(kWords), std::end(kWords),
                                     [&](const auto& entry) { return entry.first == word; });
    if (known == std::end(kWords)) return std::nullopt;
    out += known->second;
    i = end + 2;
  }
  return out;
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

std::uint64_t EstimateRuleCost(const ScopeEnvironment& scope, json::Value props, bool is_resource,
                               std::string_view expression) {
  const cel::Compilation checked = scope.environment->Check(expression);
  if (checked.ast == nullptr) return 0;
  return cel::EstimateCost(*scope.environment, *checked.ast, SchemaSizes(props, is_resource)).max;
}

}  // namespace portcullis::kube_cel
