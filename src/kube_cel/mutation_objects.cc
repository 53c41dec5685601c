// SPDX-License-Identifier: Apache-2.0

#include "kube_cel/mutation_objects.h"

#include <vector>

#include "base/gotext.h"
#include "base/strings.h"

namespace portcullis::kube_cel {
namespace {

using cel::Value;

// Fields in the order in which they were written.
class Constructed final : public cel::Object {
 public:
  Constructed(const cel::Type& type, std::span<const cel::ObjectFactory::Field> fields)
      : type_(&type), fields_(fields) {}
  ~Constructed() = default;

  const cel::Type* type() const override { return type_; }
  bool is_struct() const override { return true; }
  std::span<const cel::ObjectFactory::Field> fields() const { return fields_; }

  Value Field(json::Arena&, std::string_view name) const override {
    for (const auto& field : fields_) {
      if (field.name == name) return field.value;
    }
    return Value::Null();
  }
  bool HasField(std::string_view name) const override {
    for (const auto& field : fields_) {
      if (field.name == name) return true;
    }
    return false;
  }

  Value Equals(json::Arena& arena, Value other) const override {
    if (!IsConstructed(other) &&
        !(other.is_object() && other.object()->type()->name == "JSONPatch"))
      return Value::Bool(false);
    const auto& that = *static_cast<const Constructed*>(other.object());
    if (that.type_->name != type_->name || that.fields_.size() != fields_.size()) {
      return Value::Bool(false);
    }
    for (const auto& field : fields_) {
      if (!that.HasField(field.name)) return Value::Bool(false);
      const Value equal = cel::Equal(arena, field.value, that.Field(arena, field.name));
      if (!equal.is_true()) return equal;
    }
    return Value::Bool(true);
  }

  json::Value Json(json::Arena& arena) const override {
    json::ObjectBuilder builder(arena);
    for (const auto& field : fields_) {
      const auto json = cel::ToJson(arena, field.value);
      builder.Set(arena.Copy(field.name), json.ok() ? *json : json::Value());
    }
    return builder.Build();
  }

 private:
  const cel::Type* type_;
  std::span<const cel::ObjectFactory::Field> fields_;
};

class Factory final : public cel::ObjectFactory {
 public:
  Value Make(cel::EvalContext& context, const cel::Type& type,
             std::span<const Field> fields) const override {
    json::Arena& arena = context.arena();
    auto* copy = static_cast<Field*>(
        arena.Allocate(sizeof(Field) * std::max<std::size_t>(fields.size(), 1), alignof(Field)));
    for (std::size_t i = 0; i < fields.size(); ++i) new (copy + i) Field(fields[i]);
    return Value::FromObject(
        cel::New<Constructed>(arena, type, std::span<const Field>(copy, fields.size())));
  }
};

void Collect(json::Arena& arena, Value value, const std::string& expected,
             std::vector<std::string>& problems) {
  if (value.is_list()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      Collect(arena, value.At(arena, i), expected, problems);
    }
  } else if (value.is_map() && value.json() == nullptr) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      Collect(arena, value.ValueAt(arena, i), expected, problems);
    }
  } else if (IsConstructed(value)) {
    const auto& object = *static_cast<const Constructed*>(value.object());
    if (object.type()->name != expected) {
      problems.push_back(base::StrCat("unexpected type name ", base::GoQuote(object.type()->name),
                                      ", expected ", base::GoQuote(expected),
                                      ", which matches field name path from root Object type"));
    }
    for (const auto& field : object.fields()) {
      Collect(arena, field.value, base::StrCat(expected, ".", field.name), problems);
    }
  }
}

}  // namespace

std::span<const cel::ObjectFactory::Field> FieldsOf(Value object) {
  return static_cast<const Constructed*>(object.object())->fields();
}

std::shared_ptr<const cel::ObjectFactory> MakeMutationObjects() {
  return std::make_shared<Factory>();
}

bool IsConstructed(Value value) {
  if (!value.is_object() || !value.object()->is_struct()) return false;
  const std::string_view name = value.object()->type()->name;
  return name == "Object" || name.starts_with("Object.");
}

base::Status CheckTypeNames(json::Arena& arena, Value object, std::string_view root) {
  std::vector<std::string> problems;
  Collect(arena, object, std::string(root), problems);
  if (problems.empty()) return base::OkStatus();
  return base::Invalid(base::StrCat("type mismatch: ", base::Join(problems, "\n")));
}

}  // namespace portcullis::kube_cel
