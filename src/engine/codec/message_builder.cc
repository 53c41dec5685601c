// SPDX-License-Identifier: Apache-2.0

#include "engine/codec/message_builder.h"

#include <optional>
#include <utility>

#include "api/schema/go_members.h"

namespace portcullis::engine::protobuf {
namespace {

// Messages whose JSON is no object but one of their fields: lists with a name of their own, and the
// members of a schema that are a schema or something else.
json::Value InJson(json::Arena& arena, Shape shape, json::Value message) {
  const auto list = [&](std::string_view name) {
    const json::Value* items = message.Find(name);
    return items != nullptr ? *items : json::MakeArray(arena, {});
  };
  const json::Value schema = message["schema"];
  switch (shape) {
    case Shape::kList:
      return list("items");
    case Shape::kSchemaOrBool:
      return schema.is_null() ? json::Value::Bool(message["allows"].AsBool()) : schema;
    case Shape::kSchemaOrArray:
      return list("jsonSchemas").empty() ? schema : list("jsonSchemas");
    case Shape::kSchemaOrStrings:
      return list("property").empty() ? schema : list("property");
    default:
      return message;
  }
}

// The field that InJson() has taken, with nothing beside it.
std::string_view NameInMessage(Shape shape, json::Value value) {
  if (shape == Shape::kList) return "items";
  if (value.is_bool()) return "allows";
  if (value.is_object()) return "schema";
  return shape == Shape::kSchemaOrArray ? "jsonSchemas" : "property";
}

}  // namespace

MessageBuilder::MessageBuilder(json::Arena& arena, BuildMemory& memory, Shape shape,
                               const api::schema::Schema* form, json::Value before)
    : arena_(arena), memory_(memory), form_(form), shape_(shape) {
  if (before.is_null()) return;
  if (shape != Shape::kObject) {
    members_.push_back({NameInMessage(shape, before), before});
    return;
  }
  for (const json::Member& member : before.members()) {
    members_.push_back(member);
    if (form_ != nullptr) known_.push_back({form_->FindField(member.name(), member.hash)});
  }
}

std::size_t MessageBuilder::PositionOf(const FieldLine& line) const {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (members_[i].hash == line.hash && members_[i].name() == line.name) return i;
  }
  return kNone;
}

json::Value MessageBuilder::Get(const FieldLine& line) const {
  const std::size_t at = Find(line);
  return at != kNone ? members_[at].value : json::Value();
}

std::string_view MessageBuilder::FirstPart(const FieldLine& line) const {
  for (const Part& part : first_parts_) {
    if (part.line == &line) return part.bytes;
  }
  return {};
}

IntOrString& MessageBuilder::Parts(const FieldLine& line, bool& is_new) {
  const auto [parts, made] = again().ints_or_strings.try_emplace(line.name);
  is_new = made;
  return parts->second;
}

void MessageBuilder::Set(const FieldLine& line, const api::schema::Field* field,
                         json::Value value) {
  if (const std::size_t at = Find(line); at != kNone) {
    members_[at].value = value;
    return;
  }
  json::Member member;
  member.name_data = line.name.data();
  member.name_size = static_cast<std::uint32_t>(line.name.size());
  member.hash = line.hash;
  member.value = value;
  members_.push_back(member);
  if (form_ != nullptr) known_.push_back({field});
}

void MessageBuilder::AddElements(const FieldLine& line, const api::schema::Field* field,
                                 json::ArrayBuilder& elements) {
  const std::size_t at = Find(line);
  if (at == kNone) return Set(line, field, elements.Build());
  auto& list = again().lists.try_emplace(line.name, arena_, members_[at].value).first->second;
  for (const json::Value& element : elements.Build().elements()) list.Add(element);
}

void MessageBuilder::AddEntries(const FieldLine& line, const api::schema::Field* field,
                                json::ObjectBuilder& entries) {
  const std::size_t at = Find(line);
  if (at == kNone) {
    const json::Value map = entries.Build();
    return Set(line, field, form_ != nullptr ? SortedMap(arena_, map) : map);
  }
  auto& map = again().maps.try_emplace(line.name, arena_, members_[at].value).first->second;
  for (const json::Member& entry : entries.Build().members()) map.Set(entry.name(), entry.value);
}

MessageBuilder& MessageBuilder::Child(const FieldLine& line, const api::schema::Schema* form) {
  auto& child = again().children[line.name];
  if (child == nullptr) {
    child = std::make_unique<MessageBuilder>(arena_, memory_, line.shape, form, Get(line));
  }
  return *child;
}

json::Value MessageBuilder::Build() {
  if (again_ != nullptr) {
    for (json::Member& member : std::span(members_.data(), members_.size())) {
      const std::string_view name = member.name();
      if (const auto list = again_->lists.find(name); list != again_->lists.end()) {
        member.value = list->second.Build();
      }
      if (const auto map = again_->maps.find(name); map != again_->maps.end()) {
        const json::Value merged = map->second.Build();
        member.value = form_ != nullptr ? SortedMap(arena_, merged) : merged;
      }
      if (const auto child = again_->children.find(name); child != again_->children.end()) {
        member.value = child->second->Build();
      }
    }
  }
  if (form_ != nullptr) return InGoForm();
  return InJson(arena_, shape_, json::MakeObject(arena_, members_.span()));
}

json::Value MessageBuilder::InGoForm() {
  using api::schema::Field;
  const std::vector<Field>& fields = form_->fields;
  std::vector<std::uint16_t>& places = memory_.places;
  places.assign(fields.size(), 0);
  for (std::size_t i = 0; i < known_.size(); ++i) {
    if (known_[i].field == nullptr) continue;
    places[static_cast<std::size_t>(known_[i].field - fields.data())] =
        static_cast<std::uint16_t>(i + 1);
  }
  memory_.members.clear();
  const auto add = [this](const Field& field, const std::optional<json::Value>& value) {
    if (value) memory_.members.push_back(api::schema::WrittenMember(field, *value));
  };
  const json::Member* const members = members_.data();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const Field& field = fields[i];
    if (places[i] != 0) {
      const json::Value value = members[places[i] - 1U].value;
      if (!value.is_null() || (field.schema->kind == api::schema::Kind::kUnion && !field.pointer)) {
        add(field, api::schema::WrittenWhenSet(*form_, field, value, {}));
        continue;
      }
    }
    if (!api::schema::IsLeftOutWhenUnset(field)) {
      add(field, api::schema::WrittenWhenUnset(arena_, field));
    }
  }
  return json::MakeObject(arena_, memory_.members);
}

json::Value SortedMap(json::Arena& arena, json::Value map) {
  std::vector<json::Member> entries(map.members().begin(), map.members().end());
  return api::schema::SortEntries(entries) ? json::MakeObject(arena, entries) : map;
}

}  // namespace portcullis::engine::protobuf
