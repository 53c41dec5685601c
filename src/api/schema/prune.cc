// SPDX-License-Identifier: Apache-2.0

// Pruning of custom resources: fields that the structural schema does not name are removed, below
// preserved ones only where the schema says something again. So are nulls that the schema does not
// allow and has no default for.
#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "api/field_error.h"
#include "api/field_path.h"
#include "api/schema/decode.h"
#include "api/schema/structural.h"
#include "base/strings.h"
#include "json/edit.h"
#include "json/sorted.h"

namespace portcullis::api::schema {
namespace {

using json::Value;

bool IsMetaField(std::string_view name) {
  return name == "apiVersion" || name == "kind" || name == "metadata";
}

// Whether the schema says anything about the value, which `additionalProperties: true` does not, and
// allows no null.
bool IsForbiddenNull(const Schema* schema, Value value) {
  return value.is_null() && schema != nullptr && !schema->nullable &&
         (schema->kind != Kind::kAny || schema->preserve_unknown_fields);
}

// The paths of unknown fields in the order in which kube-apiserver comes to them.
struct Unknown {
  std::vector<std::string> of_metadata;  // the object's own
  std::vector<std::string> of_object;
  std::vector<std::string> of_embedded_metadata;
};

class Pruner {
 public:
  Pruner(json::Arena& arena, const Schema* metadata, Unknown* unknown)
      : arena_(arena), metadata_(metadata), unknown_(unknown) {}

  // `schema` is null where nothing is known: everything goes. A list that preserves unknown fields
  // does so for its elements, of which `preserved` tells, but not for what is below their fields.
  Value Prune(const Schema* schema, Value value, bool resource, bool preserved = false) {
    preserved = preserved || (schema != nullptr && schema->preserve_unknown_fields);
    if (value.is_array()) return PruneList(schema, value, preserved);
    if (!value.is_object()) return value;
    const bool opaque = preserved && (schema == nullptr || schema->kind == Kind::kAny);
    if (opaque && (schema == nullptr || !schema->embedded_resource)) return value;
    const bool embedded = resource || (schema != nullptr && schema->embedded_resource);
    json::ObjectBuilder kept(arena_);
    bool changed = false;
    for (const json::Member& member : value.members()) {
      const std::size_t size = Push(member.name());
      const std::size_t keyed = keyed_.size();
      if (unknown_ != nullptr) PushKeyed(schema, member);
      const std::optional<Value> result = PruneMember(
          schema, member, {.at_top = size == 0, .embedded = embedded, .preserved = preserved});
      path_.resize(size);
      keyed_.resize(keyed);
      if (result) kept.Add(member.name(), *result);
      changed = changed || !result || !result->IsSameAs(member.value);
    }
    return changed ? kept.Build() : value;
  }

 private:
  // Lengthens the path, which is only kept if it is reported; returns its length before.
  std::size_t Push(std::string_view name) {
    const std::size_t size = path_.size();
    if (unknown_ == nullptr) return size;
    if (size != 0) path_ += '.';
    path_ += name;
    return size;
  }

  void PushKeyed(const Schema* schema, const json::Member& member) {
    const bool is_key = schema != nullptr && schema->kind == Kind::kMap &&
                        schema->FindField(member.name(), member.hash) == nullptr;
    keyed_ += is_key ? "[" : keyed_.empty() ? "" : ".";
    keyed_ += member.name();
    if (is_key) keyed_ += ']';
  }

  struct Owner {
    bool at_top = false;
    bool embedded = false;
    bool preserved = false;  // its unknown fields are kept
  };

  // The path leads to the member.
  std::optional<Value> PruneMember(const Schema* schema, const json::Member& member,
                                   const Owner& owner) {
    const std::string_view name = member.name();
    if (owner.embedded && name == "metadata") return Metadata(member.value);
    if (owner.embedded && IsMetaField(name)) return member.value;
    if (schema != nullptr) {
      if (const Field* field = schema->FindField(name, member.hash)) {
        const bool stays =
            !IsForbiddenNull(field->schema, member.value) || !field->default_value().is_null();
        return stays ? std::optional(Prune(field->schema, member.value, false)) : std::nullopt;
      }
      if (schema->kind == Kind::kMap) {
        if (IsForbiddenNull(schema->element, member.value) && DefaultOfElement(*schema).is_null()) {
          return std::nullopt;
        }
        if (schema->element == nullptr) return member.value;
        return Prune(schema->element, member.value, false);
      }
    }
    if (owner.preserved) return member.value;
    if (unknown_ != nullptr && (!IsMetaField(name) || !owner.at_top)) {
      unknown_->of_object.push_back(path_);
    }
    return std::nullopt;
  }

  Value PruneList(const Schema* schema, Value list, bool preserved) {
    const Schema* element = schema != nullptr ? schema->element : nullptr;
    if (element == nullptr && preserved) return list;
    const std::size_t size = path_.size();
    const std::size_t keyed = keyed_.size();
    std::size_t i = 0;
    return json::EditElements(arena_, list, [&](Value item) {
      if (unknown_ != nullptr) {
        const std::string index = base::StrCat("[", std::to_string(i++), "]");
        path_ += index;
        keyed_ += index;
      }
      const Value pruned = Prune(element, item, false, preserved);
      path_.resize(size);
      keyed_.resize(keyed);
      return pruned;
    });
  }

