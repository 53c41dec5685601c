// Objects in protobuf. A message is written from its end to its start, as Go's generated encoders do:
// its length, which precedes it, is known by then.

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/strings.h"
#include "engine/codec/protobuf.h"
#include "engine/codec/protobuf_fields.h"
#include "engine/codec/protobuf_wire.h"
#include "golang/time.h"
#include "json/writer.h"

namespace portcullis::engine {
namespace {

using protobuf::FieldLine;
using protobuf::kBytes;
using protobuf::kFixed64;
using protobuf::kMagic;
using protobuf::kVarint;
using protobuf::Message;
using protobuf::Mode;
using protobuf::Shape;

// Bytes that grow at their start.
class ReverseBytes {
 public:
  std::size_t size() const { return size_; }
  std::string_view view() const { return {start(), size_}; }

  void Bytes(std::string_view bytes) {
    if (!bytes.empty()) std::memcpy(Grow(bytes.size()), bytes.data(), bytes.size());
  }
  void Varint(std::uint64_t value) {
    char digits[10];
    std::size_t count = 0;
    for (; value > 0x7f; value >>= 7) digits[count++] = static_cast<char>(value | 0x80U);
    digits[count++] = static_cast<char>(value);
    std::memcpy(Grow(count), digits, count);
  }
  void Fixed64(double value) { std::memcpy(Grow(sizeof(value)), &value, sizeof(value)); }
  void Tag(std::uint32_t number, std::uint32_t wire_type) { Varint(number << 3 | wire_type); }
  // The length and tag of a field whose bytes have been written since there were `end` bytes.
  void Close(std::uint32_t number, std::size_t end) {
    Varint(size_ - end);
    Tag(number, kBytes);
  }
  // Whole fields.
  void Text(std::uint32_t number, std::string_view text) {
    Bytes(text);
    Varint(text.size());
    Tag(number, kBytes);
  }
  void Integer(std::uint32_t number, std::int64_t value) {
    Varint(static_cast<std::uint64_t>(value));
    Tag(number, kVarint);
  }

 private:
  const char* start() const { return bytes_.data() + (bytes_.size() - size_); }
  char* Grow(std::size_t count) {
    if (size_ + count > bytes_.size()) {
      std::string larger(std::max(2 * bytes_.size(), size_ + count) + kFirst, '\0');
      std::memcpy(larger.data() + (larger.size() - size_), start(), size_);
      bytes_.swap(larger);
    }
    size_ += count;
    return bytes_.data() + (bytes_.size() - size_);
  }

  static constexpr std::size_t kFirst = 2048;
  std::string bytes_;
  std::size_t size_ = 0;
};

std::int64_t NanosOf(std::string_view duration) {
  const auto nanos = golang::ParseDuration(duration);
  return nanos.ok() ? *nanos : 0;
}

class Writer {
 public:
  explicit Writer(ReverseBytes& out) : out_(out) {}

  // The fields of a message, the last one first. `object` may be null: an empty Go struct.
  void Fields(const Message& message, json::Value object) {
    constexpr std::size_t kMost = 256;
    const json::Value* members[kMost];
    const std::vector<FieldLine>& fields = message.fields();
    std::fill_n(members, fields.size(), nullptr);
    for (const json::Member& member : object.members()) {
      const std::size_t position = message.PositionOf(member.name(), member.hash);
      if (position != Message::kNone && !member.value.is_null()) members[position] = &member.value;
    }
    for (std::size_t i = fields.size(); i-- > 0;) {
      if (fields[i].mode == Mode::kInline) {
        const std::size_t end = out_.size();
        if (fields[i].message != nullptr) Fields(*fields[i].message, object);
        out_.Close(fields[i].number, end);
      } else {
        Field(fields[i], members[i]);
      }
    }
  }

 private:
  // `value` is null if the object has no such member.
  void Field(const FieldLine& field, const json::Value* value) {
    switch (field.mode) {
      case Mode::kSingle:
        return One(field, field.number, value != nullptr ? *value : json::Value());
      case Mode::kMap:
        if (value != nullptr) Map(field, *value);
        return;
      case Mode::kRepeated:
        if (value != nullptr) List(field, field.number, *value);
        return;
      default:
        if (value != nullptr) One(field, field.number, *value);
    }
  }

  void List(const FieldLine& field, std::uint32_t number, json::Value list) {
    const auto elements = list.elements();
    for (std::size_t i = elements.size(); i-- > 0;) One(field, number, elements[i]);
  }

  void Map(const FieldLine& field, json::Value map) {
    std::vector<const json::Member*> entries;
    entries.reserve(map.size());
    for (const json::Member& member : map.members()) entries.push_back(&member);
    const auto less = [](const json::Member* a, const json::Member* b) {
      return a->name() < b->name();
    };
    if (!std::is_sorted(entries.begin(), entries.end(), less)) {
      std::sort(entries.begin(), entries.end(), less);
    }
    for (std::size_t i = entries.size(); i-- > 0;) {
      const std::size_t end = out_.size();
      const bool is_nil = field.type == "b" && entries[i]->value.is_null();
      if (!is_nil) One(field, 2, entries[i]->value);
      out_.Text(1, entries[i]->name());
      out_.Close(field.number, end);
    }
  }

  // A field that holds one value of the type.
  void One(const FieldLine& field, std::uint32_t number, json::Value value) {
    if (field.type.size() > 1) {
      const std::size_t end = out_.size();
      Content(field, value);
      return out_.Close(number, end);
    }
    switch (field.type.front()) {
      case 's':
        return out_.Text(number, value.AsString());
      case 'b':
        return out_.Text(number, base::Base64Decode(value.AsString()).value_or(std::string()));
      case 'd':
        out_.Fixed64(value.AsDouble());
        return out_.Tag(number, kFixed64);
      case 't':
        return out_.Integer(number, value.AsBool() ? 1 : 0);
      default:
        return out_.Integer(number, value.AsInt());
    }
  }

