// SPDX-License-Identifier: Apache-2.0

// The table of field numbers, parsed: data/protobuf.fields, whose format protobuf.h describes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/names.h"

namespace portcullis::engine::protobuf {

// How the field holds its type: see the modes in protobuf.h.
enum class Mode : std::uint8_t { kSingle, kOptional, kRepeated, kMap, kInline };

// What a message is in JSON: an object of its fields, or something of its own.
enum class Shape : std::uint8_t {
  kObject,
  kQuantity,
  kTime,
  kMicroTime,
  kDuration,
  kRaw,  // RawExtension, FieldsV1, JSON: any value
  kIntOrString,
  kList,             // ExtraValue, Verbs
  kSchemaOrBool,     // JSONSchemaPropsOrBool
  kSchemaOrArray,    // JSONSchemaPropsOrArray
  kSchemaOrStrings,  // JSONSchemaPropsOrStringArray
};

class Message;

struct FieldLine {
  std::string_view name;
  std::uint32_t hash = 0;  // json::HashKey(name)
  std::uint32_t number = 0;
  Mode mode = Mode::kSingle;
  Shape shape = Shape::kObject;      // of a message type
  std::uint32_t wire_type = 0;       // of a value
  std::string_view type;             // one letter for scalars
  const Message* message = nullptr;  // null: a scalar, or a message that the table does not have

  bool is_scalar() const { return type.size() == 1; }
};

// A field that no message has, but all objects: "kind".
FieldLine LineNamed(std::string_view name);

// Immutable once the table is complete.
class Message {
 public:
  // By number.
  const std::vector<FieldLine>& fields() const { return fields_; }
  // Null: there is no such field.
  const FieldLine* Find(std::uint32_t number) const;
  // The position in fields() of the field that a member of a JSON object is, or kNone. `hash` is
  // json::HashKey(name).
  std::size_t PositionOf(std::string_view name, std::uint32_t hash) const;
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

 private:
  friend class Fields;
  void Complete();

  std::vector<FieldLine> fields_;
  std::vector<std::uint8_t> slots_;  // open addressing by hash; 0 is free, else the position + 1
};

// Immutable after construction: thread-safe. Views into the text, which outlives it.
class Fields {
 public:
  explicit Fields(std::string_view text);
  Fields(const Fields&) = delete;
  Fields& operator=(const Fields&) = delete;
  // Null: the table does not have the message.
  const Message* Find(std::string_view package, std::string_view message) const;
  // The message of a kind. Some kinds have the group and version of what they are used with
  // (options, Status, documents of discovery) and are found among those of metav1.
  const Message* Find(const api::GroupVersionKind& kind) const;

 private:
  void AddMessage(const std::string& package, std::string_view line);
  // Finds the type of a field of a message of that package.
  void Resolve(FieldLine& field, std::string_view package) const;

  std::unordered_map<std::string, Message> messages_;
};

// The table of the program.
const Fields& KnownFields();

}  // namespace portcullis::engine::protobuf
