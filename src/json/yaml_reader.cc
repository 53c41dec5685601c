#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "base/gotext.h"
#include "base/strings.h"
#include "json/go_float.h"
#include "json/reader.h"
#include "json/writer.h"
#include "json/yaml.h"
#include "json/yaml_node.h"
#include "json/yaml_scalar.h"

namespace portcullis::json {
namespace {

using internal::YamlError;
using internal::YamlKind;
using internal::YamlNode;
using internal::YamlScalar;
using internal::YamlTag;

// The share of nodes that may come from aliases: 99 % in documents up to 400,000 nodes, falling to
// 10 % at 4,000,000. Go's guard against documents that explode.
double AllowedAliasRatio(double nodes) {
  constexpr double kLow = 400000;
  constexpr double kHigh = 4000000;
  if (nodes <= kLow) return 0.99;
  if (nodes >= kHigh) return 0.10;
  return 0.99 - 0.89 * ((nodes - kLow) / (kHigh - kLow));
}

// fmt's %#v of the Go value that `value` stands for.
std::string GoSyntax(const Value& value) {
  if (value.is_null()) return "interface {}(nil)";
  if (value.is_string()) return base::GoQuote(value.AsString());
  if (value.is_array()) {
    std::vector<std::string> parts;
    for (const Value& element : value.elements()) parts.push_back(GoSyntax(element));
    return base::StrCat("[]interface {}{", base::Join(parts, ", "), "}");
  }
  if (value.is_object()) {
    std::vector<std::string> parts;
    for (const Member& member : value.members()) {
      parts.push_back(base::StrCat(base::GoQuote(member.name()), ":", GoSyntax(member.value)));
    }
    std::sort(parts.begin(), parts.end());
    return base::StrCat("map[interface {}]interface {}{", base::Join(parts, ", "), "}");
  }
  return ToString(value);
}

// A member name: its text in JSON, and how Go's %#v prints the key it came from, which also tells
// keys of different types apart.
struct Key {
  std::string text;
  std::string go_syntax;
};

// An object being filled, possibly by several mappings (merge keys).
struct Filling {
  explicit Filling(Arena& arena) : builder(arena) {}
  ObjectBuilder builder;
  std::set<std::string> seen;  // go_syntax of the keys; only for strict reading
};

class YamlDecoder {
 public:
  YamlDecoder(Arena& arena, const YamlOptions& options) : arena_(arena), options_(options) {}

  base::Result<Value> Run(const YamlNode* root) {
    Value value;
    if (root != nullptr) value = TRY(Decode(*root));
    if (options_.strict_error != nullptr && !strict_errors_.empty()) {
      *options_.strict_error =
          base::StrCat("yaml: unmarshal errors:\n  ", base::Join(strict_errors_, "\n  "));
    }
    if (!conversion_error_.empty()) return base::BadRequest(conversion_error_);
    return value;
  }

 private:
  // Counts a step and guards against exploding and endless documents.
  base::Status Enter() {
    ++nodes_;
    if (alias_depth_ > 0) ++alias_nodes_;
    if (alias_nodes_ > 100 && nodes_ > 1000 && alias_nodes_ / nodes_ > AllowedAliasRatio(nodes_)) {
      return YamlError("document contains excessive aliasing");
    }
    if (depth_ > internal::kYamlMaxDepth) return internal::YamlTooDeep();
    return base::OkStatus();
  }

  base::Result<Value> Decode(const YamlNode& node) {
    TRY(Enter());
    ++depth_;
    base::Result<Value> result = DecodeKind(node);
    --depth_;
    return result;
  }

  base::Result<Value> DecodeKind(const YamlNode& node) {
    switch (node.kind) {
      case YamlKind::kScalar:
        return Convert(TRY(Scalar(node)));
      case YamlKind::kSequence:
        return Sequence(node);
      case YamlKind::kMapping: {
        Filling filling(arena_);
        TRY(Fill(node, filling));
        return filling.builder.Build();
      }
      case YamlKind::kAlias: {
        TRY(EnterAlias(node));
        base::Result<Value> result = Decode(*node.target);
        LeaveAlias(node);
        return result;
      }
    }
    return Value();
  }

