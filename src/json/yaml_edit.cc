// SPDX-License-Identifier: Apache-2.0

#include "json/yaml_edit.h"

#include <yaml.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/strings.h"
#include "json/writer.h"
#include "json/yaml.h"
#include "json/yaml_scalar.h"

namespace portcullis::json {
namespace {

constexpr int kMaxDepth = 500;

base::Status CannotChange(std::string_view why) {
  return base::BadRequest(base::StrCat("cannot be changed in its place: ", why));
}

// --- Texts of values ---

bool IsPlain(std::string_view text) {
  constexpr std::string_view kOthers = "_-./ ";
  if (text.empty() || text.front() == ' ' || text.back() == ' ') return false;
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (!is_letter(text.front())) return false;
  const bool usual = std::all_of(text.begin(), text.end(), [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || kOthers.find(c) != std::string_view::npos;
  });
  return usual && !internal::NeedsQuotes(text);
}

// A scalar, or a whole value within brackets.
std::string FlowText(Value value, bool is_json) {
  if (is_json) return ToString(value, {.escape_html = false});
  if (value.is_string() && IsPlain(value.AsString())) return std::string(value.AsString());
  std::string out;
  const auto separate = [&] { out += out.size() > 1 ? ", " : ""; };
  if (value.is_object()) {
    out = "{";
    for (const Member& member : value.members()) {
      separate();
      out += base::StrCat(FlowText(Value::StringView(member.name()), false), ": ",
                          FlowText(member.value, false));
    }
    return out + "}";
  }
  if (value.is_array()) {
    out = "[";
    for (const Value& element : value.elements()) {
      separate();
      out += FlowText(element, false);
    }
    return out + "]";
  }
  return ToString(value, {.escape_html = false});
}

// Lines of block style, all but the first behind `column` spaces.
std::string BlockText(Value value, std::size_t column) {
  std::string text = ToYaml(value);
  while (text.ends_with('\n')) text.pop_back();
  std::string out;
  for (const char c : text) {
    if (!out.empty() && out.back() == '\n' && c != '\n') out.append(column, ' ');
    out += c;
  }
  return out;
}

Value SetAt(Arena& arena, Value at, std::span<const std::string> path, Value value) {
  if (path.empty()) return value;
  const std::span<const std::string> rest = path.subspan(1);
  if (at.is_array()) {
    const auto index = static_cast<std::size_t>(base::ParseInt(path.front()).value_or(0));
    return WithElement(arena, at, index, SetAt(arena, at[index], rest, value));
  }
  return With(arena, at, path.front(), SetAt(arena, at[path.front()], rest, value));
}

// --- The text as libyaml reads it ---

class Source {
 public:
  explicit Source(std::string_view text) : text_(text) {
    yaml_parser_t parser;
    if (yaml_parser_initialize(&parser) == 0) return;
    yaml_parser_set_input_string(&parser, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
    loaded_ = yaml_parser_load(&parser, &document_) != 0;
    yaml_parser_delete(&parser);
    FindCharacters();
  }
  ~Source() {
    if (loaded_) yaml_document_delete(&document_);
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  std::string_view text() const { return text_; }
  const yaml_node_t* root() { return loaded_ ? yaml_document_get_root_node(&document_) : nullptr; }
  const yaml_node_t* At(int index) { return yaml_document_get_node(&document_, index); }

  std::size_t Begin(const yaml_node_t* node) const { return OffsetOf(node->start_mark); }

  // Where the text of the node ends. Nothing: parts of it stand elsewhere.
  std::optional<std::size_t> End(const yaml_node_t* node, int depth = 0) {
    if (depth > kMaxDepth) return std::nullopt;
    if (IsBlock(node)) return EndOfBlock(node, depth);
    std::size_t end = OffsetOf(node->end_mark);
    while (end > Begin(node) && IsSpace(text_[end - 1])) --end;
    return end;
  }

  static bool IsBlock(const yaml_node_t* node) {
    return (node->type == YAML_MAPPING_NODE &&
            node->data.mapping.style != YAML_FLOW_MAPPING_STYLE) ||
           (node->type == YAML_SEQUENCE_NODE &&
            node->data.sequence.style != YAML_FLOW_SEQUENCE_STYLE);
  }

  // The children in the order of the text: of a mapping key, value, key, value.
  std::vector<const yaml_node_t*> Children(const yaml_node_t* node) {
    std::vector<const yaml_node_t*> out;
    if (node->type == YAML_MAPPING_NODE) {
      const auto& pairs = node->data.mapping.pairs;
      for (const yaml_node_pair_t* pair = pairs.start; pair < pairs.top; ++pair) {
        out.push_back(At(pair->key));
        out.push_back(At(pair->value));
      }
    } else if (node->type == YAML_SEQUENCE_NODE) {
      const auto& items = node->data.sequence.items;
      for (const yaml_node_item_t* item = items.start; item < items.top; ++item) {
        out.push_back(At(*item));
      }
    }
    return out;
  }

  std::size_t LineBegin(std::size_t offset) const {
    const std::size_t at = offset == 0 ? std::string_view::npos : text_.rfind('\n', offset - 1);
    return at == std::string_view::npos ? 0 : at + 1;
  }
  // Behind the end of the line.
  std::size_t LineEnd(std::size_t offset) const {
    const std::size_t at = text_.find('\n', offset);
    return at == std::string_view::npos ? text_.size() : at + 1;
  }
  bool BeginsLine(std::size_t offset) const {
    const std::size_t begin = LineBegin(offset);
    return base::Trim(text_.substr(begin, offset - begin)).empty();
  }
  // Behind the colon of a name that ends there. Nothing: the name is written in another way.
  std::optional<std::size_t> BehindColon(std::size_t end) const {
    while (end < text_.size() && (text_[end] == ' ' || text_[end] == '\t')) ++end;
    if (end >= text_.size() || text_[end] != ':') return std::nullopt;
    return end + 1;
  }

 private:
  static bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

  // libyaml counts characters, without a byte order mark.
  void FindCharacters() {
    if (text_.starts_with("\xEF\xBB\xBF")) first_ = 3;
    const bool ascii = std::none_of(text_.begin(), text_.end(),
                                    [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
    if (ascii) return;
    for (std::size_t i = first_; i < text_.size(); ++i) {
      if ((static_cast<unsigned char>(text_[i]) & 0xC0) != 0x80) {
        offsets_.push_back(static_cast<std::uint32_t>(i));
      }
    }
  }

  std::size_t OffsetOf(const yaml_mark_t& mark) const {
    if (offsets_.empty()) return std::min(mark.index + first_, text_.size());
    return mark.index < offsets_.size() ? offsets_[mark.index] : text_.size();
  }

  std::optional<std::size_t> EndOfBlock(const yaml_node_t* node, int depth) {
    std::size_t end = Begin(node);
    for (const yaml_node_t* child : Children(node)) {
      if (Begin(child) < end) return std::nullopt;  // an alias
      const auto own = End(child, depth + 1);
      if (!own) return std::nullopt;
      end = *own;
    }
    return end;
  }

  const std::string_view text_;
  yaml_document_t document_{};
  bool loaded_ = false;
  std::size_t first_ = 0;
  std::vector<std::uint32_t> offsets_;  // of characters; empty: all of them are ASCII
};

std::string_view TextOf(const yaml_node_t* node) {
  if (node->type != YAML_SCALAR_NODE) return {};
  return {reinterpret_cast<const char*>(node->data.scalar.value), node->data.scalar.length};
}

// --- The changes ---

class Editor {
 public:
  explicit Editor(std::string_view text) : source_(text), is_json_(HasJsonPrefix(text)) {}

  base::Status Add(Value root, const YamlChange& change) {
    const yaml_node_t* node = source_.root();
    if (node == nullptr) return base::BadRequest("the text is not YAML");
    Value value = root;
    Place place;
    place.flow = is_json_ || !Source::IsBlock(node);
    for (const std::string& step : change.path) {
      const auto part = PartOf(node, step);
      if (!part) return base::BadRequest(base::StrCat("there is no ", step));
      place = TRY(PlaceOf(node, *part, place));
      node = part->node;
      const bool is_array = value.is_array();
      value = is_array ? value[static_cast<std::size_t>(base::ParseInt(step).value_or(0))]
                       : value[step];
    }
    return Change(node, place, value, change.value);
  }

  std::string Finish() {
    std::stable_sort(edits_.begin(), edits_.end(),
                     [](const Edit& a, const Edit& b) { return a.begin < b.begin; });
    std::string out;
    std::size_t at = 0;
    for (const Edit& edit : edits_) {
      if (edit.begin < at) continue;  // what is read again tells
      out += source_.text().substr(at, edit.begin - at);
      out += edit.text;
      at = edit.end;
    }
    out += source_.text().substr(at);
    return out;
  }

 private:
  struct Edit {
    std::size_t begin;
    std::size_t end;
    std::string text;
  };
  // A member or element: its value, and the name if it has one.
  struct Part {
    const yaml_node_t* name = nullptr;
    const yaml_node_t* node = nullptr;
  };
  // Where a value stands.
  struct Place {
    bool flow = false;
    std::optional<std::size_t> behind_name;  // of a member: behind its colon
    std::size_t indent = 0;                  // of the name, or of the element
  };
  // A member with its text from the name to the value's end.
  struct Written {
    Part part;
    std::string_view name;
    std::size_t begin = 0;
    std::size_t end = 0;
    bool kept = true;
  };

  void Put(std::size_t begin, std::size_t end, std::string text) {
    edits_.push_back({begin, end, std::move(text)});
  }

  std::vector<Part> PartsOf(const yaml_node_t* node) {
    std::vector<Part> parts;
    const auto children = source_.Children(node);
    const bool named = node->type == YAML_MAPPING_NODE;
    for (std::size_t i = 0; i < children.size(); i += named ? 2 : 1) {
      parts.push_back(named ? Part{children[i], children[i + 1]} : Part{nullptr, children[i]});
    }
    return parts;
  }

  std::optional<Part> PartOf(const yaml_node_t* node, std::string_view step) {
    const std::vector<Part> parts = PartsOf(node);
    if (node->type == YAML_SEQUENCE_NODE) {
      const auto index = base::ParseInt(step);
      if (!index || *index < 0 || static_cast<std::size_t>(*index) >= parts.size()) return {};
      return parts[static_cast<std::size_t>(*index)];
    }
    for (const Part& part : parts) {
      if (TextOf(part.name) == step) return part;
    }
    return std::nullopt;
  }

  base::Result<Place> PlaceOf(const yaml_node_t* parent, const Part& part, const Place& above) {
    Place place;
    place.flow = above.flow || !Source::IsBlock(parent);
    place.indent = (part.name == nullptr ? part.node : part.name)->start_mark.column;
    if (part.name != nullptr) {
      const auto end = source_.End(part.name);
      if (end) place.behind_name = source_.BehindColon(*end);
      if (!place.behind_name) return CannotChange("its name is not a plain one");
      if (source_.Begin(part.node) < *place.behind_name) return CannotChange("it is an alias");
    }
    return place;
  }

  base::Status Change(const yaml_node_t* node, const Place& place, Value old, Value now) {
    if (old == now) return base::OkStatus();
    const bool keeps = std::any_of(now.members().begin(), now.members().end(),
                                   [&](const Member& member) { return old.Has(member.name()); });
    if (old.is_object() && keeps && node->type == YAML_MAPPING_NODE) {
      return ChangeMembers(node, place, old, now);
    }
    if (old.is_array() && old.size() == now.size() && now.is_array() &&
        node->type == YAML_SEQUENCE_NODE) {
      const std::vector<Part> parts = PartsOf(node);
      for (std::size_t i = 0; i < parts.size(); ++i) {
        const Place below = TRY(PlaceOf(node, parts[i], place));
        TRY(Change(parts[i].node, below, old[i], now[i]));
      }
      return base::OkStatus();
    }
    if (old.is_array() && !now.empty() && now.size() < old.size() &&
        node->type == YAML_SEQUENCE_NODE) {
      const std::vector<bool> kept = Kept(old, now);
      if (!kept.empty()) return RemoveElements(node, place, kept);
    }
    return Replace(node, place, now);
  }

  // Which elements of `old` are those of `now`, in their order; empty if others are among them.
  static std::vector<bool> Kept(Value old, Value now) {
    std::vector<bool> kept(old.size());
    std::size_t next = 0;
    for (std::size_t i = 0; i < old.size() && next < now.size(); ++i) {
      kept[i] = old[i] == now[next];
      if (kept[i]) ++next;
    }
    if (next < now.size()) kept.clear();
    return kept;
  }

  base::Status RemoveElements(const yaml_node_t* node, const Place& place,
                              const std::vector<bool>& kept) {
    const bool flow = place.flow || !Source::IsBlock(node);
    std::vector<Written> elements;
    for (const Part& part : PartsOf(node)) {
      const auto end = source_.End(part.node);
      if (!end) return CannotChange("it holds an alias");
      const std::size_t begin = source_.Begin(part.node);
      elements.push_back({part, {}, begin, *end, kept[elements.size()]});
      // Behind the dash, which stands at the beginning of its line.
      if (!flow) elements.back().begin = source_.LineBegin(begin);
    }
    if (flow) {
      RemoveFromFlow(elements);
    } else {
      RemoveLines(elements);
    }
    return base::OkStatus();
  }

  base::Status ChangeMembers(const yaml_node_t* node, const Place& place, Value old, Value now) {
    const bool flow = place.flow || !Source::IsBlock(node);
    std::vector<Written> members;
    for (const Part& part : PartsOf(node)) {
      const std::string_view name = TextOf(part.name);
      if (!old.Has(name)) return CannotChange("it has merge keys or names that are no texts");
      const auto end = source_.End(part.node);
      if (!end) return CannotChange("it holds an alias");
      members.push_back({part, name, source_.Begin(part.name), *end, now.Has(name)});
      const Place below = TRY(PlaceOf(node, part, place));
      if (now.Has(name)) TRY(Change(part.node, below, old[name], now[name]));
    }
    AddMembers(members, flow, old, now);
    if (flow) {
      RemoveFromFlow(members);
    } else {
      RemoveLines(members);
    }
    return base::OkStatus();
  }

  // In front of the first member that stays.
  void AddMembers(const std::vector<Written>& members, bool flow, Value old, Value now) {
    const auto first = std::find_if(members.begin(), members.end(),
                                    [](const Written& member) { return member.kept; });
    const std::size_t indent = first->part.name->start_mark.column;
    for (const Member& member : now.members()) {
      if (old.Has(member.name())) continue;
      const std::string name = FlowText(Value::StringView(member.name()), is_json_);
      std::string text = base::StrCat(name, ":");
      if (flow || member.value.empty()) {
        text += base::StrCat(" ", FlowText(member.value, is_json_));
      } else {
        const std::string pad(indent + 2, ' ');
        text += base::StrCat("\n", pad, BlockText(member.value, indent + 2));
      }
      text += flow ? ", " : base::StrCat("\n", std::string(indent, ' '));
      Put(first->begin, first->begin, std::move(text));
    }
  }

  void RemoveFromFlow(const std::vector<Written>& members) {
    std::size_t last = members.size();
    while (!members[last - 1].kept) --last;
    for (std::size_t i = 0; i < last; ++i) {
      if (!members[i].kept) Put(members[i].begin, members[i + 1].begin, "");
    }
    if (last < members.size()) Put(members[last - 1].end, members.back().end, "");
  }

  void RemoveLines(const std::vector<Written>& members) {
    std::size_t i = 0;
    if (!members[0].kept && !source_.BeginsLine(members[0].begin)) {
      // Behind the dash of an element.
      while (!members[i].kept) ++i;
      Put(members[0].begin, members[i].begin, "");
    }
    for (; i < members.size(); ++i) {
      if (members[i].kept) continue;
      Put(source_.LineBegin(members[i].begin), source_.LineEnd(members[i].end), "");
    }
  }

  base::Status Replace(const yaml_node_t* node, const Place& place, Value now) {
    const auto end = source_.End(node);
    if (!end) return CannotChange("it holds an alias");
    const std::size_t begin = source_.Begin(node);
    const bool is_block = Source::IsBlock(node);
    const std::size_t column = node->start_mark.column;
    if (place.flow || now.empty()) {
      const bool moves = is_block && !place.flow && place.behind_name;
      const bool absent = begin == *end;
      Put(moves ? *place.behind_name : begin, *end,
          base::StrCat(moves || absent ? " " : "", FlowText(now, is_json_)));
    } else if (!place.behind_name || (is_block && (column > place.indent ||
                                                   (now.is_array() && column == place.indent)))) {
      Put(begin, *end, BlockText(now, column));
    } else {
      const std::string pad(place.indent + 2, ' ');
      Put(*place.behind_name, *end, base::StrCat("\n", pad, BlockText(now, place.indent + 2)));
    }
    return base::OkStatus();
  }

  Source source_;
  const bool is_json_;
  std::vector<Edit> edits_;
};

}  // namespace

base::Result<std::string> EditYaml(std::string_view text, std::span<const YamlChange> changes) {
  Arena arena;
  const Value root = TRY(ParseYaml(arena, text));
  Editor editor(text);
  Value wanted = root;
  for (const YamlChange& change : changes) {
    TRY(editor.Add(root, change));
    wanted = SetAt(arena, wanted, change.path, change.value);
  }
  std::string out = editor.Finish();
  const auto got = ParseYaml(arena, out);
  if (!got.ok() || !(*got == wanted)) return CannotChange("the text is written in an unusual way");
  return out;
}

}  // namespace portcullis::json
