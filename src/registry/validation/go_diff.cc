// SPDX-License-Identifier: Apache-2.0

#include "registry/validation/go_diff.h"

#include <algorithm>
#include <vector>

#include "api/catalog/catalog.h"
#include "api/view/metadata_order.h"
#include "base/strings.h"
#include "json/reader.h"
#include "json/sorted.h"
#include "json/writer.h"
#include "registry/validation/unified_diff.h"

namespace portcullis::registry {
namespace {

using api::schema::Field;
using api::schema::Kind;
using api::schema::Schema;

// Fields of a v1 PodSpec that internally belong to its security context.
constexpr std::string_view kHostFields[] = {"hostNetwork", "hostPID", "hostIPC",
                                            "shareProcessNamespace", "hostUsers"};

bool IsHostField(std::string_view name) {
  return std::find(std::begin(kHostFields), std::end(kHostFields), name) != std::end(kHostFields);
}

class Printer {
 public:
  std::string out;

  // `pair.sent` is the value before it was decoded, where that is known.
  struct Pair {
    json::Value value;
    json::Value sent;

    Pair operator[](std::string_view name) const { return {value[name], sent[name]}; }
    Pair operator[](std::size_t index) const { return {value[index], sent[index]}; }
    // Go keeps a list or map that is empty apart from one that is absent.
    bool IsSentEmpty() const {
      return (sent.is_array() || sent.is_object()) && sent.empty() && value.empty();
    }
  };

  void Print(const Schema* schema, const Pair& pair, bool pointer, int depth,
             json::Value pod_spec = {}) {
    const json::Value value = pair.value;
    if (schema == nullptr || schema->kind == Kind::kAny) {
      out += value.is_null() ? "null" : json::ToString(value);
      return;
    }
    switch (schema->kind) {
      case Kind::kStruct:
        if (value.is_null() && pointer) {
          out += "null";
        } else if (value.is_object() && IsWireType(*schema)) {
          PrintWire(value, depth);
        } else {
          PrintStruct(*schema, pair, depth, pod_spec);
        }
        return;
      case Kind::kArray:
        PrintList(*schema, pair, depth);
        return;
      case Kind::kMap:
        PrintMap(*schema, pair, depth);
        return;
      default:
        PrintScalar(*schema, value, pointer);
    }
  }

 private:
  void Line(int depth) {
    out += "\n";
    out.append(static_cast<std::size_t>(depth), ' ');
  }

  void PrintScalar(const Schema& schema, json::Value value, bool pointer) {
    if (!value.is_null()) {
      out += json::ToString(value);
    } else if (pointer || schema.kind == Kind::kTime || schema.kind == Kind::kBytes) {
      out += "null";
    } else if (schema.kind == Kind::kBoolean) {
      out += "false";
    } else if (schema.kind == Kind::kInteger || schema.kind == Kind::kNumber ||
               schema.kind == Kind::kIntOrString) {
      out += "0";
    } else {
      out += "\"\"";
    }
  }

  struct GoField {
    std::string_view name;
    const Schema* schema;
    bool pointer;
  };
  void PrintField(const GoField& field, const Pair& pair, int depth, bool& first,
                  json::Value pod_spec = {}) {
    if (!first) out += ",";
    first = false;
    Line(depth + 1);
    out += base::StrCat("\"", field.name, "\": ");
    Print(field.schema, pair, field.pointer, depth + 1, pod_spec);
  }

  void PrintStruct(const Schema& schema, const Pair& pair, int depth, json::Value pod_spec) {
    const json::Value value = pair.value;
    out += "{";
    bool first = true;
    const bool is_pod_spec = schema.go_struct == "PodSpec";
    if (schema.go_struct == "PodSecurityContext" && pod_spec.is_object()) {
      for (const std::string_view field : kHostFields) {
        const bool pointer = field == "shareProcessNamespace" || field == "hostUsers";
        const json::Value held = pod_spec[field];
        if (!first) out += ",";
        first = false;
        Line(depth + 1);
        const std::string go_name =
            base::StrCat(std::string(1, static_cast<char>(field[0] - 'a' + 'A')), field.substr(1));
        out += base::StrCat("\"", go_name, "\": ",
                            !held.is_null() ? json::ToString(held)
                            : pointer       ? "null"
                                            : "false");
      }
    }
    for (const Field* const entry : InternalOrder(schema)) {
      const Field& field = *entry;
      if (IsInlined(schema, field)) {
        if (field.name == "metadata") PrintMetadata(value["metadata"], depth, first);
        continue;
      }
      if (is_pod_spec && (IsHostField(field.name) || field.name == "serviceAccount")) continue;
      const bool security = is_pod_spec && field.name == "securityContext";
      PrintField({field.go_name(), field.schema, field.pointer}, pair[field.name], depth, first,
                 security ? value : json::Value());
    }
    if (!first) Line(depth);
    out += "}";
  }

  // Selectors and times are those of the API in the internal types, too.
  static bool IsWireType(const Schema& schema) {
    return schema.definition.starts_with("io.k8s.apimachinery.pkg.apis.meta.v1.");
  }