  base::Status EnterAlias(const YamlNode& alias) {
    if (!active_aliases_.insert(&alias).second) {
      return YamlError(base::StrCat("anchor '", alias.value, "' value contains itself"));
    }
    ++alias_depth_;
    return base::OkStatus();
  }
  void LeaveAlias(const YamlNode& alias) {
    --alias_depth_;
    active_aliases_.erase(&alias);
  }

  base::Result<YamlScalar> Scalar(const YamlNode& node) {
    if (node.tag.empty() && !node.plain) return YamlScalar{YamlTag::kString, node.value};
    YamlScalar scalar = TRY(internal::ResolveScalar(node.tag, node.value));
    if (scalar.tag == YamlTag::kBinary) {
      std::optional<std::string> bytes = base::Base64Decode(node.value);
      if (!bytes) return YamlError("!!binary value contains invalid base64 data");
      scalar.value = std::move(*bytes);
    }
    return scalar;
  }

  // What the scalar is after its way through JSON text.
  Value Convert(const YamlScalar& scalar) {
    if (const auto* truth = std::get_if<bool>(&scalar.value)) return Value::Bool(*truth);
    if (const auto* integer = std::get_if<std::int64_t>(&scalar.value)) {
      return Value::Int(*integer);
    }
    std::string text;
    if (const auto* large = std::get_if<std::uint64_t>(&scalar.value)) {
      text = std::to_string(*large);
    } else if (const auto* number = std::get_if<double>(&scalar.value)) {
      if (!std::isfinite(*number)) {
        FailConversion(std::isnan(*number) ? "json: unsupported value: NaN"
                       : *number > 0       ? "json: unsupported value: +Inf"
                                           : "json: unsupported value: -Inf");
        return Value();
      }
      WriteDouble(*number, text);
    } else if (const auto* string = std::get_if<std::string>(&scalar.value)) {
      if (base::IsValidUtf8(*string)) return String(arena_, *string);
      WriteString(*string, text);
    } else {
      return Value();
    }
    const auto value = Parse(arena_, text);
    return value.ok() ? *value : Value();  // the text was written just above
  }

  base::Result<Value> Sequence(const YamlNode& node) {
    std::vector<Value> elements;
    elements.reserve(node.children.size());
    for (const YamlNode* child : node.children) elements.push_back(TRY(Decode(*child)));
    return MakeArray(arena_, elements);
  }

  base::Status Fill(const YamlNode& node, Filling& filling) {
    for (std::size_t i = 0; i + 1 < node.children.size(); i += 2) {
      const YamlNode& key_node = *node.children[i];
      const YamlNode& value_node = *node.children[i + 1];
      if (IsMerge(key_node)) {
        TRY(Merge(value_node, filling));
        continue;
      }
      const std::optional<Key> key = TRY(DecodeKey(key_node));
      const Value value = TRY(Decode(value_node));
      if (!key) {
        FailConversion(base::StrCat("unsupported map key of type: %!s(<nil>), key: <nil>, value: ",
                                    value.is_null() ? "<nil>" : GoSyntax(value)));
        continue;
      }
      if (options_.strict_error != nullptr && !filling.seen.insert(key->go_syntax).second) {
        strict_errors_.push_back(base::StrCat("line ", std::to_string(value_node.line), ": key ",
                                              key->go_syntax, " already set in map"));
      }
      filling.builder.Set(arena_.Copy(key->text), value);
    }
    return base::OkStatus();
  }

  static bool IsMerge(const YamlNode& node) {
    return node.kind == YamlKind::kScalar && node.value == "<<" &&
           (node.plain || node.tag == "tag:yaml.org,2002:merge");
  }