  // A message, whatever it is in JSON.
  void Content(const FieldLine& field, json::Value value) {
    switch (field.shape) {
      case Shape::kObject:
        if (field.message != nullptr) Fields(*field.message, value);
        return;
      case Shape::kQuantity:
        return out_.Text(1, value.is_string() ? value.AsString() : "0");
      case Shape::kTime:
      case Shape::kMicroTime:
        return Time(field.shape, value);
      case Shape::kDuration:
        return out_.Integer(1, NanosOf(value.AsString()));
      case Shape::kRaw:
        if (!value.is_null()) Raw(value);
        return;
      case Shape::kIntOrString:
        out_.Text(3, value.AsString());
        out_.Integer(2, value.AsInt());
        return out_.Integer(1, value.is_string() ? 1 : 0);
      case Shape::kList:
        return Part(field, 1, value);
      case Shape::kSchemaOrBool:
        if (value.is_object()) Part(field, 2, value);
        return out_.Integer(1, value.is_object() || value.AsBool() ? 1 : 0);
      case Shape::kSchemaOrArray:
      case Shape::kSchemaOrStrings:
        return Part(field, value.is_array() ? 2 : 1, value);
    }
  }

  // The one field of a message that its JSON stands for.
  void Part(const FieldLine& message, std::uint32_t number, json::Value value) {
    const FieldLine* const field =
        message.message != nullptr ? message.message->Find(number) : nullptr;
    if (field != nullptr && !value.is_null()) Field(*field, &value);
  }

  void Time(Shape shape, json::Value value) {
    if (!value.is_string()) return;  // the zero time
    const auto moment = shape == Shape::kTime ? golang::ParseTime(value.AsString())
                                              : golang::ParseMicroTime(value.AsString());
    if (!moment.ok()) return;
    out_.Integer(2, shape == Shape::kTime ? 0 : moment->nanos);
    out_.Integer(1, moment->seconds);
  }

  void Raw(json::Value value) {
    if (!value.source().empty()) return out_.Text(1, value.source());
    text_.clear();
    json::Write(value, text_);
    out_.Text(1, text_);
  }

  ReverseBytes& out_;
  std::string text_;
};

// What follows the message in the envelope: no content encoding, no content type.
constexpr std::string_view kEnvelopeEnd("\x1a\0\x22\0", 4);

base::Result<const Message*> MessageOf(json::Value object) {
  const auto version = TRY(api::ParseGroupVersion(object["apiVersion"].AsString()));
  const Message* const message = protobuf::KnownFields().Find(
      {version.group, version.version, std::string(object["kind"].AsString())});
  if (message != nullptr) return message;
  return base::Status(base::Reason::kNotAcceptable,
                      "object *unstructured.Unstructured does not implement the protobuf "
                      "marshalling interface and cannot be encoded to a protobuf message");
}

// The magic and the type.
void StartEnvelope(ReverseBytes& bytes, json::Value object) {
  const std::size_t end = bytes.size();
  bytes.Text(2, object["kind"].AsString());
  bytes.Text(1, object["apiVersion"].AsString());
  bytes.Close(1, end);
  bytes.Bytes(kMagic);
}

base::Status Body(ReverseBytes& bytes, json::Value object) {
  const Message* const message = TRY(MessageOf(object));
  bytes.Bytes(kEnvelopeEnd);
  const std::size_t end = bytes.size();
  Writer(bytes).Fields(*message, object);
  bytes.Close(2, end);
  StartEnvelope(bytes, object);
  return base::OkStatus();
}

}  // namespace

base::Status WriteProtobuf(json::Value object, std::string& out) {
  ReverseBytes bytes;
  TRY(Body(bytes, object));
  out += bytes.view();
  return base::OkStatus();
}

base::Status WriteProtobufEvent(std::string_view type, json::Value object, std::string& out) {
  ReverseBytes bytes;
  TRY(Body(bytes, object));
  bytes.Close(1, 0);  // of the RawExtension
  bytes.Close(2, 0);
  bytes.Text(1, type);
  const std::size_t size = bytes.size();
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(size >> shift);
  out += bytes.view();
  return base::OkStatus();
}

base::Result<ProtobufList> ProtobufList::Of(json::Value frame) {
  const Message* const message = TRY(MessageOf(frame));
  const std::size_t position = message->PositionOf("items", json::HashKey("items"));
  if (position == Message::kNone) {
    return base::Status(base::Reason::kInternalError,
                        base::StrCat(frame["kind"].AsString(), " has no items"));
  }
  const FieldLine& items = message->fields()[position];
  ProtobufList list;
  list.item_ = items.message;
  list.number_ = items.number;
  ReverseBytes fields;
  Writer(fields).Fields(*message, frame);  // of the metadata alone
  const bool first = position == 0;
  (first ? list.end_ : list.before_) = fields.view();
  list.after_ = list.end_.size();
  list.end_ += kEnvelopeEnd;
  ReverseBytes head;
  StartEnvelope(head, frame);
  list.head_ = head.view();
  return list;
}

void ProtobufList::AppendItem(json::Value item, std::string& out) const {
  ReverseBytes bytes;
  Writer(bytes).Fields(*item_, item);
  bytes.Close(number_, 0);
  out += bytes.view();
}

std::string ProtobufList::Start(std::size_t items_size) const {
  ReverseBytes tag;
  tag.Varint(before_.size() + items_size + after_);
  tag.Tag(2, kBytes);
  return base::StrCat(head_, tag.view(), before_);
}

}  // namespace portcullis::engine
