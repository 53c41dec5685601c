// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/gotext.h"
#include "base/strings.h"
#include "json/go_float.h"
#include "json/reader.h"
#include "json/writer.h"
#include "json/yaml.h"
#include "json/yaml_as_json.h"
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

// What scalars may have that come from aliases. Go has no such limit: 20,000 aliases of a long text, a body of
// 160 KB, become gigabytes.
constexpr std::size_t kMaxAliasBytes = 16 << 20;

// Appends fmt's %#v of the Go value that `value` stands for.
void AppendGoSyntax(const Value& value, std::string& out) {
  if (value.is_null()) {
    out += "interface {}(nil)";
  } else if (value.is_string()) {
    out += base::GoQuote(value.AsString());
  } else if (value.is_array()) {
    out += "[]interface {}{";
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (i != 0) out += ", ";
      AppendGoSyntax(value[i], out);
    }
    out += '}';
  } else if (value.is_object()) {
    std::vector<std::pair<std::string, const Value*>> parts;
    for (const Member& member : value.members()) {
      parts.emplace_back(base::GoQuote(member.name()), &member.value);
    }
    std::sort(parts.begin(), parts.end());
    out += "map[interface {}]interface {}{";
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i != 0) out += ", ";
      out += parts[i].first;
      out += ':';
      AppendGoSyntax(*parts[i].second, out);
    }
    out += '}';
  } else {
    out += ToString(value);
  }
}

