// SPDX-License-Identifier: Apache-2.0

#include "engine/codec/protobuf.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/names.h"
#include "api/schema/raw_texts.h"
#include "base/clock.h"
#include "base/inline_vector.h"
#include "base/protobuf_reader.h"
#include "base/strings.h"
#include "engine/codec/protobuf_fields.h"
#include "engine/codec/protobuf_wire.h"
#include "json/reader.h"

namespace portcullis::engine {
namespace {

constexpr int kMaxDepth = 100;

using protobuf::FieldLine;
using protobuf::kBytes;
using protobuf::kFixed64;
using protobuf::kMagic;
using protobuf::kVarint;
using protobuf::Message;
using protobuf::Mode;
using protobuf::Part;
using protobuf::ReadContent;
using protobuf::ReadTag;
using protobuf::Shape;
using protobuf::Wire;

std::string GoName(const api::schema::Schema* schema, std::string_view name) {
  const api::schema::Field* field = schema != nullptr ? schema->FindField(name) : nullptr;
  if (field != nullptr && !field->go_name().empty()) return std::string(field->go_name());
  if (name == "metadata") return "ObjectMeta";
  std::string text(name);
  if (!text.empty()) text[0] = base::ToUpper(text.substr(0, 1))[0];
  return text;
}

const api::schema::Schema* SchemaOfField(const api::schema::Schema* schema, const FieldLine& line) {
  const api::schema::Field* field =
      schema != nullptr ? schema->FindField(line.name, line.hash) : nullptr;
  const api::schema::Schema* type = field != nullptr ? field->schema : nullptr;
  while (type != nullptr && type->element != nullptr && type->kind != api::schema::Kind::kUnion) {
    type = type->element;
  }
  return type;
}

struct IntOrString {
  bool is_string = false;
  std::int64_t number = 0;
  std::string_view text;
};

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

// The JSON of a message while its fields arrive.
//
// Encoders write a field in one place: the elements of a list and the entries of a map one behind the
// other, and a message whole. What comes again after another field is added to what was there; it is
// collected and made a value once, so that bytes in any order cost the same.
class MessageBuilder {
 public:
  explicit MessageBuilder(json::Arena& arena, Shape shape = Shape::kObject)
      : arena_(arena), shape_(shape), object_(arena) {}

  bool empty() const { return object_.empty(); }
  // Until this is called again, what is looked for or set is known to be absent, or not. Encoders write
  // fields in the order of their numbers, so that hardly any has to be looked for.
  void NextIsNew(bool is_new) { next_is_new_ = is_new; }
  bool Has(std::string_view name) const { return Find(name) != nullptr; }
  void Set(std::string_view name, json::Value value) {
    if (next_is_new_) {
      object_.Add(name, value);
    } else {
      object_.Set(name, value);
    }
  }
  void AddElements(std::string_view name, json::ArrayBuilder& elements) {
    if (const json::Value* before = Find(name); before == nullptr) {
      object_.Add(name, elements.Build());
    } else {
      auto& list = again().lists.try_emplace(name, arena_, *before).first->second;
      for (const json::Value& element : elements.Build().elements()) list.Add(element);
    }
  }
  void AddEntries(std::string_view name, json::ObjectBuilder& entries) {
    if (const json::Value* before = Find(name); before == nullptr) {
      object_.Add(name, entries.Build());
    } else {
      auto& map = again().maps.try_emplace(name, arena_, *before).first->second;
      for (const json::Member& entry : entries.Build().members())
        map.Set(entry.name(), entry.value);
    }
  }
  // The message of a field that comes for the first time; the bytes outlive the builder.
  void AddMessage(const FieldLine& field, std::string_view bytes, json::Value value) {
    object_.Add(field.name, value);
    first_parts_.push_back({&field, bytes});
  }
  // What the first part of a message was read from.
  std::string_view FirstPart(const FieldLine& field) const {
    for (const FirstOf& part : first_parts_) {
      if (part.field == &field) return part.bytes;
    }
    return {};
  }
  // The message of a field that has come before, to which every part is added. `is_new`: its first
  // part is to be read again.
  MessageBuilder& Child(const FieldLine& field, bool& is_new) {
    const auto [child, made] = again().children.try_emplace(field.name);
    if (made) child->second = std::make_unique<MessageBuilder>(arena_, field.shape);
    is_new = made;
    return *child->second;
  }
  IntOrString& int_or_string(const FieldLine& field, bool& is_new) {
    const auto [value, made] = again().ints_or_strings.try_emplace(field.name);
    is_new = made;
    return value->second;
  }
  json::Value Build() {
    if (again_ != nullptr) {
      for (auto& [name, list] : again_->lists) object_.Set(name, list.Build());
      for (auto& [name, map] : again_->maps) object_.Set(name, map.Build());
      for (auto& [name, child] : again_->children) object_.Set(name, child->Build());
    }
    return InJson(arena_, shape_, object_.Build());
  }