  // A few fields stand elsewhere in the internal types than in those of v1.
  static std::vector<const Field*> InternalOrder(const Schema& schema) {
    struct Move {
      std::string_view go_struct, field, after;
    };
    static constexpr Move kMoves[] = {{"Volume", "quobyte", "rbd"},
                                      {"PersistentVolumeSpec", "quobyte", "rbd"},
                                      {"PersistentVolumeSpec", "flexVolume", "iscsi"},
                                      {"PodSpec", "setHostnameAsFQDN", "subdomain"},
                                      {"PodSpec", "preemptionPolicy", "priority"},
                                      {"PodSpec", "overhead", "runtimeClassName"},
                                      {"PodSecurityContext", "fsGroupChangePolicy", "fsGroup"}};
    std::vector<const Field*> fields;
    for (const Field& field : schema.fields) fields.push_back(&field);
    const auto at = [&](std::string_view name) {
      return std::find_if(fields.begin(), fields.end(),
                          [&](const Field* field) { return field->name == name; });
    };
    for (const Move& move : kMoves) {
      const auto from = at(move.field);
      if (schema.go_struct != move.go_struct || from == fields.end()) continue;
      const Field* const field = *from;
      fields.erase(from);
      const auto before = at(move.after);
      fields.insert(before == fields.end() ? before : before + 1, field);
    }
    return fields;
  }

  // The internal types embed TypeMeta, which is empty there, and ObjectMeta: its fields stand among
  // the object's own, with their wire names and without those that are empty.
  static bool IsInlined(const Schema& schema, const Field& field) {
    const bool is_object =
        std::any_of(schema.fields.begin(), schema.fields.end(),
                    [](const Field& f) { return f.name == "metadata" && f.schema != nullptr; });
    return is_object &&
           (field.name == "metadata" || field.name == "kind" || field.name == "apiVersion");
  }

  void PrintMetadata(json::Value metadata, int depth, bool& first) {
    for (const std::string_view name : api::kMetadataOrder) {
      const json::Value value = metadata[name];
      if (value.is_null() || ((value.is_object() || value.is_array()) && value.empty())) continue;
      if (!first) out += ",";
      first = false;
      Line(depth + 1);
      out += base::StrCat("\"", name, "\": ");
      PrintWire(value, depth + 1);
    }
  }

  void PrintWire(json::Value value, int depth) {
    const bool is_object = value.is_object();
    if ((!is_object && !value.is_array()) || value.empty()) {
      out += json::ToString(value);
      return;
    }
    out += is_object ? "{" : "[";
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (i > 0) out += ",";
      Line(depth + 1);
      if (is_object) {
        const json::Member& member = value.members()[i];
        out += base::StrCat(json::ToString(json::Value::StringView(member.name())), ": ");
        PrintWire(member.value, depth + 1);
      } else {
        PrintWire(value[i], depth + 1);
      }
    }
    Line(depth);
    out += is_object ? "}" : "]";
  }

  void PrintList(const Schema& schema, const Pair& pair, int depth) {
    const json::Value value = pair.value;
    if (!value.is_array()) {
      out += pair.IsSentEmpty() ? "[]" : "null";
      return;
    }
    out += "[";
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (i > 0) out += ",";
      Line(depth + 1);
      Print(schema.element, pair[i], schema.element_pointer, depth + 1);
    }
    if (!value.empty()) Line(depth);
    out += "]";
  }

  void PrintMap(const Schema& schema, const Pair& pair, int depth) {
    const json::Value value = pair.value;
    if (!value.is_object()) {
      out += pair.IsSentEmpty() ? "{}" : "null";
      return;
    }
    out += "{";
    bool first = true;
    for (const json::Member* member : json::MembersByName(value)) {
      PrintField({member->name(), schema.element, schema.element_pointer},
                 {member->value, pair.sent[member->name()]}, depth, first);
    }
    if (!first) Line(depth);
    out += "}";
  }
};

}  // namespace

std::string GoJson(const Schema& schema, json::Value value, json::Value sent) {
  Printer printer;
  printer.Print(&schema, {value, sent}, false, 0);
  return printer.out;
}

api::BadValue GoValue(const Context& ctx, std::string_view definition, json::Value value,
                      json::Value sent) {
  const Schema* schema = ctx.catalog == nullptr ? nullptr : ctx.catalog->FindDefinition(definition);
  const bool is_list = value.is_array() || sent.is_array();
  if (schema == nullptr || (value.is_null() && !is_list)) return value;
  Schema list;
  list.kind = api::schema::Kind::kArray;
  list.element = schema;
  const auto compact = json::Parse(ctx.arena, GoJson(is_list ? list : *schema, value, sent));
  return compact.ok() ? api::BadValue::Raw(json::ToString(*compact)) : api::BadValue(value);
}

std::string GoDiff(const Schema& schema, json::Value before, json::Value after, json::Value sent) {
  return UnifiedDiff(GoJson(schema, before), GoJson(schema, after, sent));
}

}  // namespace portcullis::registry