  // No value for null, which JSON has no name for.
  base::Result<std::optional<Key>> DecodeKey(const YamlNode& node) {
    const YamlNode& target = node.kind == YamlKind::kAlias ? *node.target : node;
    if (target.kind != YamlKind::kScalar) {
      const Value value = TRY(Decode(node));
      return YamlError(base::StrCat("invalid map key: ", GoSyntax(value)));
    }
    TRY(Enter());
    const YamlScalar scalar = TRY(Scalar(target));
    if (std::holds_alternative<std::monostate>(scalar.value)) return std::optional<Key>();
    if (const auto* string = std::get_if<std::string>(&scalar.value)) {
      return std::optional<Key>({*string, base::GoQuote(*string)});
    }
    if (const auto* number = std::get_if<double>(&scalar.value)) {
      const std::string text = internal::FormatShortest(static_cast<float>(*number));
      return std::optional<Key>({text, internal::FormatShortest(*number)});
    }
    const std::string text = ToString(Convert(scalar));
    return std::optional<Key>({text, text});
  }

  base::Status Merge(const YamlNode& node, Filling& filling) {
    if (node.kind != YamlKind::kSequence) return MergeOne(node, filling);
    // Earlier ones win, so they come last.
    for (auto child = node.children.rbegin(); child != node.children.rend(); ++child) {
      TRY(MergeOne(**child, filling));
    }
    return base::OkStatus();
  }

  base::Status MergeOne(const YamlNode& node, Filling& filling) {
    const bool is_alias = node.kind == YamlKind::kAlias;
    const YamlNode& target = is_alias ? *node.target : node;
    if (target.kind != YamlKind::kMapping) {
      return YamlError("map merge requires map or sequence of maps as the value");
    }
    TRY(Enter());
    if (is_alias) TRY(EnterAlias(node));
    ++depth_;
    const base::Status status = Fill(target, filling);
    --depth_;
    if (is_alias) LeaveAlias(node);
    return status;
  }

  void FailConversion(std::string text) {
    if (conversion_error_.empty()) conversion_error_ = std::move(text);
  }

  Arena& arena_;
  const YamlOptions& options_;
  double nodes_ = 0;
  double alias_nodes_ = 0;
  std::size_t alias_depth_ = 0;
  std::size_t depth_ = 0;
  std::set<const YamlNode*> active_aliases_;
  std::vector<std::string> strict_errors_;
  std::string conversion_error_;  // the first; comes after all errors of the YAML itself
};

bool IsSpace(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

}  // namespace

base::Result<Value> ParseYaml(Arena& arena, std::string_view text, const YamlOptions& options) {
  if (options.strict_error != nullptr) options.strict_error->clear();
  const internal::YamlTree tree = TRY(internal::ReadYamlTree(text));
  return YamlDecoder(arena, options).Run(tree.root);
}

bool HasJsonPrefix(std::string_view text) {
  while (!text.empty() && IsSpace(text[0])) text.remove_prefix(1);
  return text.starts_with("{");
}

base::Result<Value> ParseYamlOrJson(Arena& arena, std::string_view text) {
  if (HasJsonPrefix(text)) return Parse(arena, text);
  auto value = ParseYaml(arena, text);
  if (!value.ok()) return value.status().Annotate("error converting YAML to JSON");
  return value;
}

std::vector<std::string_view> SplitYaml(std::string_view text) {
  std::vector<std::string_view> documents;
  std::size_t begin = 0;  // of the document
  for (std::size_t line = 0; line < text.size();) {
    const std::size_t newline = text.find('\n', line);
    const std::size_t next = newline == std::string_view::npos ? text.size() : newline + 1;
    const std::string_view content = text.substr(line, next - line);
    const std::string_view rest = content.starts_with("---") ? base::Trim(content.substr(3)) : "x";
    if ((rest.empty() || rest[0] == '#') && line > begin) {
      documents.push_back(text.substr(begin, line - begin));
      begin = next;
    }
    line = next;
  }
  if (begin < text.size()) documents.push_back(text.substr(begin));
  return documents;
}

}  // namespace portcullis::json
