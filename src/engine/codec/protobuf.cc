// SPDX-License-Identifier: Apache-2.0

#include "engine/codec/protobuf.h"

#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/names.h"
#include "base/clock.h"
#include "base/strings.h"
#include "engine/codec/protobuf_fields.h"
#include "engine/codec/protobuf_wire.h"
#include "json/reader.h"

namespace portcullis::engine {
namespace {

constexpr int kMaxDepth = 100;

using protobuf::FieldLine;
using protobuf::kBytes;
using protobuf::kEndGroup;
using protobuf::kFixed32;
using protobuf::kFixed64;
using protobuf::kMagic;
using protobuf::kStartGroup;
using protobuf::kVarint;
using protobuf::Message;
using protobuf::Mode;
using protobuf::Shape;

base::Status UnexpectedEnd() { return base::BadRequest("unexpected EOF"); }
base::Status Overflow() { return base::BadRequest("proto: integer overflow"); }
base::Status NegativeLength() {
  return base::BadRequest("proto: negative length found during unmarshaling");
}

// Reads the wire form, with the errors of Go's generated decoders.
class Wire {
 public:
  explicit Wire(std::string_view bytes) : bytes_(bytes) {}
  bool done() const { return bytes_.empty(); }

  base::Status Varint(std::uint64_t& value) {
    value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (bytes_.empty()) return UnexpectedEnd();
      const auto byte = static_cast<unsigned char>(bytes_.front());
      bytes_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
      if ((byte & 0x80U) == 0) return base::OkStatus();
    }
    return Overflow();
  }

  base::Status Bytes(std::string_view& value) {
    std::uint64_t size = 0;
    TRY(Varint(size));
    if (static_cast<std::int64_t>(size) < 0) return NegativeLength();
    return Take(size, value);
  }

  base::Status Fixed(std::size_t size, std::uint64_t& value) {
    std::string_view bytes;
    TRY(Take(size, bytes));
    value = 0;
    std::memcpy(&value, bytes.data(), size);
    return base::OkStatus();
  }

  // What follows a tag of a field that is not known; groups with all they hold.
  base::Status Skip(std::uint32_t wire_type) {
    std::uint64_t scalar = 0;
    std::string_view bytes;
    for (std::size_t depth = 0;;) {
      switch (wire_type) {
        case kVarint:
          TRY(Varint(scalar));
          break;
        case kFixed64:
          TRY(Take(8, bytes));
          break;
        case kBytes:
          TRY(Bytes(bytes));
          break;
        case kStartGroup:
          ++depth;
          break;
        case kEndGroup:
          if (depth == 0) return base::BadRequest("proto: unexpected end of group");
          --depth;
          break;
        case kFixed32:
          TRY(Take(4, bytes));
          break;
        default:
          return base::BadRequest(
              base::StrCat("proto: illegal wireType ", std::to_string(wire_type)));
      }
      if (depth == 0) return base::OkStatus();
      if (done()) return UnexpectedEnd();
      std::uint64_t tag = 0;
      TRY(Varint(tag));
      wire_type = static_cast<std::uint32_t>(tag & 7U);
    }
  }

 private:
  base::Status Take(std::size_t size, std::string_view& value) {
    if (size > bytes_.size()) return UnexpectedEnd();
    value = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return base::OkStatus();
  }