 private:
  struct FirstOf {
    const FieldLine* field;
    std::string_view bytes;
  };
  // Of fields that came more than once.
  struct Again {
    std::map<std::string_view, json::ArrayBuilder> lists;
    std::map<std::string_view, json::ObjectBuilder> maps;
    std::map<std::string_view, std::unique_ptr<MessageBuilder>> children;
    std::map<std::string_view, IntOrString> ints_or_strings;
  };
  const json::Value* Find(std::string_view name) const {
    return next_is_new_ ? nullptr : object_.Find(name);
  }
  Again& again() {
    if (again_ == nullptr) again_ = std::make_unique<Again>();
    return *again_;
  }

  json::Arena& arena_;
  const Shape shape_;
  bool next_is_new_ = false;
  json::ObjectBuilder object_;
  base::InlineVector<FirstOf, 8> first_parts_;
  std::unique_ptr<Again> again_;
};

class Reader {
 public:
  explicit Reader(json::Arena& arena) : arena_(arena) {}

  // The object of that kind; texts in it are views of the arena's copy of the bytes. A kind without
  // a message has no fields that are known.
  base::Result<json::Value> Object(const Message* message, const api::GroupVersionKind& kind,
                                   std::string_view bytes, const api::schema::Schema* schema) {
    MessageBuilder object(arena_);
    TRY(Into(object, {message, kind.kind, schema}, arena_.Copy(bytes), 0));
    object.NextIsNew(false);
    object.Set("kind", json::String(arena_, kind.kind));
    object.Set("apiVersion", json::String(arena_, kind.group_version().ToString()));
    return object.Build();
  }

 private:
  // A message's type; its schema may be null, and its message if the table does not have it.
  struct Type {
    const Message* message = nullptr;
    std::string_view name;
    const api::schema::Schema* schema = nullptr;
  };

  static std::uint32_t WireTypeOf(const FieldLine& field) {
    return field.mode == Mode::kMap ? kBytes : WireTypeOfValue(field);
  }
  static std::uint32_t WireTypeOfValue(const FieldLine& field) {
    if (field.type.size() != 1) return kBytes;
    const char type = field.type.front();
    if (type == 'd') return kFixed64;
    return type == 's' || type == 'b' ? kBytes : kVarint;
  }

  base::Status Into(MessageBuilder& object, const Type& type, std::string_view bytes, int depth) {
    if (depth > kMaxDepth) return base::BadRequest("proto: exceeded max depth");
    if (type.message == nullptr) return base::OkStatus();  // a message without fields we know
    const bool is_first = object.empty();                  // of what is read into it
    std::uint32_t last = 0;
    Wire wire(bytes);
    while (!wire.done()) {
      Part part;
      TRY(ReadTag(wire, type.name, part));
      const FieldLine* const found = type.message->Find(part.number);
      if (found == nullptr) {
        TRY(wire.Skip(part.wire_type));
        continue;
      }
      object.NextIsNew(is_first && part.number > last);
      last = std::max(last, part.number);
      if (found->mode == Mode::kRepeated) {
        TRY(AddList(object, type, *found, wire, part, depth));
      } else if (found->mode == Mode::kMap) {
        TRY(AddMap(object, type, *found, wire, part, depth));
      } else {
        TRY(ReadField(wire, type, *found, part));
        TRY(AddField(object, type, *found, part, depth));
      }
    }
    return base::OkStatus();
  }

  static base::Status ReadField(Wire& wire, const Type& type, const FieldLine& field, Part& part) {
    const std::uint32_t expected = WireTypeOf(field);
    // The name in Go is looked for where an error quotes it.
    std::string go_name;
    if (part.wire_type != expected) go_name = GoName(type.schema, field.name);
    return ReadContent(wire, expected, go_name, part);
  }

