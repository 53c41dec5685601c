// SPDX-License-Identifier: Apache-2.0

// FieldSet: which fields of an object someone owns, the currency of server-side apply
// (KEP-555; sigs.k8s.io/structured-merge-diff, "FieldsV1" of metadata.managedFields).
//
// A set of paths. A path leads through names of fields (`f:spec`), elements of keyed lists
// (`k:{"name":"a"}`), elements of sets (`v:"x"`) and positions (`i:0`). Value type.
#pragma once

#include <compare>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "json/value.h"

namespace portcullis::api::patch {

// One step of a path. `text` is the field's name, or the JSON of key, value or position in
// canonical form (keys sorted), so that equal steps have equal texts.
struct PathElement {
  enum class Kind : unsigned char { kField, kKey, kValue, kIndex };
  Kind kind = Kind::kField;
  std::string text;
  // Fields by name; keys and values as their values are ordered: 80 comes before 443.
  std::strong_ordering operator<=>(const PathElement& other) const;
  bool operator==(const PathElement&) const = default;

  static PathElement Field(std::string_view name) { return {Kind::kField, std::string(name)}; }
  static PathElement Index(std::size_t i) { return {Kind::kIndex, std::to_string(i)}; }
};

// The step in FieldsV1: "f:spec".
std::string_view FieldKey(json::Arena& arena, PathElement::Kind kind, std::string_view text);

using FieldPathSteps = std::vector<PathElement>;
// `.spec.containers[name="a"].image`, `.spec.finalizers["x"]`, `.items[0]`.
std::string ToText(const FieldPathSteps& path);

class FieldSet {
 public:
  struct Node;

  FieldSet();
  // Of nodes in any order, of which none is empty; those of equal elements are united.
  explicit FieldSet(std::vector<Node> nodes);
  ~FieldSet();
  FieldSet(const FieldSet&);
  FieldSet(FieldSet&&) noexcept;
  FieldSet& operator=(const FieldSet&);
  FieldSet& operator=(FieldSet&&) noexcept;

  // Adds the element itself. This and the other insertions move what stands behind: for many
  // elements make a set of nodes.
  void Insert(const PathElement& element);
  void Insert(std::span<const PathElement> path);
  // Adds a whole set below `element`.
  void InsertBelow(const PathElement& element, FieldSet below);

  bool Has(const PathElement& element) const;
  bool Has(std::span<const PathElement> path) const;
  // What is owned below `element`; null if nothing.
  const FieldSet* Below(const PathElement& element) const;
  bool empty() const { return nodes_.empty(); }
  std::span<const Node> nodes() const;
  // Every owned path in order.
  std::vector<FieldPathSteps> Paths() const;

  FieldSet Union(const FieldSet& other) const;
  // Of many sets at once, in n log n.
  static FieldSet UnionOf(std::span<const FieldSet* const> sets);
  FieldSet Intersection(const FieldSet& other) const;
  // Whether the other set has all paths of this one.
  bool IsWithin(const FieldSet& other) const;
  // Paths of this set that are not in the other one.
  FieldSet Difference(const FieldSet& other) const;
  // Difference() in place.
  void Subtract(const FieldSet& other);
  // Takes away everything at and below the members of `gone`.
  void Prune(const FieldSet& gone);

  bool operator==(const FieldSet& other) const;

  // FieldsV1. The error of a text that is none names the offending key.
  json::Value ToJson(json::Arena& arena) const;
  static base::Result<FieldSet> FromJson(json::Value fields);

 private:
  // One node of those that have the same element. REQUIRES: there is one.
  static Node Unite(std::span<Node> equal);
  Node& Slot(const PathElement& element);
  const Node* Find(const PathElement& element) const;
  json::Value ToJson(json::Arena& arena, bool member) const;

  std::vector<Node> nodes_;  // sorted by element; none is empty
};

struct FieldSet::Node {
  PathElement element;
  bool member = false;  // the element itself is owned
  FieldSet below;
  bool operator==(const Node& other) const {
    return element == other.element && member == other.member && below == other.below;
  }
};

}  // namespace portcullis::api::patch
