// SPDX-License-Identifier: Apache-2.0

#include "api/stored_size.h"

#include <bit>

#include "base/strings.h"
#include "json/writer.h"

namespace portcullis::api {
namespace {

using json::Value;
using schema::Field;
using schema::Kind;
using schema::Schema;

constexpr std::size_t kMaxMessageBytes = std::size_t{2} << 20;  // etcd's client sends no more
constexpr std::string_view kTooLarge = "etcdserver: request is too large";
constexpr std::string_view kLargerThanMax =
    "rpc error: code = ResourceExhausted desc = trying to send message larger than max (";

std::size_t Varint(std::uint64_t value) {
  return value == 0 ? 1 : (static_cast<std::size_t>(std::bit_width(value)) + 6) / 7;
}
// A member of `size` bytes with its tag and length.
std::size_t Delimited(std::size_t size) { return 1 + Varint(size) + size; }

// What etcd's client sends: if the key is at its revision, put the object; else read the key.
std::size_t TransactionSize(std::size_t object_size, std::size_t key_size) {
  constexpr std::size_t kTargetAndRevision = 4;
  const std::size_t compare = Delimited(kTargetAndRevision + Delimited(key_size));
  const std::size_t put = Delimited(Delimited(Delimited(key_size) + Delimited(object_size)));
  return compare + put;
}

std::size_t MessageSize(const Schema& schema, Value value);

// A value of the schema with its tag, in a list or as a field that is present.
std::size_t ValueSize(const Schema* schema, Value value) {
  if (schema == nullptr) return Delimited(json::ToString(value).size());
  switch (schema->kind) {
    case Kind::kBoolean:
      return 2;
    case Kind::kNumber:
      return 9;
    case Kind::kInteger:
      return 1 + Varint(static_cast<std::uint64_t>(value.AsInt()));
    case Kind::kString:
      return Delimited(value.AsString().size());
    case Kind::kBytes:
      return Delimited(value.AsString().size() / 4 * 3);
    case Kind::kArray: {
      std::size_t size = 0;
      for (const Value& element : value.elements()) size += ValueSize(schema->element, element);
      return size;
    }
    case Kind::kMap: {
      std::size_t size = 0;
      for (const json::Member& member : value.members()) {
        size +=
            Delimited(Delimited(member.name().size()) + ValueSize(schema->element, member.value));
      }
      return size;
    }
    default:
      return Delimited(MessageSize(*schema, value));
  }
}

// Go writes fields that are no pointers whatever they hold.
std::size_t AbsentSize(const Field& field) {
  if (field.pointer || field.schema == nullptr) return 0;
  switch (field.schema->kind) {
    case Kind::kBoolean:
    case Kind::kInteger:
    case Kind::kString:
      return 2;
    default:
      return 0;
  }
}

std::size_t MessageSize(const Schema& schema, Value value) {
  switch (schema.kind) {
    case Kind::kStruct: {
      std::size_t size = 0;
      for (const Field& field : schema.fields) {
        const Value* found = value.Find(field.name, field.hash);
        const bool absent = found == nullptr || found->is_null();
        size += absent ? AbsentSize(field) : ValueSize(field.schema, *found);
      }
      return size;
    }
    case Kind::kTime:
    case Kind::kMicroTime:
    case Kind::kDuration:
      return 8;
    case Kind::kQuantity:
      return Delimited(value.is_string() ? value.AsString().size() : 8);
    case Kind::kIntOrString:
      return value.is_string() ? 4 + Delimited(value.AsString().size()) : 8;
    default:  // raw JSON: fieldsV1, extensions, JSON schemas
      return Delimited(json::ToString(value).size());
  }
}

}  // namespace

base::Status RequestTooLargeStatus() {
  return base::Status(base::Reason::kUnknown, std::string(kTooLarge));
}

base::Status CheckRequestSize(std::size_t object_size, std::size_t key_size) {
  const std::size_t transaction = TransactionSize(object_size, key_size);
  if (transaction > kMaxMessageBytes) {
    return base::Status(base::Reason::kUnknown,
                        base::StrCat(kLargerThanMax, std::to_string(transaction), " vs. ",
                                     std::to_string(kMaxMessageBytes), ")"));
  }
  constexpr std::size_t kRaftHeader = 14;  // with the request's number, 10 bytes of it
  if (kRaftHeader + Delimited(transaction) > kMaxRequestBytes) return RequestTooLargeStatus();
  return base::OkStatus();
}

bool IsRequestTooLarge(const base::Status& status) {
  return status.reason() == base::Reason::kUnknown &&
         (status.message() == kTooLarge || status.message().starts_with(kLargerThanMax));
}

std::size_t ProtobufSize(const schema::Schema& schema, json::Value object) {
  constexpr std::size_t kMagic = 4;  // "k8s" and a zero byte
  const std::size_t type = Delimited(object["apiVersion"].AsString().size()) +
                           Delimited(object["kind"].AsString().size());
  constexpr std::size_t kEncodingAndType = 4;  // both empty
  return kMagic + Delimited(type) + Delimited(MessageSize(schema, object)) + kEncodingAndType;
}

}  // namespace portcullis::api