  // The element behind the tag that was read, and those that follow it at once.
  base::Status AddList(MessageBuilder& object, const Type& type, const FieldLine& field, Wire& wire,
                       Part& part, int depth) {
    const bool may_be_packed = WireTypeOf(field) == kVarint;
    const api::schema::Schema* const schema = SchemaOfValue(type, field);
    json::ArrayBuilder elements(arena_);
    do {
      if (may_be_packed && part.wire_type == kBytes) {
        TRY(wire.Bytes(part.bytes));
        TRY(AddPacked(elements, field, part.bytes));
      } else {
        TRY(ReadField(wire, type, field, part));
        elements.Add(TRY(ValueOf(field, schema, part, depth)));
      }
    } while (wire.TakeTag(part.number, part.wire_type));
    object.AddElements(field.name, elements);
    return base::OkStatus();
  }

  // The entry behind the tag that was read, and those that follow it at once.
  base::Status AddMap(MessageBuilder& object, const Type& type, const FieldLine& field, Wire& wire,
                      Part& part, int depth) {
    const api::schema::Schema* const schema = SchemaOfValue(type, field);
    json::ObjectBuilder entries(arena_);
    do {
      TRY(ReadField(wire, type, field, part));
      TRY(AddEntry(entries, field, schema, part.bytes, depth));
    } while (wire.TakeTag(part.number, part.wire_type));
    object.AddEntries(field.name, entries);
    return base::OkStatus();
  }

  // Of scalars, only that of an integer is looked at.
  static const api::schema::Schema* SchemaOfValue(const Type& type, const FieldLine& field) {
    const bool has_schema = field.mode == Mode::kMap || field.type.size() > 1 || field.type == "i";
    return has_schema ? SchemaOfField(type.schema, field) : nullptr;
  }

  base::Status AddField(MessageBuilder& object, const Type& type, const FieldLine& field,
                        const Part& part, int depth) {
    if (field.mode == Mode::kInline) {
      return Into(object, {field.message, field.type, type.schema}, part.bytes, depth + 1);
    }
    const api::schema::Schema* const schema = SchemaOfValue(type, field);
    if (field.type.size() > 1) return MergeMessage(object, field, schema, part.bytes, depth);
    const json::Value value = TRY(ValueOf(field, schema, part, depth));
    if (field.mode == Mode::kOptional || !IsZero(value) || object.Has(field.name)) {
      object.Set(field.name, value);
    }
    return base::OkStatus();
  }

  // Go writes fields that are no pointers even if they are empty: they say nothing.
  static bool IsZero(json::Value value) {
    return value.is_string() ? value.AsString().empty()
                             : !value.AsBool() && value.AsInt() == 0 && value.AsDouble() == 0;
  }

  // A message that comes once more is read into what the parts before it have made.
  base::Status MergeMessage(MessageBuilder& object, const FieldLine& field,
                            const api::schema::Schema* schema, std::string_view bytes, int depth) {
    const bool comes_again = object.Has(field.name);
    if (field.shape == Shape::kIntOrString) return MergeIntOrString(object, field, bytes);
    bool special = true;
    const json::Value known = TRY(Special(field, bytes, special));
    if (special) {
      // Times begin anew with each part; of the others, a part without the only field changes
      // nothing.
      const bool is_time = field.shape == Shape::kTime || field.shape == Shape::kMicroTime;
      if (is_time || !known.is_null() || !comes_again) object.Set(field.name, known);
      return base::OkStatus();
    }
    const Type type{field.message, field.type, schema};
    if (!comes_again) {
      MessageBuilder message(arena_, field.shape);
      TRY(Into(message, type, bytes, depth + 1));
      object.AddMessage(field, bytes, message.Build());
      return base::OkStatus();
    }
    bool is_new = false;
    MessageBuilder& merged = object.Child(field, is_new);
    if (is_new) TRY(Into(merged, type, object.FirstPart(field), depth + 1));
    return Into(merged, type, bytes, depth + 1);
  }

