// SPDX-License-Identifier: Apache-2.0

#include "server/table/json_path.h"

#include <iterator>

#include "api/json_path.h"

namespace portcullis::server::table {
namespace {

using api::JsonPath;
using api::JsonPathNode;
using json::Value;
using Values = std::vector<Value>;
using Kind = JsonPathNode::Kind;

constexpr int kMaxDepth = 64;  // of descent

void AppendAll(Value value, Values& out) {
  for (const Value& element : value.elements()) out.push_back(element);
  for (const json::Member& member : value.members()) out.push_back(member.value);
}

void Descend(Value value, int depth, Values& out) {
  Values below;
  AppendAll(value, below);
  if (below.empty() || depth > kMaxDepth) return;
  out.push_back(value);
  for (const Value& one : below) Descend(one, depth + 1, out);
}

// Which of `size` elements; false if there are none such.
bool ReadBounds(const JsonPathNode& node, std::int64_t size, std::int64_t& first,
                std::int64_t& last) {
  const auto& [from, to, step] = node.bounds;
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

  Values Walk(Values found, const JsonPath& path) {
    for (const JsonPathNode& node : path) {
      found = Step(std::move(found), node);
      if (failed_) break;
    }
    return found;
  }
  bool failed() const { return failed_; }

 private:
  Values Step(Values found, const JsonPathNode& node) {
    switch (node.kind) {
      case Kind::kText:
        return {json::String(arena_, node.text)};
      case Kind::kInt:
        return Values(found.size(), Value::Int(node.number));
      case Kind::kFloat:
        return Values(found.size(), Value::Double(node.real));
      case Kind::kBool:
        return Values(found.size(), Value::Bool(node.truth));
      case Kind::kSlice:
        return Slice(std::move(found), node);
      case Kind::kFilter:
        return Filter(std::move(found), node);
      case Kind::kUnion:
        return Union(std::move(found), node);
      case Kind::kIdentifier:
        failed_ = true;
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
    }
    return out;
  }

  Values Slice(Values found, const JsonPathNode& node) {
    Values out;
    for (const Value& value : found) {
      if (value.is_null()) continue;
      std::int64_t first = 0;
      std::int64_t last = 0;
      if (!value.is_array() ||
          !ReadBounds(node, static_cast<std::int64_t>(value.size()), first, last)) {
        failed_ = true;
        return found;
      }
      if (first == last) return out;
      const std::int64_t step = node.bounds[2].is_known ? node.bounds[2].value : 1;
      for (std::int64_t left = last - first; left > 0; left -= step) {
        out.push_back(value[static_cast<std::size_t>(last - left)]);
      }
    }
    return out;
  }

  Values Union(Values found, const JsonPathNode& node) {
    Values out;
    for (const JsonPath& path : node.paths) {
      Values some = Walk(found, path);
      if (failed_) return found;
      out.insert(out.end(), std::make_move_iterator(some.begin()),
                 std::make_move_iterator(some.end()));
    }
    return out;
  }

  Values Filter(Values found, const JsonPathNode& node) {
    Values out;
    for (const Value& value : found) {
      failed_ = failed_ || !value.is_array();
      for (const Value& element : value.elements()) {
        if (!failed_ && Holds(element, node)) out.push_back(element);
      }
      if (failed_) return found;
    }
    return out;
  }

  bool Holds(Value element, const JsonPathNode& node) {
    if (node.paths.size() == 1) {
      // Whether there is something; what cannot be done leaves what was there before.
      return !Walker(arena_).Walk({element}, node.paths[0]).empty();
    }
    Values sides;
    for (const JsonPath& path : node.paths) {
      const Values found = Walk({element}, path);
      failed_ = failed_ || found.size() > 1;
      if (failed_ || found.empty()) return false;
      sides.push_back(found.front());
    }
    return Compare(sides[0], sides[1], node.text);
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

std::vector<Value> FindJsonPath(json::Arena& arena, Value object, std::string_view path) {
  const auto parsed = api::ParseJsonPath(path);
  if (!parsed.ok()) return {};
  Walker walker(arena);
  Values found = walker.Walk({object}, *parsed);
  return walker.failed() ? Values() : found;
}

}  // namespace portcullis::server::table
