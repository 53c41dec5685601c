// SPDX-License-Identifier: Apache-2.0

// Schema: what a kind looks like: its fields with their types, and how Go treats them.
//
// Kubernetes' OpenAPI tells the types; which fields are pointers, which are left out when zero and
// how the Go types are called is known from the facts the catalog is made with (catalog/import.h).
// Schemas of built-in kinds are made when the catalog is loaded, those of custom resources from
// their structural schema. Nodes are shared, may form cycles (JSONSchemaProps) and never change.
//
// Immutable after construction. A Schema belongs to its SchemaPool and lives as long as it; every
// string_view in it points into the pool.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "json/value.h"

namespace portcullis::api::schema {

enum class Kind : std::uint8_t {
  kAny,     // any JSON, kept as it is: RawExtension, JSON, FieldsV1, unconstrained CRD fields
  kStruct,  // object with the named fields
  kMap,     // object with any names; `element` is the type of the values
  kArray,   // `element` is the type of the elements
  kString,
  kBytes,  // string in base64
  kInteger,
  kNumber,
  kBoolean,
  kQuantity,
  kIntOrString,
  kTime,       // RFC 3339 with seconds
  kMicroTime,  // RFC 3339 with microseconds
  kDuration,   // Go duration: "5m0s"
  kUnion,      // an object is `element`, anything else is kept: JSONSchemaPropsOrBool and friends
};

enum class ListType : std::uint8_t { kUnset, kAtomic, kSet, kMap };
enum class MapType : std::uint8_t { kUnset, kAtomic, kGranular };
// When Go leaves a field out: never, when it is empty (omitempty), when it is zero (omitzero).
enum class Omit : std::uint8_t { kNever, kEmpty, kZero };

struct Schema;

// What few fields of custom resources have.
struct FieldDetails {
  std::string_view go_name;  // "TimeoutSeconds"; "" for custom resources
  std::string_view patch_merge_key;
  json::Value default_value;  // OpenAPI v3 default; null if none
};

// Definitions have thousands of them: keep it small.
struct Field {
  std::string_view name;  // "timeoutSeconds"
  const Schema* schema = nullptr;
  const FieldDetails* details = nullptr;  // null: there are none
  std::uint32_t hash = 0;                 // json::HashKey(name)
  Omit omit = Omit::kEmpty;
  bool required : 1 = false;           // as OpenAPI says
  bool pointer : 1 = false;            // Go tells absent from zero
  bool patch_merge : 1 = false;        // patchStrategy merge: lists by patch_merge_key
  bool patch_replace : 1 = false;      // patchStrategy replace
  bool patch_retain_keys : 1 = false;  // patchStrategy retainKeys

  std::string_view go_name() const { return details ? details->go_name : std::string_view(); }
  std::string_view patch_merge_key() const {
    return details ? details->patch_merge_key : std::string_view();
  }
  json::Value default_value() const { return details ? details->default_value : json::Value(); }
};

class Patterns;

// Constraints of a custom resource's structural schema, as they stand in the CRD (a JSONSchemaProps
// object), and the regular expressions in them.
struct Constraints {
  json::Value props;
  const Patterns* patterns = nullptr;  // of the whole pool, filled as they are used
};

struct Schema {
  Kind kind = Kind::kAny;
  ListType list_type = ListType::kUnset;
  MapType map_type = MapType::kUnset;  // of maps and structs
  bool element_pointer = false;        // []*T, map[string]*T
  bool nullable = false;
  bool preserve_unknown_fields = false;
  bool embedded_resource = false;
  std::string_view definition;  // "io.k8s.api.core.v1.PodSpec"; "" if not named
  std::string_view go_type;     // "v1.PodSpec", "int32", "[]v1.Container", "*bool" without the star
  std::string_view go_struct;   // "PodSpec"
  std::string_view format;      // "int32", "int64", "double", "byte", "date-time"
  const Schema* element = nullptr;
  std::vector<Field> fields;  // in the order Go writes them
  std::vector<std::string_view> list_map_keys;
  std::vector<std::string_view> enum_values;
  const Constraints* constraints = nullptr;  // custom resources only

  bool is_container() const {
    return kind == Kind::kStruct || kind == Kind::kMap || kind == Kind::kArray;
  }
  const Field* FindField(std::string_view name) const;
  const Field* FindField(std::string_view name, std::uint32_t hash) const;

  // Made by SchemaPool for structs of more than a few fields: open-addressed indices into `fields`.
  std::vector<std::uint16_t> field_index;
};

// Owns schemas. Filled by one thread, then only read.
class SchemaPool {
 public:
  SchemaPool();
  ~SchemaPool();
  SchemaPool(const SchemaPool&) = delete;
  SchemaPool& operator=(const SchemaPool&) = delete;

  Schema* Add() { return &nodes_.emplace_back(); }
  // A node equal to this leaf, made once (no element, no fields).
  const Schema* Leaf(Kind kind, std::string_view go_type, std::string_view format);
  std::string_view Copy(std::string_view text) { return arena_.Copy(text); }
  json::Arena& arena() { return arena_; }
  const Constraints* AddConstraints(json::Value props);
  const FieldDetails* AddDetails(const FieldDetails& details) {
    return &details_.emplace_back(details);
  }
  // Builds field_index and hashes; call when `fields` is complete.
  static void Finish(Schema& node);
  std::size_t bytes_used() const;

 private:
  json::Arena arena_;
  std::deque<Schema> nodes_;
  std::deque<Constraints> constraints_;
  std::deque<FieldDetails> details_;
  std::unique_ptr<const Patterns> patterns_;  // null until there are constraints
  std::unordered_map<std::string, const Schema*> leaves_;
};

// The schema at `path`, going through arrays and maps ("spec", "containers" gives the array); null
// if there is no such field.
const Schema* FindSchema(const Schema& root, std::initializer_list<std::string_view> path);

}  // namespace portcullis::api::schema