  base::Status MergeIntOrString(MessageBuilder& object, const FieldLine& field,
                                std::string_view bytes) {
    const auto json_of = [](const IntOrString& value) {
      return value.is_string ? json::Value::StringView(value.text) : json::Value::Int(value.number);
    };
    if (!object.Has(field.name)) {
      IntOrString value;
      TRY(Into(value, bytes));
      object.AddMessage(field, bytes, json_of(value));
      return base::OkStatus();
    }
    bool is_new = false;
    IntOrString& merged = object.int_or_string(field, is_new);
    if (is_new) TRY(Into(merged, object.FirstPart(field)));
    TRY(Into(merged, bytes));
    object.Set(field.name, json_of(merged));
    return base::OkStatus();
  }

  base::Status Into(IntOrString& merged, std::string_view bytes) {
    constexpr std::string_view kNames[] = {"Type", "IntVal", "StrVal"};
    Wire wire(bytes);
    while (!wire.done()) {
      Part part;
      TRY(ReadTag(wire, "IntOrString", part));
      if (part.number > std::size(kNames)) {
        TRY(wire.Skip(part.wire_type));
        continue;
      }
      TRY(ReadContent(wire, part.number == 3 ? kBytes : kVarint, kNames[part.number - 1], part));
      if (part.number == 1) merged.is_string = part.scalar == 1;
      if (part.number == 2) merged.number = static_cast<std::int32_t>(part.scalar);
      if (part.number == 3) merged.text = part.bytes;
    }
    return base::OkStatus();
  }

  // Numbers of a list written one behind the other.
  base::Status AddPacked(json::ArrayBuilder& elements, const FieldLine& field,
                         std::string_view bytes) {
    Wire wire(bytes);
    while (!wire.done()) {
      Part part;
      TRY(wire.Varint(part.scalar));
      elements.Add(Scalar(field.type.front(), part));
    }
    return base::OkStatus();
  }

  base::Status AddEntry(json::ObjectBuilder& entries, const FieldLine& field,
                        const api::schema::Schema* schema, std::string_view bytes, int depth) {
    std::string_view key;
    Part value_part;
    Wire wire(bytes);
    while (!wire.done()) {
      Part part;
      std::uint64_t tag = 0;
      TRY(wire.Varint(tag));
      part.number = static_cast<std::uint32_t>(tag >> 3);
      if (part.number == 1) {
        TRY(wire.Bytes(key));
      } else if (part.number == 2) {
        value_part = {};
        value_part.wire_type = WireTypeOfValue(field);
        TRY(ReadContent(wire, value_part.wire_type, field.name, value_part));
      } else {
        TRY(wire.Skip(static_cast<std::uint32_t>(tag & 7U)));
      }
    }
    entries.Set(key, TRY(ValueOf(field, schema, value_part, depth)));
    return base::OkStatus();
  }

  base::Result<json::Value> ValueOf(const FieldLine& field, const api::schema::Schema* schema,
                                    const Part& part, int depth) {
    if (field.type.size() == 1) return Scalar(field.type.front(), part, schema);
    bool special = true;
    const json::Value known = TRY(Special(field, part.bytes, special));
    if (special) return known;
    MessageBuilder message(arena_, field.shape);
    TRY(Into(message, {field.message, field.type, schema}, part.bytes, depth + 1));
    return message.Build();
  }

  json::Value Scalar(char type, const Part& part, const api::schema::Schema* schema = nullptr) {
    switch (type) {
      case 's':
        return json::Value::StringView(part.bytes);
      case 'b':
        return json::String(arena_, base::Base64Encode(part.bytes));
      case 't':
        return json::Value::Bool(part.scalar != 0);
      case 'd': {
        double number = 0;
        std::memcpy(&number, &part.scalar, sizeof(number));
        return json::Value::Double(number);
      }
      default:  // Go takes the lower half for an int32
        if (schema != nullptr && schema->format == "int32") {
          return json::Value::Int(static_cast<std::int32_t>(part.scalar));
        }
        return json::Value::Int(static_cast<std::int64_t>(part.scalar));
    }
  }

