// SPDX-License-Identifier: Apache-2.0

#include "api/patch/field_set.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <optional>
#include <system_error>

#include "base/gotext.h"
#include "base/strings.h"
#include "golang/strconv.h"
#include "json/reader.h"
#include "json/writer.h"

namespace portcullis::api::patch {
namespace {

// The number that begins at `at`, if it is all of a JSON value.
std::optional<std::int64_t> NumberAt(std::string_view text, std::size_t at) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + at, end, number);
  if (error != std::errc() || (rest != end && *rest != ',' && *rest != '}')) return std::nullopt;
  return number;
}

// Whether the JSON text has the end of a text at `at`.
bool EndsText(std::string_view json, std::size_t at) {
  if (at >= json.size() || json[at] != '"') return false;
  std::size_t slashes = 0;
  while (slashes < at && json[at - 1 - slashes] == '\\') ++slashes;
  return slashes % 2 == 0;
}

}  // namespace

std::strong_ordering PathElement::operator<=>(const PathElement& other) const {
  if (kind != other.kind) return kind <=> other.kind;
  if (kind == Kind::kField) return text <=> other.text;
  const auto differ = std::mismatch(text.begin(), text.end(), other.text.begin(), other.text.end());
  auto at = static_cast<std::size_t>(differ.first - text.begin());
  // "a" comes before "a b", whose blank is less than a quote.
  const bool ends = EndsText(text, at);
  if (ends != EndsText(other.text, at)) {
    return ends ? std::strong_ordering::less : std::strong_ordering::greater;
  }
  while (at > 0 && (text[at - 1] == '-' || (text[at - 1] >= '0' && text[at - 1] <= '9'))) --at;
  if (at == 0 || text[at - 1] == ':') {
    const auto mine = NumberAt(text, at);
    const auto theirs = NumberAt(other.text, at);
    if (mine && theirs && *mine != *theirs) return *mine <=> *theirs;
  }
  return text <=> other.text;
}

