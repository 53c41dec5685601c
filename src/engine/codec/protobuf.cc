// SPDX-License-Identifier: Apache-2.0

#include "engine/codec/protobuf.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "api/canonical_quantity.h"
#include "api/names.h"
#include "api/quantity.h"
#include "api/schema/decode.h"
#include "api/schema/go_members.h"
#include "api/schema/raw_texts.h"
#include "base/clock.h"
#include "base/protobuf_reader.h"
#include "base/strings.h"
#include "engine/codec/message_builder.h"
#include "engine/codec/protobuf_fields.h"
#include "engine/codec/protobuf_wire.h"
#include "golang/time.h"
#include "json/reader.h"

namespace portcullis::engine {
namespace {

// Of messages in messages. Go has no limit; a message may be two levels of JSON (an entry of a map), of
// which there may be 10,000.
constexpr int kMaxDepth = 2500;

using api::schema::Field;
using api::schema::Kind;
using api::schema::Schema;
using protobuf::FieldLine;
using protobuf::IntOrString;
using protobuf::kBytes;
using protobuf::kFixed64;
using protobuf::kMagic;
using protobuf::kVarint;
using protobuf::Message;
using protobuf::MessageBuilder;
using protobuf::Mode;
using protobuf::Part;
using protobuf::ReadContent;
using protobuf::ReadTag;
using protobuf::Shape;
using protobuf::Wire;

std::string GoName(const Schema* schema, std::string_view name) {
  const Field* field = schema != nullptr ? schema->FindField(name) : nullptr;
  if (field != nullptr && !field->go_name().empty()) return std::string(field->go_name());
  if (name == "metadata") return "ObjectMeta";
  std::string text(name);
  if (!text.empty()) text[0] = base::ToUpper(text.substr(0, 1))[0];
  return text;
}

// The type of a field's values, or of the elements of its lists and maps.
const Schema* TypeOf(const Schema* schema) {
  while (schema != nullptr && schema->element != nullptr && schema->kind != Kind::kUnion) {
    schema = schema->element;
  }
  return schema;
}

class Reader {
 public:
  // With `met`, objects are as api::schema::Decode() would make them by their schema.
  Reader(json::Arena& arena, api::schema::Decoded* met) : arena_(arena), met_(met) {}

  // The object of that kind; texts in it are views of the arena's copy of the bytes. A kind without
  // a message has no fields that are known.
  base::Result<json::Value> Object(const Message* message, const api::GroupVersionKind& kind,
                                   std::string_view bytes, const Schema* schema) {
    const Type type{message, kind.kind, schema};
    MessageBuilder object(arena_, memory_, Shape::kObject, FormOf(schema));
    TRY(Into(object, type, arena_.Copy(bytes), 0));
    object.NextIsNew(false);
    static const FieldLine kKind = protobuf::LineNamed("kind");
    static const FieldLine kVersion = protobuf::LineNamed("apiVersion");
    object.Set(kKind, FieldOf(schema, kKind), json::String(arena_, kind.kind));
    object.Set(kVersion, FieldOf(schema, kVersion),
               json::String(arena_, kind.group_version().ToString()));
    return object.Build();
  }

 private:
  // A message's type; its schema may be null, and its message if the table does not have it.
  struct Type {
    const Message* message = nullptr;
    std::string_view name;
    const Schema* schema = nullptr;
  };
  // What the schema says of a field, if it knows it.
  struct Target {
    const Field* field = nullptr;    // null as well of what is not in a struct
    const Schema* schema = nullptr;  // of its values, or of the elements of its lists and maps
  };

  const Schema* FormOf(const Schema* schema) const {
    return met_ != nullptr && schema != nullptr && schema->kind == Kind::kStruct ? schema : nullptr;
  }
  static const Field* FieldOf(const Schema* schema, const FieldLine& line) {
    return schema != nullptr ? schema->FindField(line.name, line.hash) : nullptr;
  }
  Target TargetOf(const Type& type, const FieldLine& line) const {
    if (type.schema == nullptr) return {};
    if (type.schema->kind == Kind::kUnion) {
      return {nullptr, !line.is_scalar() ? TypeOf(type.schema->element) : nullptr};
    }
    // As it comes, only an integer depends on its type.
    const bool is_plain = met_ == nullptr && line.is_scalar() && line.type != "i";
    if (is_plain) return {};
    const Field* const field = FieldOf(type.schema, line);
    return {field, field != nullptr ? TypeOf(field->schema) : nullptr};
  }