std::string GoSyntax(const Value& value) {
  std::string text;
  AppendGoSyntax(value, text);
  return text;
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

// Without recursion, since documents may be 10,000 levels deep: collections that are being decoded
// are frames, and a value that is complete goes to the innermost of them.
class YamlDecoder {
 public:
  YamlDecoder(Arena& arena, const YamlOptions& options) : arena_(arena), options_(options) {}

  base::Result<Value> Run(const YamlNode* root) {
    if (root != nullptr) TRY(Begin(*root));
    while (!frames_.empty()) TRY(Step());
    if (options_.strict_error != nullptr && !strict_errors_.empty()) {
      *options_.strict_error =
          base::StrCat("yaml: unmarshal errors:\n  ", base::Join(strict_errors_, "\n  "));
    }
    if (!conversion_error_.empty()) return base::BadRequest(conversion_error_);
    return result_;
  }

 private:
  enum class Work { kSequence, kMapping, kMergeList };
  struct Frame {
    Work work = Work::kSequence;
    const YamlNode* node = nullptr;
    const YamlNode* alias = nullptr;  // through which it was reached
    std::size_t next = 0;             // the child to go on with; of a merge list, one behind it
    std::vector<Value> elements;      // of a sequence
    std::unique_ptr<Filling> own;     // of a mapping, unless it is merged into another one
    Filling* filling = nullptr;       // of a mapping: where its members go
    // Of a mapping: what the value belongs to that is being decoded.
    bool at_key = false;  // a key that is a collection
    std::optional<Key> key;
    std::size_t value_line = 0;
  };

  // Counts a step and guards against exploding and endless documents.
  base::Status Enter() {
    ++nodes_;
    if (alias_depth_ > 0) ++alias_nodes_;
    if (alias_nodes_ > 100 && nodes_ > 1000 && alias_nodes_ / nodes_ > AllowedAliasRatio(nodes_)) {
      return YamlError("document contains excessive aliasing");
    }
    if (frames_.size() > internal::kYamlMaxDepth) return internal::YamlTooDeep(1);
    return base::OkStatus();
  }

  // Scalars are complete at once, collections when their frames are.
  base::Status Begin(const YamlNode& node) {
    TRY(Enter());
    if (node.kind == YamlKind::kScalar) return Complete(Convert(TRY(Scalar(node))));
    if (node.kind != YamlKind::kAlias) return Open(node, nullptr);
    TRY(EnterAlias(node));
    TRY(Enter());
    if (node.target->kind != YamlKind::kScalar) return Open(*node.target, &node);
    auto scalar = Scalar(*node.target);
    LeaveAlias(node);
    return Complete(Convert(TRY(std::move(scalar))));
  }

  base::Status Open(const YamlNode& node, const YamlNode* alias) {
    Frame& frame = frames_.emplace_back();
    frame.node = &node;
    frame.alias = alias;
    if (node.kind == YamlKind::kMapping) {
      frame.work = Work::kMapping;
      frame.own = std::make_unique<Filling>(arena_);
      frame.filling = frame.own.get();
    } else {
      frame.elements.reserve(node.children.size());
    }
    return base::OkStatus();
  }

  base::Status Complete(Value value) {
    if (frames_.empty()) {
      result_ = value;
      return base::OkStatus();
    }
    Frame& frame = frames_.back();
    if (frame.work == Work::kMapping) return SetMember(frame, value);
    frame.elements.push_back(value);
    return base::OkStatus();
  }

  base::Status Step() {
    Frame& frame = frames_.back();
    const auto& children = frame.node->children;
    if (frame.work == Work::kMergeList) {
      if (frame.next == 0) return Close();
      return MergeOne(*children[--frame.next], *frame.filling);
    }
    if (frame.work == Work::kSequence) {
      if (frame.next == children.size()) return Close();
      return Begin(*children[frame.next++]);
    }
    if (frame.next + 1 >= children.size()) return Close();
    const YamlNode& key = *children[frame.next];
    const YamlNode& value = *children[frame.next + 1];
    if (IsMerge(key)) {
      frame.next += 2;
      return Merge(value, *frame.filling);
    }
    const YamlNode& target = key.kind == YamlKind::kAlias ? *key.target : key;
    if (target.kind != YamlKind::kScalar) {
      frame.at_key = true;
      return Begin(key);
    }
    frame.next += 2;
    frame.key = TRY(DecodeKey(target));
    frame.value_line = value.line;
    return Begin(value);
  }

  base::Status Close() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    if (frame.alias != nullptr) LeaveAlias(*frame.alias);
    if (frame.work == Work::kSequence) return Complete(MakeArray(arena_, frame.elements));
    return frame.own != nullptr ? Complete(frame.own->builder.Build()) : base::OkStatus();
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
    if (alias_depth_ > 0 && (alias_bytes_ += node.value.size()) > kMaxAliasBytes) {
      return YamlError("document contains excessive aliasing");
    }
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

  // The value of a member, or a key that cannot be one.
  base::Status SetMember(Frame& frame, Value value) {
    if (frame.at_key) return YamlError(base::StrCat("invalid map key: ", GoSyntax(value)));
    if (!frame.key) {
      FailConversion(base::StrCat("unsupported map key of type: %!s(<nil>), key: <nil>, value: ",
                                  value.is_null() ? "<nil>" : GoSyntax(value)));
      return base::OkStatus();
    }
    const Key& key = *frame.key;
    if (options_.strict_error != nullptr && !frame.filling->seen.insert(key.go_syntax).second) {
      strict_errors_.push_back(base::StrCat("line ", std::to_string(frame.value_line), ": key ",
                                            key.go_syntax, " already set in map"));
    }
    frame.filling->builder.Set(arena_.Copy(key.text), value);
    return base::OkStatus();
  }

  static bool IsMerge(const YamlNode& node) {
    return node.kind == YamlKind::kScalar && node.value == "<<" &&
           (node.plain || node.tag == "tag:yaml.org,2002:merge");
  }

  // No value for null, which JSON has no name for.
  base::Result<std::optional<Key>> DecodeKey(const YamlNode& target) {
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
    Frame& frame = frames_.emplace_back();
    frame.work = Work::kMergeList;
    frame.node = &node;
    frame.filling = &filling;
    frame.next = node.children.size();
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
    Frame& frame = frames_.emplace_back();
    frame.work = Work::kMapping;
    frame.node = &target;
    frame.alias = is_alias ? &node : nullptr;
    frame.filling = &filling;
    return base::OkStatus();
  }

  void FailConversion(std::string text) {
    if (conversion_error_.empty()) conversion_error_ = std::move(text);
  }

  Arena& arena_;
  const YamlOptions& options_;
  double nodes_ = 0;
  double alias_nodes_ = 0;
  std::size_t alias_depth_ = 0;
  std::size_t alias_bytes_ = 0;
  std::vector<Frame> frames_;
  Value result_;
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
  if (const auto value = internal::ReadAsJson(arena, text)) return *value;
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
