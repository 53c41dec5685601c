// SPDX-License-Identifier: Apache-2.0

#include "values.h"

#include <algorithm>

#include "base/strings.h"

namespace portcullis::cost_law {
namespace {

using api::schema::Field;
using api::schema::Kind;
using api::schema::Schema;

constexpr int kDeepest = 6;

// Fields that tell one element from another, or that nothing works without.
constexpr std::string_view kKnownBy[] = {"name", "key",  "uid",    "kind",          "apiVersion",
                                         "ip",   "path", "values", "containerPort", "port"};
// Values that Kubernetes takes for fields of these names.
struct Usual {
  std::string_view name;
  std::string_view value;
};
constexpr Usual kUsual[] = {{"operator", "In"},      {"apiVersion", "v1"},
                            {"protocol", "TCP"},     {"effect", "NoSchedule"},
                            {"status", "True"},      {"topologyKey", "kubernetes.io/hostname"},
                            {"operation", "Update"}, {"whenUnsatisfiable", "DoNotSchedule"},
                            {"kind", "ConfigMap"},   {"mountPath", "/m"},
                            {"image", "i"},          {"expression", "true"},
                            {"scope", "*"},          {"sideEffects", "None"}};

bool Contains(std::span<const std::string_view> list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

bool IsKey(std::string_view name) { return Contains(kKnownBy, name) || name.ends_with("ame"); }

std::string Numbered(std::string_view letter, std::size_t index) {
  return base::StrCat(letter, std::to_string(index));
}

class Maker {
 public:
  Maker(json::Arena& arena, Likeness likeness) : arena_(arena), likeness_(likeness) {}

  json::Value Any(const Schema& schema, std::string_view name, std::size_t index, int depth) {
    switch (schema.kind) {
      case Kind::kStruct:
        return Struct(schema, index, depth);
      case Kind::kArray:
        return json::MakeArray(arena_, {Inside(schema, name, index, depth)});
      case Kind::kMap:
        return json::MakeObject(arena_, {{Key(index), Inside(schema, Key(index), index, depth)}});
      case Kind::kInteger:
      case Kind::kIntOrString:
        return json::Value::Int(static_cast<std::int64_t>(1 + Number(index) % 100));
      case Kind::kNumber:
        return json::Value::Double(0.5);
      case Kind::kBoolean:
        return json::Value::Bool(likeness_ == Likeness::kChanged);
      case Kind::kQuantity:
        return Text(std::to_string(1 + Number(index)));
      case Kind::kTime:
        return Text("2026-01-02T03:04:05Z");
      case Kind::kMicroTime:
        return Text("2026-01-02T03:04:05.000000Z");
      case Kind::kDuration:
        return Text("1s");
      case Kind::kBytes:
        return Text("dGV4dA==");
      case Kind::kString:
        return String(schema, name, index);
      default:
        return json::MakeObject(arena_, {{Key(index), Text(Numbered("v", Number(index)))}});
    }
  }

  std::string_view Key(std::size_t index) {
    return arena_.Copy(Numbered("k", likeness_ == Likeness::kEqual ? 0 : index));
  }

  // A list or map of that many elements, or a text of that many bytes.
  json::Value Many(const Schema& schema, std::string_view name, std::size_t size) {
    if (schema.kind == Kind::kArray) {
      json::ArrayBuilder list(arena_);
      for (std::size_t i = 0; i < size; ++i) list.Add(Inside(schema, name, i, 1));
      return list.Build();
    }
    if (schema.kind == Kind::kMap || schema.kind == Kind::kAny) {
      std::vector<json::Member> members;
      for (std::size_t i = 0; i < size; ++i) {
        // Keys of a map differ, whatever its values.
        const std::string_view key = arena_.Copy(Numbered("k", i));
        members.emplace_back(key, Inside(schema, key, i, 1));
      }
      return json::MakeObject(arena_, members);
    }
    const std::string_view piece = likeness_ == Likeness::kDistinct  ? "a"
                                   : likeness_ == Likeness::kChanged ? "b"
                                                                     : "a.A-/";
    std::string text;
    while (text.size() < size) text += piece;
    return Text(text);
  }

 private:
  json::Value Text(std::string_view text) { return json::String(arena_, text); }

  std::size_t Number(std::size_t index) const {
    if (likeness_ == Likeness::kEqual) return 0;
    return likeness_ == Likeness::kChanged ? index + 1'000'000 : index;
  }

  json::Value Inside(const Schema& schema, std::string_view name, std::size_t index, int depth) {
    if (schema.element == nullptr) return Text(Numbered("v", Number(index)));
    return Any(*schema.element, name, index, depth + 1);
  }

  json::Value String(const Schema& schema, std::string_view name, std::size_t index) {
    if (!schema.enum_values.empty()) return Text(schema.enum_values.front());
    for (const Usual& usual : kUsual) {
      if (usual.name == name) return Text(usual.value);
    }
    if (IsKey(name)) return Text(Numbered("n", likeness_ == Likeness::kEqual ? 0 : index));
    return Text(Numbered("v", Number(index)));
  }

  json::Value Struct(const Schema& schema, std::size_t index, int depth) {
    json::ObjectBuilder object(arena_);
    if (depth > kDeepest) return object.Build();
    for (const Field& field : schema.fields) {
      if (field.schema == nullptr || field.name == "status") continue;
      if (field.required || Contains(kKnownBy, field.name)) {
        object.Add(field.name, Any(*field.schema, field.name, index, depth + 1));
      }
    }
    for (const Field& field : schema.fields) {  // elements need something to differ in
      if (!object.empty()) break;
      if (field.schema != nullptr && !field.schema->is_container()) {
        object.Add(field.name, Any(*field.schema, field.name, index, depth + 1));
      }
    }
    return object.Build();
  }

  json::Arena& arena_;
  const Likeness likeness_;
};

class Grower {
 public:
  Grower(json::Arena& arena, const Growth& growth)
      : arena_(arena), growth_(growth), maker_(arena, growth.likeness) {}

  json::Value At(const Schema& schema, json::Value base, std::string_view name, std::size_t step) {
    if (step == growth_.place.size()) return maker_.Many(schema, name, growth_.size);
    if (base.is_null() || base.empty()) base = maker_.Any(schema, name, 0, 1);
    const std::string& next = growth_.place[step];
    if (next == "[]") {
      return json::MakeArray(arena_, {At(*schema.element, base[std::size_t{0}], name, step + 1)});
    }
    if (next == "{}") {
      const std::string_view key =
          base.empty() ? std::string_view("k0") : base.members().front().name();
      return json::MakeObject(arena_, {{key, At(*schema.element, base[key], key, step + 1)}});
    }
    const Field* field = schema.FindField(next);
    return json::With(arena_, base, next, At(*field->schema, base[next], next, step + 1));
  }

 private:
  json::Arena& arena_;
  const Growth& growth_;
  Maker maker_;
};

}  // namespace

std::string TextOf(const Place& place) {
  std::string out;
  for (const std::string& step : place) {
    if (!out.empty() && step != "[]" && step != "{}") out += ".";
    out += step;
  }
  return out;
}

json::Value Example(json::Arena& arena, const Schema& schema, std::string_view name,
                    std::size_t index, Likeness likeness) {
  return Maker(arena, likeness).Any(schema, name, index, 0);
}

json::Value Grown(json::Arena& arena, const Schema& schema, json::Value base,
                  const Growth& growth) {
  return Grower(arena, growth).At(schema, base, "", 0);
}

}  // namespace portcullis::cost_law