  static std::uint32_t WireTypeOf(const FieldLine& field) {
    return field.mode == Mode::kMap ? kBytes : field.wire_type;
  }

  base::Status Into(MessageBuilder& object, const Type& type, std::string_view bytes, int depth) {
    if (depth > kMaxDepth) return base::BadRequest("proto: exceeded max depth");
    if (type.message == nullptr) return base::OkStatus();  // a message without fields we know
    const bool is_first = object.empty();                  // of what is read into it
    std::uint32_t last = 0;
    std::size_t place = 0;
    Wire wire(bytes);
    while (!wire.done()) {
      Part part;
      if (!wire.TakeShortTag(part.number, part.wire_type)) TRY(ReadTag(wire, type.name, part));
      const FieldLine* const found = Next(*type.message, part.number, place);
      if (found == nullptr) {
        TRY(wire.Skip(part.wire_type));
        continue;
      }
      object.NextIsNew(is_first && part.number > last);
      last = std::max(last, part.number);
      if (met_ != nullptr && object.next_is_new() && SaysNothing(type, *found, wire, part)) {
        continue;
      }
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

  // The field of that number, or null. Encoders write fields in the order of their numbers: it is sought from
  // `place` on, where the one before was.
  static const FieldLine* Next(const Message& message, std::uint32_t number, std::size_t& place) {
    const std::vector<FieldLine>& fields = message.fields();
    while (place < fields.size() && fields[place].number < number) ++place;
    const bool is_there = place < fields.size() && fields[place].number == number;
    return is_there ? &fields[place] : message.Find(number);
  }

  // Skips a zero value of a field that is no pointer: Go's encoder writes it, but it says no more than
  // an absent one.
  bool SaysNothing(const Type& type, const FieldLine& line, Wire& wire, const Part& part) const {
    if (line.mode != Mode::kSingle || part.wire_type == kFixed64) return false;
    if (part.wire_type != line.wire_type || !wire.IsAtZero()) return false;
    if (!line.is_scalar()) {
      const Field* const field = FieldOf(type.schema, line);
      if (field == nullptr || field->pointer || field->schema->kind == Kind::kUnion) return false;
    }
    wire.TakeZero();
    return true;
  }

  static base::Status ReadField(Wire& wire, const Type& type, const FieldLine& field, Part& part) {
    const std::uint32_t expected = WireTypeOf(field);
    if (part.wire_type == expected) [[likely]] {
      if (expected == kBytes) return wire.Bytes(part.bytes);
      return expected == kVarint ? wire.Varint(part.scalar) : wire.Fixed(8, part.scalar);
    }
    // The name in Go is looked for where an error quotes it.
    return ReadContent(wire, expected, GoName(type.schema, field.name), part);
  }

  // The element behind the tag that was read, and those that follow it at once.
  base::Status AddList(MessageBuilder& object, const Type& type, const FieldLine& line, Wire& wire,
                       Part& part, int depth) {
    const bool may_be_packed = WireTypeOf(line) == kVarint;
    const Target target = TargetOf(type, line);
    json::ArrayBuilder elements(arena_);
    do {
      if (may_be_packed && part.wire_type == kBytes) {
        TRY(wire.Bytes(part.bytes));
        TRY(AddPacked(elements, line, target.schema, part.bytes));
      } else {
        TRY(ReadField(wire, type, line, part));
        elements.Add(TRY(ElementOf(line, target.schema, part, depth)));
      }
    } while (wire.TakeTag(part.number, part.wire_type));
    const bool stays_empty = elements.size() == 0 && object.Get(line).empty();
    if (stays_empty && target.field != nullptr) MeetEmptyList();
    object.AddElements(line, target.field, elements);
    return base::OkStatus();
  }

  base::Status AddMap(MessageBuilder& object, const Type& type, const FieldLine& line, Wire& wire,
                      Part& part, int depth) {
    const Target target = TargetOf(type, line);
    json::ObjectBuilder entries(arena_);
    do {
      TRY(ReadField(wire, type, line, part));
      TRY(AddEntry(entries, line, target.schema, part.bytes, depth));
    } while (wire.TakeTag(part.number, part.wire_type));
    object.AddEntries(line, target.field, entries);
    return base::OkStatus();
  }

  base::Status AddField(MessageBuilder& object, const Type& type, const FieldLine& line,
                        const Part& part, int depth) {
    if (line.mode == Mode::kInline) {
      return Into(object, {line.message, line.type, type.schema}, part.bytes, depth + 1);
    }
    const Target target = TargetOf(type, line);
    if (!line.is_scalar()) return MergeMessage(object, line, target, part.bytes, depth);
    const json::Value value = TRY(ValueOf(line, target.schema, part, depth));
    if (line.mode == Mode::kOptional || !IsZero(value) || object.Has(line)) {
      object.Set(line, target.field, value);
    }
    return base::OkStatus();
  }

  // Go writes fields that are no pointers even if they are empty: they say nothing.
  static bool IsZero(json::Value value) {
    return value.is_string() ? value.AsString().empty()
                             : !value.AsBool() && value.AsInt() == 0 && value.AsDouble() == 0;
  }

  // A message that comes once more is read into what the parts before it have made.
  base::Status MergeMessage(MessageBuilder& object, const FieldLine& line, const Target& target,
                            std::string_view bytes, int depth) {
    const bool comes_again = object.Has(line);
    if (line.shape == Shape::kIntOrString) return MergeIntOrString(object, line, target, bytes);
    if (IsSpecial(line.shape)) {
      const json::Value known = TRY(Special(line, bytes));
      // Times begin anew with each part; of the others, a part without the only field changes
      // nothing.
      const bool is_time = line.shape == Shape::kTime || line.shape == Shape::kMicroTime;
      if (!is_time && known.is_null() && comes_again) return base::OkStatus();
      object.Set(line, target.field, TRY(InGoForm(target.schema, known)));
      return base::OkStatus();
    }
    const Type type{line.message, line.type, target.schema};
    if (comes_again) {
      return Into(object.Child(line, FormOf(target.schema)), type, bytes, depth + 1);
    }
    MessageBuilder message(arena_, memory_, line.shape, FormOf(target.schema));
    TRY(Into(message, type, bytes, depth + 1));
    object.Set(line, target.field, Built(message, line, target.schema));
    return base::OkStatus();
  }

  base::Status MergeIntOrString(MessageBuilder& object, const FieldLine& line, const Target& target,
                                std::string_view bytes) {
    const auto json_of = [](const IntOrString& value) {
      return value.is_string ? json::Value::StringView(value.text) : json::Value::Int(value.number);
    };
    if (!object.Has(line)) {
      IntOrString value;
      TRY(Into(value, bytes));
      object.KeepPart(line, bytes);
      object.Set(line, target.field, json_of(value));
      return base::OkStatus();
    }
    bool is_new = false;
    IntOrString& merged = object.Parts(line, is_new);
    if (is_new) {
      const std::string_view first = object.FirstPart(line);
      const json::Value before = object.Get(line);
      if (!first.empty()) {
        TRY(Into(merged, first));
      } else {
        merged = {before.is_string(), before.AsInt(), before.AsString()};
      }
    }
    TRY(Into(merged, bytes));
    object.Set(line, target.field, json_of(merged));
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
  base::Status AddPacked(json::ArrayBuilder& elements, const FieldLine& field, const Schema* schema,
                         std::string_view bytes) {
    Wire wire(bytes);
    while (!wire.done()) {
      Part part;
      TRY(wire.Varint(part.scalar));
      elements.Add(Scalar(field.type.front(), part, schema));
    }
    return base::OkStatus();
  }

  base::Status AddEntry(json::ObjectBuilder& entries, const FieldLine& field, const Schema* schema,
                        std::string_view bytes, int depth) {
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
        value_part.wire_type = field.wire_type;
        TRY(ReadContent(wire, value_part.wire_type, field.name, value_part));
      } else {
        TRY(wire.Skip(static_cast<std::uint32_t>(tag & 7U)));
      }
    }
    entries.Set(key, TRY(ElementOf(field, schema, value_part, depth)));
    return base::OkStatus();
  }

  base::Result<json::Value> ValueOf(const FieldLine& line, const Schema* schema, const Part& part,
                                    int depth) {
    if (line.is_scalar()) {
      const json::Value scalar = Scalar(line.type.front(), part, schema);
      return scalar.is_double() ? InGoForm(schema, scalar) : scalar;
    }
    if (line.shape == Shape::kIntOrString) {
      IntOrString value;
      TRY(Into(value, part.bytes));
      return value.is_string ? json::Value::StringView(value.text) : json::Value::Int(value.number);
    }
    if (IsSpecial(line.shape)) return InGoForm(schema, TRY(Special(line, part.bytes)));
    MessageBuilder message(arena_, memory_, line.shape, FormOf(schema));
    TRY(Into(message, {line.message, line.type, schema}, part.bytes, depth + 1));
    return Built(message, line, schema);
  }

  // `schema` is null of what the object's schema does not know.
  json::Value Built(MessageBuilder& message, const FieldLine& line, const Schema* schema) {
    const json::Value value = message.Build();
    if (line.shape == Shape::kList && schema != nullptr && value.empty()) MeetEmptyList();
    return value;
  }
  void MeetEmptyList() {
    if (met_ != nullptr) met_->empty_lists = true;
  }

  // Of a list or a map; nulls are zero values there.
  base::Result<json::Value> ElementOf(const FieldLine& line, const Schema* schema, const Part& part,
                                      int depth) {
    const json::Value value = TRY(ValueOf(line, schema, part, depth));
    if (!value.is_null() || met_ == nullptr || schema == nullptr) return value;
    return api::schema::ZeroOf(arena_, *schema);
  }

  // The form of what is no message.
  base::Result<json::Value> InGoForm(const Schema* schema, json::Value value) {
    if (met_ == nullptr || schema == nullptr) return value;
    if (schema->kind == Kind::kQuantity) {
      return value.is_null() ? json::Value::StringView("0") : value;
    }
    if (value.is_null()) return value;
    api::schema::Decoded met;
    api::schema::DecodeOptions options;
    options.met = &met;
    value = TRY(api::schema::Decode(arena_, *schema, value, options));
    met_->any = met_->any || met.any;
    met_->empty_lists = met_->empty_lists || met.empty_lists;
    return value;
  }

  json::Value Scalar(char type, const Part& part, const Schema* schema = nullptr) {
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

  // Types whose JSON is not an object with a member per field.
  static bool IsSpecial(Shape shape) { return shape >= Shape::kQuantity && shape <= Shape::kRaw; }
  base::Result<json::Value> Special(const FieldLine& field, std::string_view bytes) {
    switch (field.shape) {
      case Shape::kQuantity:
        return QuantityOf(bytes);
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
        return TimeOf(field.shape, seconds, static_cast<std::int32_t>(nanos));
      }
      case Shape::kDuration: {
        const std::int64_t nanos = TRY(Named(field.type, "Duration", bytes, 1, kVarint)).AsInt();
        return json::String(arena_, base::FormatDuration(std::chrono::nanoseconds(nanos)));
      }
      default:
        return json::Value();
    }
  }

  // Go takes whole seconds, of a MicroTime whole microseconds; its zero time is null.
  json::Value TimeOf(Shape shape, std::int64_t seconds, std::int32_t nanos) {
    constexpr std::int32_t kSecond = 1'000'000;
    constexpr golang::Moment kZero{.seconds = -62135596800};
    const std::int32_t micros = shape == Shape::kTime ? 0 : nanos / 1000;
    const std::int32_t carry = micros / kSecond - (micros % kSecond < 0 ? 1 : 0);
    // What is beyond any year that a text can have stays so.
    constexpr std::int64_t kBeyond = std::numeric_limits<std::int64_t>::max() / 2;
    seconds = std::clamp(seconds, -kBeyond, kBeyond);
    const golang::Moment moment{seconds + carry, (micros - carry * kSecond) * 1000};
    if (moment == kZero) return json::Value();
    return json::String(arena_, shape == Shape::kTime ? golang::FormatTime(moment)
                                                      : golang::FormatMicroTime(moment));
  }

  // Go reads each text that comes.
  base::Result<json::Value> QuantityOf(std::string_view bytes) {
    Wire wire(bytes);
    json::Value value;
    while (!wire.done()) {
      Part part;
      TRY(ReadTag(wire, "Quantity", part));
      if (part.number != 1) {
        TRY(wire.Skip(part.wire_type));
        continue;
      }
      TRY(ReadContent(wire, kBytes, "String_", part));
      value = json::Value::StringView(part.bytes);
      if (met_ == nullptr || api::IsCanonicalQuantity(part.bytes)) continue;
      const std::string text = TRY(api::Quantity::Parse(part.bytes)).ToString();
      if (text != part.bytes) value = json::String(arena_, text);
    }
    return value;
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
  api::schema::Decoded* const met_;
  protobuf::BuildMemory memory_;
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
                                             const api::schema::Schema* schema,
                                             api::schema::Decoded* met) {
  if (schema == nullptr) met = nullptr;
  return Reader(arena, met).Object(protobuf::KnownFields().Find(kind), kind, raw, schema);
}

}  // namespace portcullis::engine