  std::string_view bytes_;
};

// One field as it stands on the wire.
struct Part {
  std::uint32_t number = 0;
  std::uint32_t wire_type = 0;
  std::uint64_t scalar = 0;
  std::string_view bytes;
};

// The number and wire type of the next field of a message of that name.
base::Status ReadTag(Wire& wire, std::string_view message, Part& part) {
  std::uint64_t tag = 0;
  TRY(wire.Varint(tag));
  part.number = static_cast<std::uint32_t>(tag >> 3);
  part.wire_type = static_cast<std::uint32_t>(tag & 7U);
  if (part.wire_type == kEndGroup) {
    return base::BadRequest(base::StrCat("proto: ", message, ": wiretype end group for non-group"));
  }
  if (const auto number = static_cast<std::int32_t>(part.number); number <= 0) {
    return base::BadRequest(base::StrCat("proto: ", message, ": illegal tag ",
                                         std::to_string(number), " (wire type ",
                                         std::to_string(tag), ")"));
  }
  return base::OkStatus();
}

// The value behind a tag of a field that takes `expected`; `go_name` is what Go calls the field.
base::Status ReadContent(Wire& wire, std::uint32_t expected, std::string_view go_name, Part& part) {
  if (part.wire_type != expected) {
    return base::BadRequest(base::StrCat("proto: wrong wireType = ", std::to_string(part.wire_type),
                                         " for field ", go_name));
  }
  switch (expected) {
    case kVarint:
      return wire.Varint(part.scalar);
    case kFixed64:
      return wire.Fixed(8, part.scalar);
    default:
      return wire.Bytes(part.bytes);
  }
}

std::string GoName(const api::schema::Schema* schema, std::string_view name) {
  const api::schema::Field* field = schema != nullptr ? schema->FindField(name) : nullptr;
  if (field != nullptr && !field->go_name().empty()) return std::string(field->go_name());
  if (name == "metadata") return "ObjectMeta";
  std::string text(name);
  if (!text.empty()) text[0] = base::ToUpper(text.substr(0, 1))[0];
  return text;
}

const api::schema::Schema* SchemaOfField(const api::schema::Schema* schema, std::string_view name) {
  const api::schema::Field* field = schema != nullptr ? schema->FindField(name) : nullptr;
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

// The JSON of a message while its fields arrive. The elements of a list, the entries of a map and
// the parts of a message that comes in several parts are fields of their own; they are collected and
// made a value once.
class MessageBuilder {
 public:
  explicit MessageBuilder(json::Arena& arena, Shape shape = Shape::kObject)
      : arena_(arena), shape_(shape), object_(arena) {}

  void Set(std::string_view name, json::Value value) { object_.Set(name, value); }
  // The message in a field, to which every part is added.
  MessageBuilder& Child(std::string_view name, Shape shape) {
    auto& child = children_[name];
    if (child == nullptr) {
      child = std::make_unique<MessageBuilder>(arena_, shape);
      object_.Set(name, json::Value());  // keeps the place
    }
    return *child;
  }
  bool Has(std::string_view name) const { return object_.Find(name) != nullptr; }
  IntOrString& int_or_string(std::string_view name) { return ints_or_strings_[name]; }
  void AddElement(std::string_view name, json::Value value) {
    const auto [list, is_new] = lists_.try_emplace(name, arena_);
    if (is_new) object_.Set(name, json::Value());
    list->second.Add(value);
  }
  void AddEntry(std::string_view name, std::string_view key, json::Value value) {
    const auto [map, is_new] = maps_.try_emplace(name, arena_);
    if (is_new) object_.Set(name, json::Value());
    map->second.Set(key, value);
  }
  json::Value Build() {
    for (auto& [name, list] : lists_) object_.Set(name, list.Build());
    for (auto& [name, map] : maps_) object_.Set(name, map.Build());
    for (auto& [name, child] : children_) object_.Set(name, child->Build());
    return InJson(arena_, shape_, object_.Build());
  }

 private:
  json::Arena& arena_;
  const Shape shape_;
  json::ObjectBuilder object_;
  std::map<std::string_view, json::ArrayBuilder> lists_;
  std::map<std::string_view, json::ObjectBuilder> maps_;
  std::map<std::string_view, std::unique_ptr<MessageBuilder>> children_;
  std::map<std::string_view, IntOrString> ints_or_strings_;
};

class Reader {
 public:
  explicit Reader(json::Arena& arena) : arena_(arena) {}

  base::Result<json::Value> Object(const Message& message, std::string_view name,
                                   std::string_view bytes, const api::schema::Schema* schema) {
    MessageBuilder object(arena_);
    TRY(Into(object, {&message, name, schema}, bytes, 0));
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
    if (field.mode == Mode::kMap || field.type.size() != 1) return kBytes;
    const char type = field.type.front();
    if (type == 'd') return kFixed64;
    return type == 's' || type == 'b' ? kBytes : kVarint;
  }

  base::Status Into(MessageBuilder& object, const Type& type, std::string_view bytes, int depth) {
    if (depth > kMaxDepth) return base::BadRequest("proto: exceeded max depth");
    if (type.message == nullptr) return base::OkStatus();  // a message without fields we know
    Wire wire(bytes);
    while (!wire.done()) {
      Part part;
      TRY(ReadTag(wire, type.name, part));
      const FieldLine* const found = type.message->Find(part.number);
      if (found == nullptr) {
        TRY(wire.Skip(part.wire_type));
        continue;
      }
      const FieldLine& field = *found;
      const std::uint32_t expected = WireTypeOf(field);
      if (field.mode == Mode::kRepeated && expected == kVarint && part.wire_type == kBytes) {
        TRY(wire.Bytes(part.bytes));
        TRY(AddPacked(object, field, part.bytes));
        continue;
      }
      // The name in Go is looked for where an error quotes it.
      std::string go_name;
      if (part.wire_type != expected) go_name = GoName(type.schema, field.name);
      TRY(ReadContent(wire, expected, go_name, part));
      TRY(AddField(object, type, field, part, depth));
    }
    return base::OkStatus();
  }

  base::Status AddField(MessageBuilder& object, const Type& type, const FieldLine& field,
                        const Part& part, int depth) {
    if (field.mode == Mode::kInline) {
      return Into(object, {field.message, field.type, type.schema}, part.bytes, depth + 1);
    }
    // Of scalars, only that of an integer is looked at.
    const bool has_schema = field.mode == Mode::kMap || field.type.size() > 1 || field.type == "i";
    const api::schema::Schema* const schema =
        has_schema ? SchemaOfField(type.schema, field.name) : nullptr;
    if (field.mode == Mode::kMap) return AddEntry(object, field, schema, part.bytes, depth);
    const bool single = field.mode == Mode::kSingle || field.mode == Mode::kOptional;
    if (single && field.type.size() > 1) {
      return MergeMessage(object, field, schema, part.bytes, depth);
    }
    const json::Value value = TRY(ValueOf(field, schema, part, depth));
    if (field.mode == Mode::kRepeated) {
      object.AddElement(field.name, value);
    } else if (field.mode == Mode::kOptional || !IsZero(value) || object.Has(field.name)) {
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
    if (field.shape == Shape::kIntOrString) {
      IntOrString& merged = object.int_or_string(field.name);
      TRY(Into(merged, bytes));
      object.Set(field.name, merged.is_string ? json::String(arena_, merged.text)
                                              : json::Value::Int(merged.number));
      return base::OkStatus();
    }
    bool special = true;
    const json::Value known = TRY(Special(field, bytes, special));
    if (!special) {
      return Into(object.Child(field.name, field.shape), {field.message, field.type, schema}, bytes,
                  depth + 1);
    }
    // Times begin anew with each part; of the others, a part without the only field changes nothing.
    const bool is_time = field.shape == Shape::kTime || field.shape == Shape::kMicroTime;
    if (is_time || !known.is_null() || !object.Has(field.name)) object.Set(field.name, known);
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
  base::Status AddPacked(MessageBuilder& object, const FieldLine& field, std::string_view bytes) {
    Wire wire(bytes);
    while (!wire.done()) {
      Part part;
      TRY(wire.Varint(part.scalar));
      object.AddElement(field.name, Scalar(field.type.front(), part));
    }
    return base::OkStatus();
  }

  base::Status AddEntry(MessageBuilder& object, const FieldLine& field,
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
    object.AddEntry(field.name, arena_.Copy(key), TRY(ValueOf(field, schema, value_part, depth)));
    return base::OkStatus();
  }

  static std::uint32_t WireTypeOfValue(const FieldLine& field) {
    FieldLine single = field;
    single.mode = Mode::kSingle;
    return WireTypeOf(single);
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
        return json::String(arena_, part.bytes);
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
        if (raw.is_null() || raw.AsString().empty()) return json::Value();
        return json::Parse(arena_, raw.AsString());
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

base::Status ReadTypeMeta(std::string_view bytes, ProtobufEnvelope& envelope) {
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
    if (part.number == 1) TRY(ReadTypeMeta(part.bytes, envelope));
    if (part.number == 2) envelope.raw = part.bytes;
  }
  return envelope;
}

base::Result<json::Value> ReadProtobufObject(json::Arena& arena, const api::GroupVersionKind& kind,
                                             std::string_view raw,
                                             const api::schema::Schema* schema) {
  json::Value object = json::MakeObject(arena, {});
  if (const Message* message = protobuf::KnownFields().Find(kind)) {
    object = TRY(Reader(arena).Object(*message, kind.kind, raw, schema));
  }
  object = json::With(arena, object, "kind", json::String(arena, kind.kind));
  return json::With(arena, object, "apiVersion",
                    json::String(arena, kind.group_version().ToString()));
}

}  // namespace portcullis::engine
