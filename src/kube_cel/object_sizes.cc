// SPDX-License-Identifier: Apache-2.0

#include "kube_cel/object_sizes.h"

#include <algorithm>

#include "kube_cel/schema_rules.h"

namespace portcullis::kube_cel {
namespace {

using api::schema::Field;
using api::schema::Kind;
using api::schema::Schema;

constexpr int kMaxDepth = 4;  // of required fields; schemas may be recursive
constexpr std::uint64_t kSmallText = 64;
constexpr std::uint64_t kSmallList = 8;
constexpr std::uint64_t kLongestKey = 317;  // of a label: prefix, slash and name

// Bytes of the shortest JSON.
std::uint64_t ShortestJson(const Schema& schema, int depth = 0) {
  if (schema.kind == Kind::kBoolean) return 4;
  if (schema.kind == Kind::kInteger || schema.kind == Kind::kNumber) return 1;
  std::uint64_t size = 2;  // quotes, brackets or braces
  if (schema.kind != Kind::kStruct || depth == kMaxDepth) return size;
  for (const Field& field : schema.fields) {
    if (!field.required || field.schema == nullptr) continue;
    size += field.name.size() + 4 + ShortestJson(*field.schema, depth + 1);
  }
  return size;
}

// How many elements fit, with a comma behind each, and quotes and a colon around each key.
std::uint64_t Fitting(const Schema& list, std::uint64_t bytes) {
  const std::uint64_t around = list.kind == Kind::kMap ? 6 : 1;
  const std::uint64_t each = (list.element == nullptr ? 2 : ShortestJson(*list.element)) + around;
  return std::max<std::uint64_t>(bytes / each, 1);
}

const Schema* FieldOf(const Schema& schema, std::string_view step) {
  for (const Field& field : schema.fields) {
    if (EscapeFieldName(field.name) == step) return field.schema;
  }
  return nullptr;
}

bool IsText(Kind kind) {
  return kind == Kind::kString || kind == Kind::kBytes || kind == Kind::kIntOrString;
}

}  // namespace

std::optional<cel::Range> ObjectSizes::Size(std::span<const std::string_view> path,
                                            const cel::Type& type) const {
  if (path.empty() || (path.front() != "object" && path.front() != "oldObject")) {
    const bool is_list = type.kind == cel::TypeKind::kList || type.kind == cel::TypeKind::kMap;
    return cel::Range{0, is_list ? kSmallList : kSmallText};
  }
  const Schema* node = &schema_;
  std::uint64_t nodes = 1;  // of this path in the whole object
  for (const std::string_view step : path.subspan(1)) {
    if (step == "@keys") return cel::Range{0, kLongestKey};
    const Schema* next = nullptr;
    if (step == "@items" || step == "@values") {
      if (node->kind == Kind::kArray || node->kind == Kind::kMap) {
        nodes = std::max(nodes, Fitting(*node, bytes_));
        next = node->element;
      }
    } else {
      next = FieldOf(*node, step);
    }
    if (next == nullptr) return cel::Range{0, kSmallText};
    node = next;
  }
  if (node->kind == Kind::kArray || node->kind == Kind::kMap) {
    return cel::Range{0, std::max<std::uint64_t>(Fitting(*node, bytes_) / nodes, 1)};
  }
  return cel::Range{0, IsText(node->kind) ? std::max<std::uint64_t>(bytes_ / nodes, 1) : 0};
}

}  // namespace portcullis::kube_cel