  // Types whose JSON is no object. `special` is false for all others.
  base::Result<json::Value> Special(const FieldLine& field, std::string_view bytes, bool& special) {
    switch (field.shape) {
      case Shape::kQuantity:
        return Named(field.type, "String_", bytes, 1, kBytes);
      case Shape::kRaw: {
        const json::Value raw = TRY(Named(field.type, "Raw", bytes, 1, kBytes));
        if (field.type == "FieldsV1") {
          // What is no JSON becomes a text, which is no set of fields either: such managedFields are passed
          // over.
          auto fields = json::Parse(arena_, raw.AsString());
          return fields.ok() ? fields : json::Value::StringView("");
        }
        if (raw.is_null() || raw.AsString().empty()) return json::Value();
        const json::Value parsed = TRY(json::Parse(arena_, raw.AsString()));
        if (field.type != "RawExtension" || !parsed.source().empty()) return parsed;
        return api::schema::ReadRawExtension(arena_, raw.AsString());
      }
      case Shape::kTime:
      case Shape::kMicroTime: {
        const std::int64_t seconds = TRY(Named("Timestamp", "Seconds", bytes, 1, kVarint)).AsInt();
        const std::int64_t nanos = TRY(Named("Timestamp", "Nanos", bytes, 2, kVarint)).AsInt();
        if (bytes.empty()) return json::Value();
        const base::WallTime time(std::chrono::duration_cast<base::WallTime::duration>(
            std::chrono::seconds(seconds) + std::chrono::nanoseconds(nanos)));
        return json::String(arena_, field.shape == Shape::kTime ? base::FormatTime(time)
                                                                : base::FormatMicroTime(time));
      }
      case Shape::kDuration: {
        const std::int64_t nanos = TRY(Named(field.type, "Duration", bytes, 1, kVarint)).AsInt();
        return json::String(arena_, base::FormatDuration(std::chrono::nanoseconds(nanos)));
      }
      default:
        special = false;
        return json::Value();
    }
  }

  // One field of a small message; null if it is not there.
  base::Result<json::Value> Named(std::string_view message, std::string_view go_name,
                                  std::string_view bytes, std::uint32_t number,
                                  std::uint32_t wire_type) {
    Wire wire(bytes);
    json::Value value;
    while (!wire.done()) {
      Part part;
      TRY(ReadTag(wire, message, part));
      if (part.number == number) {
        TRY(ReadContent(wire, wire_type, go_name, part));
        value = Scalar(wire_type == kBytes ? 's' : 'i', part);
      } else {
        TRY(wire.Skip(part.wire_type));
      }
    }
    return value;
  }

  json::Arena& arena_;
};

base::Status ReadEnvelopeType(std::string_view bytes, ProtobufEnvelope& envelope) {
  Wire wire(bytes);
  while (!wire.done()) {
    Part part;
    TRY(ReadTag(wire, "TypeMeta", part));
    if (part.number > 2) {
      TRY(wire.Skip(part.wire_type));
      continue;
    }
    TRY(ReadContent(wire, kBytes, part.number == 1 ? "APIVersion" : "Kind", part));
    (part.number == 1 ? envelope.api_version : envelope.kind) = part.bytes;
  }
  return base::OkStatus();
}

}  // namespace

base::Result<ProtobufEnvelope> ReadProtobufEnvelope(std::string_view body) {
  if (body.empty()) return base::BadRequest("empty data");
  if (body.substr(0, kMagic.size()) != kMagic) {
    return base::BadRequest(
        "provided data does not appear to be a protobuf message, expected "
        "prefix [107 56 115 0]");
  }
  if (body.size() == kMagic.size()) return base::BadRequest("empty body");
  ProtobufEnvelope envelope;
  Wire wire(body.substr(kMagic.size()));
  while (!wire.done()) {
    Part part;
    TRY(ReadTag(wire, "Unknown", part));
    constexpr std::string_view kNames[] = {"TypeMeta", "Raw", "ContentEncoding", "ContentType"};
    if (part.number > std::size(kNames)) {
      TRY(wire.Skip(part.wire_type));
      continue;
    }
    TRY(ReadContent(wire, kBytes, kNames[part.number - 1], part));
    if (part.number == 1) TRY(ReadEnvelopeType(part.bytes, envelope));
    if (part.number == 2) envelope.raw = part.bytes;
  }
  return envelope;
}

base::Result<json::Value> ReadProtobufObject(json::Arena& arena, const api::GroupVersionKind& kind,
                                             std::string_view raw,
                                             const api::schema::Schema* schema) {
  return Reader(arena).Object(protobuf::KnownFields().Find(kind), kind, raw, schema);
}

}  // namespace portcullis::engine
