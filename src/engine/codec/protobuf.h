// SPDX-License-Identifier: Apache-2.0

// Kubernetes' protobuf form of objects: clients of built-in kinds write and read it (Kubernetes docs:
// API Concepts, "Kubernetes Protobuf encoding").
//
// The numbers of the fields are data/protobuf.fields: after "@<package>" one line per message,
// "Message field=<number><mode><type>…". Modes: ? may be left out (nil in Go), * repeated, % map of
// strings to the type, ^ a message whose members belong to the object around it; without a mode a
// field is always written, be it empty. Types: s string, b bytes, i integer, t bool, d double, or a
// message of the package, of "meta", or of another package by its full name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "api/names.h"
#include "api/schema/schema.h"
#include "base/status.h"
#include "json/value.h"

namespace portcullis::api::schema {
struct Decoded;
}  // namespace portcullis::api::schema

namespace portcullis::engine {

inline constexpr std::string_view kProtobufType = "application/vnd.kubernetes.protobuf";

// What a body of that type holds: the object's type and its message. Views into the body.
struct ProtobufEnvelope {
  std::string_view api_version;
  std::string_view kind;
  std::string_view raw;
};

// Errors are BadRequest with the texts of Kubernetes' serializer.
base::Result<ProtobufEnvelope> ReadProtobufEnvelope(std::string_view body);

// The message as JSON, with kind and apiVersion; nothing but these if no message of the kind is
// known. `schema` is that of the kind and tells the names of Go's fields, which some errors quote;
// it may be null. Errors are BadRequest with the texts of Go's generated decoders.
// With `met` and a schema the object is what api::schema::Decode() would make of it, which need not be called
// then, and `met` tells what it holds; fields that the schema does not know are left out. `met` may tell as
// well of what a later part of the message has replaced. Unlike Decode(), which is given a null then, this
// makes "0" of a quantity without a text behind a pointer, as Go does.
base::Result<json::Value> ReadProtobufObject(json::Arena& arena, const api::GroupVersionKind& kind,
                                             std::string_view raw,
                                             const api::schema::Schema* schema,
                                             api::schema::Decoded* met = nullptr);

// Appends the message of `object`, byte for byte as kube-apiserver writes the Go value of which
// `object` is the JSON: fields by their numbers, maps by their keys. Members that the kind does not
// have are left out. NotAcceptable if no message of its kind is known: it is of a custom resource.
base::Status WriteProtobufMessage(json::Value object, std::string& out);

// Appends the body that holds the message.
void WriteProtobufEnvelope(const ProtobufEnvelope& envelope, std::string& out);
// Both in one.
base::Status WriteProtobuf(json::Value object, std::string& out);

// Appends an event of a watch behind its length; its object is a body of its own.
void WriteProtobufEvent(std::string_view type, const ProtobufEnvelope& object, std::string& out);

// The body of a list, item by item: what precedes the items tells their size.
//
//   ProtobufList list = TRY(ProtobufList::Of(frame));
//   for (std::string_view message : …) list.AppendItem(message, items);
//   body = list.Start(items.size()) + items + list.End();
class ProtobufList {
 public:
  // `frame` is the list with no items. NotAcceptable as WriteProtobufMessage().
  static base::Result<ProtobufList> Of(json::Value frame);
  void AppendItem(std::string_view message, std::string& out) const;
  std::string Start(std::size_t items_size) const;
  const std::string& End() const { return end_; }

 private:
  ProtobufList() = default;

  std::uint32_t number_ = 0;  // of the items
  std::string api_version_;
  std::string kind_;
  std::string before_;     // fields of the list that precede the items
  std::string end_;        // what follows the items
  std::size_t after_ = 0;  // how much of it is of the list
};

}  // namespace portcullis::engine