namespace {

// In the order of PathElement::Kind.
constexpr std::string_view kLetters = "fkvi";

// A value of a key or a set, as Go prints it: maps have no brackets.
std::string ValueText(json::Value value) {
  if (value.is_string()) return base::GoQuote(value.AsString());
  if (value.is_double()) return golang::FormatFloat(value.AsDouble());
  if (!value.is_object() && !value.is_array()) return json::ToString(value);
  std::string out;
  for (const json::Value& element : value.elements()) {
    out += base::StrCat(out.empty() ? "" : ",", ValueText(element));
  }
  if (value.is_array()) return "[" + out + "]";
  for (const json::Member& member : value.members()) {
    out += base::StrCat(member.name(), "=", ValueText(member.value));
  }
  return out;
}

// Key and value steps print their JSON as a person would write it in a path.
std::string StepText(const PathElement& step) {
  switch (step.kind) {
    case PathElement::Kind::kField:
      return "." + step.text;
    case PathElement::Kind::kIndex:
      return "[" + step.text + "]";
    case PathElement::Kind::kValue:
    case PathElement::Kind::kKey:
      break;
  }
  json::Arena arena;
  const auto key = json::Parse(arena, step.text);
  if (!key.ok()) return "[" + step.text + "]";
  if (step.kind == PathElement::Kind::kValue) return "[=" + ValueText(*key) + "]";
  std::string out = "[";
  for (const json::Member& member : key->members()) {
    if (out.size() > 1) out.push_back(',');
    out += base::StrCat(member.name(), "=", ValueText(member.value));
  }
  return out + "]";
}

base::Status Malformed(std::string_view key) {
  return base::Status(base::Reason::kUnknown,
                      base::StrCat("missing or invalid prefix in field key ", base::GoQuote(key)));
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The end of the text or integer at the begin of `json`, if the writer would write it the same way; else 0.
std::size_t EndOfPlainScalar(std::string_view json) {
  std::size_t end = 0;
  if (json.starts_with('"')) {
    const auto is_plain = [](char c) {
      return c >= ' ' && c < '\x7F' && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&';
    };
    for (end = 1; end < json.size() && is_plain(json[end]); ++end) {
    }
    return end < json.size() && json[end] == '"' ? end + 1 : 0;
  }
  constexpr std::size_t kSurelyInRange = 18;
  while (end < json.size() && IsDigit(json[end])) ++end;
  return end <= kSurelyInRange && (end == 1 || !json.starts_with('0')) ? end : 0;
}

// Whether the key or value of a step is written as ParseStep() would write it. Mostly it is.
bool IsCanonical(std::string_view json) {
  if (!json.starts_with('{')) {
    const std::size_t end = EndOfPlainScalar(json);
    return end > 0 && end == json.size();
  }
  std::string_view before;
  for (std::size_t at = 1; at < json.size(); ++at) {
    const std::size_t name = json[at] == '"' ? EndOfPlainScalar(json.substr(at)) : 0;
    const std::size_t value = at + name + 1;
    if (name == 0 || value >= json.size() || json[value - 1] != ':') return false;
    const std::string_view key = json.substr(at + 1, name - 2);
    if (at > 1 && key <= before) return false;
    before = key;
    const std::size_t size = EndOfPlainScalar(json.substr(value));
    at = value + size;
    if (size == 0 || at >= json.size()) return false;
    if (json[at] == '}') return at + 1 == json.size();
    if (json[at] != ',') return false;
  }
  return false;
}

base::Result<PathElement> ParseStep(std::string_view key) {
  if (key.size() < 2 || key[1] != ':') return Malformed(key);
  const std::string_view rest = key.substr(2);
  switch (key[0]) {
    case 'f':
      return PathElement::Field(rest);
    case 'i':
      if (!base::ParseInt(rest)) return Malformed(key);
      return PathElement{PathElement::Kind::kIndex, std::string(rest)};
    case 'v':
    case 'k': {
      const auto kind = key[0] == 'k' ? PathElement::Kind::kKey : PathElement::Kind::kValue;
      if ((kind == PathElement::Kind::kKey) == rest.starts_with('{') && IsCanonical(rest)) {
        return PathElement{kind, std::string(rest)};
      }
      json::Arena arena;
      const json::Value value = TRY(json::Parse(arena, rest));
      if (key[0] == 'k' && !value.is_object()) return Malformed(key);
      return PathElement{kind, json::ToString(value, {.sort_keys = true})};
    }
    default:
      return Malformed(key);
  }
}

// Members come before what lies below any of them.
void Collect(const FieldSet& set, FieldPathSteps& prefix, std::vector<FieldPathSteps>& out) {
  for (const FieldSet::Node& node : set.nodes()) {
    if (!node.member) continue;
    out.push_back(prefix);
    out.back().push_back(node.element);
  }
  for (const FieldSet::Node& node : set.nodes()) {
    if (node.below.empty()) continue;
    prefix.push_back(node.element);
    Collect(node.below, prefix, out);
    prefix.pop_back();
  }
}

}  // namespace

std::string_view FieldKey(json::Arena& arena, PathElement::Kind kind, std::string_view text) {
  char* key = static_cast<char*>(arena.Allocate(text.size() + 2, 1));
  key[0] = kLetters[static_cast<std::size_t>(kind)];
  key[1] = ':';
  if (!text.empty()) std::memcpy(key + 2, text.data(), text.size());
  return {key, text.size() + 2};
}

std::string ToText(const FieldPathSteps& path) {
  std::string out;
  for (const PathElement& step : path) out += StepText(step);
  return out;
}

FieldSet::FieldSet() = default;
FieldSet::~FieldSet() = default;
FieldSet::FieldSet(const FieldSet&) = default;
FieldSet::FieldSet(FieldSet&&) noexcept = default;
FieldSet& FieldSet::operator=(const FieldSet&) = default;
FieldSet& FieldSet::operator=(FieldSet&&) noexcept = default;

FieldSet::FieldSet(std::vector<Node> nodes) : nodes_(std::move(nodes)) {
  const auto before = [](const Node& a, const Node& b) { return a.element < b.element; };
  if (!std::is_sorted(nodes_.begin(), nodes_.end(), before)) {
    std::sort(nodes_.begin(), nodes_.end(), before);
  }
  const auto same = [](const Node& a, const Node& b) { return a.element == b.element; };
  if (std::adjacent_find(nodes_.begin(), nodes_.end(), same) == nodes_.end()) return;
  std::vector<Node> united;
  for (std::size_t i = 0, end = 0; i < nodes_.size(); i = end) {
    while (end < nodes_.size() && same(nodes_[i], nodes_[end])) ++end;
    united.push_back(Unite(std::span(nodes_).subspan(i, end - i)));
  }
  nodes_ = std::move(united);
}

FieldSet::Node FieldSet::Unite(std::span<Node> equal) {
  Node out = std::move(equal.front());
  if (equal.size() == 1) return out;
  std::vector<Node> below = std::move(out.below.nodes_);
  for (Node& node : equal.subspan(1)) {
    out.member |= node.member;
    std::move(node.below.nodes_.begin(), node.below.nodes_.end(), std::back_inserter(below));
  }
  out.below = FieldSet(std::move(below));
  return out;
}

FieldSet FieldSet::UnionOf(std::span<const FieldSet* const> sets) {
  std::vector<Node> all;
  for (const FieldSet* set : sets) all.insert(all.end(), set->nodes_.begin(), set->nodes_.end());
  return FieldSet(std::move(all));
}

std::span<const FieldSet::Node> FieldSet::nodes() const { return nodes_; }

bool FieldSet::operator==(const FieldSet& other) const { return nodes_ == other.nodes_; }

FieldSet::Node& FieldSet::Slot(const PathElement& element) {
  auto at =
      std::lower_bound(nodes_.begin(), nodes_.end(), element,
                       [](const Node& node, const PathElement& e) { return node.element < e; });
  if (at == nodes_.end() || at->element != element) {
    at = nodes_.insert(at, Node{.element = element});
  }
  return *at;
}

const FieldSet::Node* FieldSet::Find(const PathElement& element) const {
  const auto at =
      std::lower_bound(nodes_.begin(), nodes_.end(), element,
                       [](const Node& node, const PathElement& e) { return node.element < e; });
  return at == nodes_.end() || at->element != element ? nullptr : &*at;
}

void FieldSet::Insert(const PathElement& element) { Slot(element).member = true; }

void FieldSet::Insert(std::span<const PathElement> path) {
  if (path.empty()) return;
  Node& node = Slot(path.front());
  if (path.size() == 1) {
    node.member = true;
  } else {
    node.below.Insert(path.subspan(1));
  }
}

void FieldSet::InsertBelow(const PathElement& element, FieldSet below) {
  if (below.empty()) return;
  Node& node = Slot(element);
  node.below = node.below.empty() ? std::move(below) : node.below.Union(below);
}

bool FieldSet::Has(const PathElement& element) const {
  const Node* node = Find(element);
  return node != nullptr && node->member;
}

bool FieldSet::Has(std::span<const PathElement> path) const {
  if (path.empty()) return false;
  if (path.size() == 1) return Has(path.front());
  const FieldSet* below = Below(path.front());
  return below != nullptr && below->Has(path.subspan(1));
}

const FieldSet* FieldSet::Below(const PathElement& element) const {
  const Node* node = Find(element);
  return node != nullptr && !node->below.empty() ? &node->below : nullptr;
}

std::vector<FieldPathSteps> FieldSet::Paths() const {
  std::vector<FieldPathSteps> out;
  FieldPathSteps prefix;
  Collect(*this, prefix, out);
  return out;
}

FieldSet FieldSet::Union(const FieldSet& other) const {
  FieldSet out;
  out.nodes_.reserve(std::max(nodes_.size(), other.nodes_.size()));
  auto a = nodes_.begin();
  auto b = other.nodes_.begin();
  while (a != nodes_.end() && b != other.nodes_.end()) {
    const auto order = a->element <=> b->element;
    if (order < 0) {
      out.nodes_.push_back(*a++);
    } else if (order > 0) {
      out.nodes_.push_back(*b++);
    } else {
      out.nodes_.push_back(Node{.element = a->element,
                                .member = a->member || b->member,
                                .below = a->below.Union(b->below)});
      ++a;
      ++b;
    }
  }
  out.nodes_.insert(out.nodes_.end(), a, nodes_.end());
  out.nodes_.insert(out.nodes_.end(), b, other.nodes_.end());
  return out;
}

FieldSet FieldSet::Intersection(const FieldSet& other) const {
  FieldSet out;
  for (const Node& node : nodes_) {
    const Node* match = other.Find(node.element);
    if (match == nullptr) continue;
    Node both{.element = node.element,
              .member = node.member && match->member,
              .below = node.below.Intersection(match->below)};
    if (both.member || !both.below.empty()) out.nodes_.push_back(std::move(both));
  }
  return out;
}

bool FieldSet::IsWithin(const FieldSet& other) const {
  auto at = other.nodes_.begin();
  return std::all_of(nodes_.begin(), nodes_.end(), [&](const Node& node) {
    while (at != other.nodes_.end() && at->element < node.element) ++at;
    return at != other.nodes_.end() && at->element == node.element &&
           (at->member || !node.member) && node.below.IsWithin(at->below);
  });
}

FieldSet FieldSet::Difference(const FieldSet& other) const {
  FieldSet out;
  for (const Node& node : nodes_) {
    const Node* match = other.Find(node.element);
    Node rest = match == nullptr ? node
                                 : Node{.element = node.element,
                                        .member = node.member && !match->member,
                                        .below = node.below.Difference(match->below)};
    if (rest.member || !rest.below.empty()) out.nodes_.push_back(std::move(rest));
  }
  return out;
}

void FieldSet::Subtract(const FieldSet& other) {
  if (other.empty()) return;
  for (Node& node : nodes_) {
    const Node* match = other.Find(node.element);
    if (match == nullptr) continue;
    node.member &= !match->member;
    node.below.Subtract(match->below);
  }
  std::erase_if(nodes_, [](const Node& node) { return !node.member && node.below.empty(); });
}

void FieldSet::Prune(const FieldSet& gone) {
  if (gone.empty()) return;
  for (Node& node : nodes_) {
    const Node* match = gone.Find(node.element);
    if (match == nullptr) continue;
    if (match->member) {
      node.member = false;
      node.below = {};
    } else {
      node.below.Prune(match->below);
    }
  }
  std::erase_if(nodes_, [](const Node& node) { return !node.member && node.below.empty(); });
}

json::Value FieldSet::ToJson(json::Arena& arena) const { return ToJson(arena, false); }

json::Value FieldSet::ToJson(json::Arena& arena, bool member) const {
  json::ObjectBuilder out(arena);
  if (member && !nodes_.empty()) out.Add(".", json::MakeObject(arena, {}));
  for (const Node& node : nodes_) {
    out.Add(FieldKey(arena, node.element.kind, node.element.text),
            node.below.ToJson(arena, node.member));
  }
  return out.Build();
}

base::Result<FieldSet> FieldSet::FromJson(json::Value fields) {
  if (!fields.is_object() && !fields.is_null()) {
    return base::Status(base::Reason::kUnknown, base::StrCat("ReadMapCB: expect { or n, but found ",
                                                             json::ToString(fields).substr(0, 1)));
  }
  FieldSet out;
  out.nodes_.reserve(fields.size());
  bool ascending = true;
  for (const json::Member& member : fields.members()) {
    if (member.name() == ".") continue;  // the parent has looked at it
    Node& node = out.nodes_.emplace_back();
    node.element = TRY(ParseStep(member.name()));
    const bool leaf = member.value.is_object() && member.value.empty();
    if (!leaf) node.below = TRY(FromJson(member.value));
    node.member = node.below.empty() || member.value.Has(".");
    const std::size_t count = out.nodes_.size();
    ascending = ascending && (count == 1 || out.nodes_[count - 2].element < node.element);
  }
  if (ascending) return out;  // as the writer leaves them
  std::vector<Node> nodes = std::move(out.nodes_);
  out.nodes_.clear();
  // Of steps that are written differently and mean the same the last one counts.
  std::stable_sort(nodes.begin(), nodes.end(),
                   [](const Node& a, const Node& b) { return a.element < b.element; });
  for (Node& node : nodes) {
    if (!out.nodes_.empty() && out.nodes_.back().element == node.element) out.nodes_.pop_back();
    out.nodes_.push_back(std::move(node));
  }
  return out;
}

}  // namespace portcullis::api::patch
