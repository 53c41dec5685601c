// SPDX-License-Identifier: Apache-2.0

#include "server/table/json_path.h"

#include <iterator>
#include <span>

namespace portcullis::server::table {
namespace {

using api::JsonPathNode;
using json::Value;
using Values = std::vector<Value>;
using Nodes = std::span<const JsonPathNode>;
using Kind = JsonPathNode::Kind;

constexpr int kMaxDepth = 64;  // of descent
// Values that one step may find. `..` finds a value once for each of the values above it, so that each
// repetition of `...*` multiplies them; kube-apiserver goes on for as long as that takes.
constexpr std::size_t kMaxFound = 100'000;

void AppendAll(Value value, Values& out) {
  for (const Value& element : value.elements()) out.push_back(element);
  for (const json::Member& member : value.members()) out.push_back(member.value);
}

void Descend(Value value, int depth, Values& out) {
  Values below;
  AppendAll(value, below);
  if (below.empty() || depth > kMaxDepth || out.size() > kMaxFound) return;
  out.push_back(value);
  for (const Value& one : below) Descend(one, depth + 1, out);
}

// Which of `size` elements; false if there are none such.
bool ReadBounds(const api::JsonPathBounds& bounds, std::int64_t size, std::int64_t& first,
                std::int64_t& last) {
  const auto& [from, to, step] = bounds;
  first = from.value < 0 ? from.value + size : from.value;
  last = to.is_known ? to.value : size;
  if (last < 0 || (last == 0 && to.is_derived)) last += size;
  const bool is_within = first >= 0 && first < size && last >= first && last <= size;
  return first == last || (is_within && (!step.is_known || step.value > 0));
}

// Takes one object along paths. What cannot be done leaves `failed_` and what was found before.
class Walker {
 public:
  explicit Walker(json::Arena& arena) : arena_(arena) {}

  // Along the first path of `nodes`, which is taken off.
  Values Walk(Values found, Nodes& nodes) {
    bool is_last = false;
    while (!failed_ && !is_last && !nodes.empty()) {
      const JsonPathNode& node = nodes.front();
      found = Step(std::move(found), node, nodes.subspan(1, node.size));
      is_last = node.ends_path;
      nodes = nodes.subspan(1 + node.size);
    }
    return found;
  }
  bool failed() const { return failed_; }

 private:
  Values Step(Values found, const JsonPathNode& node, Nodes within) {
    switch (node.kind) {
      case Kind::kText:
        return {json::String(arena_, node.text)};
      case Kind::kInt:
        return Values(found.size(), Value::Int(api::IntOf(node)));
      case Kind::kFloat:
        return Values(found.size(), Value::Double(api::FloatOf(node)));
      case Kind::kBool:
        return Values(found.size(), Value::Bool(node.text == "true"));
      case Kind::kSlice:
        return Slice(std::move(found), api::BoundsOf(node));
      case Kind::kFilter:
        return Filter(std::move(found), within, node.text);
      case Kind::kUnion:
        return Union(std::move(found), within);
      case Kind::kIdentifier:
        failed_ = true;
        return found;
      case Kind::kSelf:
        return found;
      default:
        break;
    }
    Values out;
    for (const Value& value : found) {
      if (node.kind == Kind::kWildcard) {
        AppendAll(value, out);
      } else if (node.kind == Kind::kRecursive) {
        Descend(value, 0, out);
      } else if (const Value* member = value.is_object() ? value.Find(node.text) : nullptr) {
        out.push_back(*member);
      }
      if (out.size() > kMaxFound) {
        failed_ = true;
        return found;
      }
    }
    return out;
  }

  Values Slice(Values found, const api::JsonPathBounds& bounds) {
    Values out;
    for (const Value& value : found) {
      if (value.is_null()) continue;
      std::int64_t first = 0;
      std::int64_t last = 0;
      if (!value.is_array() ||
          !ReadBounds(bounds, static_cast<std::int64_t>(value.size()), first, last)) {
        failed_ = true;
        return found;
      }
      if (first == last) return out;
      const std::int64_t step = bounds.step.is_known ? bounds.step.value : 1;
      for (std::int64_t left = last - first; left > 0; left -= step) {
        out.push_back(value[static_cast<std::size_t>(last - left)]);
      }
    }
    return out;
  }

  Values Union(Values found, Nodes paths) {
    Values out;
    while (!paths.empty()) {
      Values some = Walk(found, paths);
      failed_ = failed_ || out.size() + some.size() > kMaxFound;
      if (failed_) return found;
      out.insert(out.end(), std::make_move_iterator(some.begin()),
                 std::make_move_iterator(some.end()));
    }
    return out;
  }

  Values Filter(Values found, Nodes paths, std::string_view op) {
    Values out;
    for (const Value& value : found) {
      failed_ = failed_ || !value.is_array();
      for (const Value& element : value.elements()) {
        if (!failed_ && Holds(element, paths, op)) out.push_back(element);
      }
      if (failed_) return found;
    }
    return out;
  }

  bool Holds(Value element, Nodes paths, std::string_view op) {
    if (op.empty()) {
      // Whether there is something; what cannot be done leaves what was there before.
      return !Walker(arena_).Walk({element}, paths).empty();
    }
    Values sides;
    while (!paths.empty()) {
      const Values found = Walk({element}, paths);
      failed_ = failed_ || found.size() > 1;
      if (failed_ || found.empty()) return false;
      sides.push_back(found.front());
    }
    return Compare(sides[0], sides[1], op);
  }

  template <typename Number>
  static int Order(Number a, Number b) {
    return a < b ? -1 : b < a ? 1 : 0;
  }

  // Both are of one type, which has an order but for truth values.
  bool Compare(Value a, Value b, std::string_view op) {
    int order = 0;
    const bool is_equality = op == "==" || op == "!=";
    if (a.is_int() && b.is_int()) {
      order = Order(a.AsInt(), b.AsInt());
    } else if (a.is_double() && b.is_double()) {
      order = Order(a.AsDouble(), b.AsDouble());
    } else if (a.is_string() && b.is_string()) {
      order = a.AsString().compare(b.AsString());
    } else if (a.is_bool() && b.is_bool() && is_equality) {
      order = a.AsBool() == b.AsBool() ? 0 : 1;
    } else {
      failed_ = true;
    }
    if (op == "==") return order == 0;
    if (op == "!=") return order != 0;
    if (op == "<") return order < 0;
    if (op == "<=") return order <= 0;
    if (op == ">") return order > 0;
    if (op != ">=") failed_ = true;
    return order >= 0;
  }

  json::Arena& arena_;
  bool failed_ = false;
};

}  // namespace

std::vector<Value> FindJsonPath(json::Arena& arena, Value object, const api::JsonPath& path) {
  Walker walker(arena);
  Nodes nodes = path.nodes;
  Values found = walker.Walk({object}, nodes);
  return walker.failed() ? Values() : found;
}

}  // namespace portcullis::server::table
