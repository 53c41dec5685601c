// SPDX-License-Identifier: Apache-2.0

// Objects in protobuf. A message is written from its end to its start, as Go's generated encoders do:
// its length, which precedes it, is known by then.

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "base/protobuf_writer.h"
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
using protobuf::ReverseBytes;
using protobuf::Shape;

// Room for most messages, and for what stands around one.
constexpr std::size_t kMessageRoom = 8192;
constexpr std::size_t kHeadRoom = 160;

std::int64_t NanosOf(std::string_view duration) {
  const auto nanos = golang::ParseDuration(duration);
  return nanos.ok() ? *nanos : 0;
}

class Writer {
 public:
  explicit Writer(ReverseBytes& out) : out_(out) {}

  // The fields of a message, the last one first. `object` may be null: an empty Go struct.
  void Fields(const Message& message, json::Value object) {
    const std::vector<FieldLine>& fields = message.fields();
    const std::size_t first = top_;
    top_ += fields.size();
    if (members_.size() < top_) members_.resize(2 * top_);
    std::fill_n(members_.begin() + static_cast<std::ptrdiff_t>(first), fields.size(), nullptr);
    for (const json::Member& member : object.members()) {
      const std::size_t position = message.PositionOf(member.name(), member.hash);
      if (position == Message::kNone || member.value.is_null()) continue;
      members_[first + position] = &member.value;
    }
    for (std::size_t i = fields.size(); i-- > 0;) {
      if (fields[i].mode == Mode::kInline) {
        const std::size_t end = out_.size();
        if (fields[i].message != nullptr) Fields(*fields[i].message, object);
        out_.Close(fields[i].number, end);
      } else if (members_[first + i] != nullptr) {
        Field(fields[i], *members_[first + i]);
      } else if (fields[i].mode == Mode::kSingle) {
        Unset(fields[i]);
      }
    }
    top_ = first;
  }

 private:
  void Field(const FieldLine& field, json::Value value) {
    switch (field.mode) {
      case Mode::kMap:
        return Map(field, value);
      case Mode::kRepeated:
        return List(field, field.number, value);
      default:
        return One(field, field.number, value);
    }
  }

  // A field that is always written.
  void Unset(const FieldLine& field) {
    if (field.is_scalar() && field.wire_type != kFixed64) {
      return out_.Zero(field.number, field.wire_type);
    }
    One(field, field.number, {});
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
    if (!field.is_scalar()) {
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
    if (field != nullptr && !value.is_null()) Field(*field, value);
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
  // The members that are fields of the messages around, each message's by the positions of its
  // fields. Not on the stack, since schemas may be thousands of messages deep.
  std::vector<const json::Value*> members_;
  std::size_t top_ = 0;  // of those in use
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

// What precedes a message of that size in a body.
ReverseBytes HeadOf(std::string_view api_version, std::string_view kind, std::size_t size) {
  ReverseBytes head(kHeadRoom);
  head.Varint(size);
  head.Tag(2, kBytes);
  const std::size_t end = head.size();
  head.Text(2, kind);
  head.Text(1, api_version);
  head.Close(1, end);
  head.Bytes(kMagic);
  return head;
}

}  // namespace

base::Status WriteProtobufMessage(json::Value object, std::string& out) {
  const Message* const message = TRY(MessageOf(object));
  ReverseBytes bytes(kMessageRoom);
  Writer(bytes).Fields(*message, object);
  out += bytes.view();
  return base::OkStatus();
}

void WriteProtobufEnvelope(const ProtobufEnvelope& envelope, std::string& out) {
  const ReverseBytes head = HeadOf(envelope.api_version, envelope.kind, envelope.raw.size());
  out.reserve(out.size() + head.size() + envelope.raw.size() + kEnvelopeEnd.size());
  out += head.view();
  out += envelope.raw;
  out += kEnvelopeEnd;
}

base::Status WriteProtobuf(json::Value object, std::string& out) {
  std::string message;
  TRY(WriteProtobufMessage(object, message));
  WriteProtobufEnvelope({object["apiVersion"].AsString(), object["kind"].AsString(), message}, out);
  return base::OkStatus();
}

void WriteProtobufEvent(std::string_view type, const ProtobufEnvelope& object, std::string& out) {
  const ReverseBytes head = HeadOf(object.api_version, object.kind, object.raw.size());
  const std::size_t body = head.size() + object.raw.size() + kEnvelopeEnd.size();
  ReverseBytes event(kHeadRoom);
  event.Varint(body);
  event.Tag(1, kBytes);  // of the RawExtension
  event.Varint(event.size() + body);
  event.Tag(2, kBytes);
  event.Text(1, type);
  const std::size_t size = event.size() + body;
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(size >> shift);
  out += event.view();
  WriteProtobufEnvelope(object, out);
}

base::Result<ProtobufList> ProtobufList::Of(json::Value frame) {
  const Message* const message = TRY(MessageOf(frame));
  const std::size_t position = message->PositionOf("items", json::HashKey("items"));
  if (position == Message::kNone) {
    return base::Status(base::Reason::kInternalError,
                        base::StrCat(frame["kind"].AsString(), " has no items"));
  }
  ProtobufList list;
  list.number_ = message->fields()[position].number;
  list.api_version_ = frame["apiVersion"].AsString();
  list.kind_ = frame["kind"].AsString();
  ReverseBytes fields(kHeadRoom);
  Writer(fields).Fields(*message, frame);  // of the metadata alone
  (position == 0 ? list.end_ : list.before_) = fields.view();
  list.after_ = list.end_.size();
  list.end_ += kEnvelopeEnd;
  return list;
}

void ProtobufList::AppendItem(std::string_view message, std::string& out) const {
  out += static_cast<char>(number_ << 3 | kBytes);  // the numbers of items are small
  std::size_t size = message.size();
  for (; size > 0x7f; size >>= 7) out += static_cast<char>(size | 0x80U);
  out += static_cast<char>(size);
  out += message;
}

std::string ProtobufList::Start(std::size_t items_size) const {
  const std::size_t size = before_.size() + items_size + after_;
  return base::StrCat(HeadOf(api_version_, kind_, size).view(), before_);
}

}  // namespace portcullis::engine