  // Metadata has the Go type of built-in kinds.
  Value Metadata(Value metadata) {
    if (metadata_ == nullptr) return metadata;
    std::vector<std::string> unknown;
    DecodeOptions options;
    options.unknown_fields = &unknown;
    const auto decoded = Decode(arena_, *metadata_, metadata, options);
    if (!decoded.ok()) return WithoutMalformed(metadata);
    if (unknown_ != nullptr) {
      auto& known = path_ == "metadata" ? unknown_->of_metadata : unknown_->of_embedded_metadata;
      for (const std::string& name : unknown) known.push_back(base::StrCat(keyed_, ".", name));
    }
    return *decoded == metadata ? metadata : *decoded;
  }

  // Each field by itself: those of a wrong type are dropped as if they were unset.
  Value WithoutMalformed(Value metadata) {
    json::ObjectBuilder out(arena_);
    for (const json::Member& member : metadata.members()) {
      const auto alone = Decode(arena_, *metadata_, json::MakeObject(arena_, {member}));
      if (alone.ok()) out.Set(member.name(), member.value);
    }
    const auto decoded = Decode(arena_, *metadata_, out.Build());
    return metadata.is_object() && decoded.ok() ? *decoded : metadata;
  }

  json::Arena& arena_;
  const Schema* const metadata_;  // of ObjectMeta
  Unknown* const unknown_;        // null: they are not reported
  std::string path_;              // of the value at hand
  std::string keyed_;             // likewise, with keys of maps in brackets: for embedded metadata
};

const Schema* MetadataOf(const Schema& root) {
  const Field* field = root.FindField("metadata");
  return field != nullptr ? field->schema : nullptr;
}

// Go decodes a map by way of its text, which is in the order of names: the first fault in it is reported.
base::Status CheckDecoded(json::Arena& arena, const Schema& metadata, Value value) {
  const auto decoded = Decode(arena, metadata, value);
  if (decoded.ok()) return base::OkStatus();
  return Decode(arena, metadata, json::Sorted(arena, value)).status();
}

class MetadataChecker {
 public:
  MetadataChecker(json::Arena& arena, const Schema& metadata)
      : arena_(arena), metadata_(metadata) {}

  base::Status Check(const Schema* schema, Value value, const FieldPath& path) const {
    if (schema == nullptr) return base::OkStatus();
    if (value.is_array()) {
      std::size_t index = 0;
      for (const Value& element : value.elements()) {
        TRY(Check(schema->element, element, path.Index(index++)));
      }
      return base::OkStatus();
    }
    for (const json::Member& member : value.members()) {
      const FieldPath at = path.Child(member.name());
      if (schema->embedded_resource) TRY(CheckMember(member, at));
      if (const Field* field = schema->FindField(member.name(), member.hash)) {
        TRY(Check(field->schema, member.value, at));
      } else if (schema->kind == Kind::kMap) {
        TRY(Check(schema->element, member.value, path.Key(member.name())));
      }
    }
    return base::OkStatus();
  }

 private:
  base::Status CheckMember(const json::Member& member, const FieldPath& path) const {
    const auto invalid = [&](std::string_view text) {
      return base::BadRequest(Invalid(path, json::Sorted(arena_, member.value), text).ToString());
    };
    const bool named = member.name() == "apiVersion" || member.name() == "kind";
    if (named && !member.value.is_string()) return invalid("must be a string");
    if (member.name() != "metadata") return base::OkStatus();
    const base::Status decoded = CheckDecoded(arena_, metadata_, member.value);
    return decoded.ok() ? base::OkStatus() : invalid(decoded.message());
  }

  json::Arena& arena_;
  const Schema& metadata_;
};

}  // namespace

Value Prune(json::Arena& arena, const Schema& schema, Value input, bool is_resource,
            std::vector<std::string>* unknown_fields) {
  Unknown unknown;
  const Value pruned =
      Pruner(arena, MetadataOf(schema), unknown_fields == nullptr ? nullptr : &unknown)
          .Prune(&schema, input, is_resource);
  for (auto* part : {&unknown.of_metadata, &unknown.of_object, &unknown.of_embedded_metadata}) {
    std::sort(part->begin(), part->end());
    if (unknown_fields == nullptr) continue;
    unknown_fields->insert(unknown_fields->end(), std::make_move_iterator(part->begin()),
                           std::make_move_iterator(part->end()));
  }
  return pruned;
}

base::Status CheckMetadata(json::Arena& arena, const Schema& schema, json::Value object) {
  const Schema* metadata = MetadataOf(schema);
  if (metadata == nullptr) return base::OkStatus();
  if (const Value* own = object.Find("metadata"); own != nullptr && !own->is_null()) {
    TRY(CheckDecoded(arena, *metadata, *own));
  }
  const MetadataChecker checker(arena, *metadata);
  for (const json::Member& member : object.members()) {
    if (IsMetaField(member.name())) continue;
    if (const Field* field = schema.FindField(member.name(), member.hash)) {
      TRY(checker.Check(field->schema, member.value, FieldPath(member.name())));
    }
  }
  return base::OkStatus();
}

}  // namespace portcullis::api::schema
