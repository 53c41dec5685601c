// SPDX-License-Identifier: Apache-2.0

#include "engine/codec/protobuf_fields.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/strings.h"
#include "engine/codec/embedded_fields.h"
#include "engine/codec/protobuf_wire.h"
#include "json/value.h"

namespace portcullis::engine::protobuf {
namespace {

Shape ShapeOf(std::string_view type) {
  constexpr std::pair<std::string_view, Shape> kShapes[] = {
      {"Quantity", Shape::kQuantity},
      {"Time", Shape::kTime},
      {"MicroTime", Shape::kMicroTime},
      {"Duration", Shape::kDuration},
      {"RawExtension", Shape::kRaw},
      {"FieldsV1", Shape::kRaw},
      {"JSON", Shape::kRaw},
      {"IntOrString", Shape::kIntOrString},
      {"ExtraValue", Shape::kList},
      {"Verbs", Shape::kList},
      {"JSONSchemaPropsOrBool", Shape::kSchemaOrBool},
      {"JSONSchemaPropsOrArray", Shape::kSchemaOrArray},
      {"JSONSchemaPropsOrStringArray", Shape::kSchemaOrStrings},
  };
  for (const auto& [name, shape] : kShapes) {
    if (type == name) return shape;
  }
  return Shape::kObject;
}

std::uint32_t WireTypeOf(std::string_view type) {
  if (type == "d") return kFixed64;
  return type == "i" || type == "t" ? kVarint : kBytes;
}

FieldLine ParseField(std::string_view text) {
  FieldLine field;
  const std::size_t equals = text.find('=');
  field.name = text.substr(0, equals);
  field.hash = json::HashKey(field.name);
  std::string_view rest = text.substr(equals + 1);
  const std::size_t digits = rest.find_first_not_of("0123456789");
  field.number = static_cast<std::uint32_t>(base::ParseInt(rest.substr(0, digits)).value_or(0));
  rest.remove_prefix(digits);
  constexpr std::pair<char, Mode> kModes[] = {
      {'?', Mode::kOptional}, {'*', Mode::kRepeated}, {'%', Mode::kMap}, {'^', Mode::kInline}};
  for (const auto& [sign, mode] : kModes) {
    if (rest.front() == sign) field.mode = mode;
  }
  if (field.mode != Mode::kSingle) rest.remove_prefix(1);
  field.type = rest;
  field.wire_type = WireTypeOf(rest);
  return field;
}

// "rbac.authorization.k8s.io/v1" has its types in "api.rbac.v1".
std::string PackageOf(const api::GroupVersionKind& kind) {
  if (kind.group == "meta.k8s.io") return kind.version == "v1" ? "meta" : "meta." + kind.version;
  std::string_view group = kind.group;
  group = group.substr(0, group.find('.'));
  if (group.empty()) group = "core";
  return base::StrCat("api.", group, ".", kind.version);
}

}  // namespace

const FieldLine* Message::Find(std::uint32_t number) const {
  const auto found = std::lower_bound(
      fields_.begin(), fields_.end(), number,
      [](const FieldLine& field, std::uint32_t wanted) { return field.number < wanted; });
  return found != fields_.end() && found->number == number ? &*found : nullptr;
}

std::size_t Message::PositionOf(std::string_view name, std::uint32_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t slot = hash & mask; slots_[slot] != 0; slot = (slot + 1) & mask) {
    const std::size_t position = slots_[slot] - 1U;
    const FieldLine& field = fields_[position];
    if (field.hash == hash && field.name == name) return position;
  }
  return kNone;
}

void Message::Complete() {
  static_assert(std::numeric_limits<std::uint8_t>::max() == 255);  // messages have fewer fields
  std::sort(fields_.begin(), fields_.end(),
            [](const FieldLine& a, const FieldLine& b) { return a.number < b.number; });
  std::size_t size = 2;
  while (size < 2 * fields_.size()) size *= 2;
  slots_.assign(size, 0);
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    if (fields_[i].mode == Mode::kInline) continue;  // its name is no member's
    std::size_t slot = fields_[i].hash & (size - 1);
    while (slots_[slot] != 0) slot = (slot + 1) & (size - 1);
    slots_[slot] = static_cast<std::uint8_t>(i + 1);
  }
}

Fields::Fields(std::string_view text) {
  std::string package;
  for (std::string_view line : base::Split(text, '\n')) {
    if (line.empty() || line.front() == '#') continue;
    if (line.front() == '@') {
      package = std::string(line.substr(1));
    } else {
      AddMessage(package, line);
    }
  }
  for (auto& [name, message] : messages_) {
    const std::string_view own = std::string_view(name).substr(0, name.rfind('.'));
    for (FieldLine& field : message.fields_) Resolve(field, own);
    message.Complete();
  }
}

FieldLine LineNamed(std::string_view name) {
  FieldLine line;
  line.name = name;
  line.hash = json::HashKey(name);
  return line;
}

const Message* Fields::Find(std::string_view package, std::string_view message) const {
  const auto found = messages_.find(base::StrCat(package, ".", message));
  return found == messages_.end() ? nullptr : &found->second;
}

const Message* Fields::Find(const api::GroupVersionKind& kind) const {
  const Message* message = Find(PackageOf(kind), kind.kind);
  return message != nullptr ? message : Find("meta", kind.kind);
}

void Fields::Resolve(FieldLine& field, std::string_view package) const {
  if (const std::size_t dot = field.type.rfind('.'); dot != std::string_view::npos) {
    package = field.type.substr(0, dot);
    field.type.remove_prefix(dot + 1);
  }
  field.message = Find(package, field.type);
  field.shape = ShapeOf(field.type);
}

void Fields::AddMessage(const std::string& package, std::string_view line) {
  const auto words = base::Split(line, ' ');
  Message& message = messages_[base::StrCat(package, ".", words[0])];
  for (std::size_t i = 1; i < words.size(); ++i) {
    message.fields_.push_back(ParseField(words[i]));
  }
}

const Fields& KnownFields() {
  static const Fields kFields(EmbeddedProtobufFields());
  return kFields;
}

}  // namespace portcullis::engine::protobuf
