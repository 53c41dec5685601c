// SPDX-License-Identifier: Apache-2.0

// The JSON of a protobuf message while its fields arrive; private to this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "api/schema/schema.h"
#include "base/inline_vector.h"
#include "engine/codec/protobuf_fields.h"
#include "json/value.h"

namespace portcullis::engine::protobuf {

struct IntOrString {
  bool is_string = false;
  std::int64_t number = 0;
  std::string_view text;
};

// Memory that messages use one after the other when they are built.
struct BuildMemory {
  std::vector<std::uint16_t> places;
  std::vector<json::Member> members;
};

// Encoders write a field in one place: the elements of a list and the entries of a map one behind the
// other, and a message whole. What comes again after another field is added to what was there; it is
// collected and made a value once, so that bytes in any order cost the same.
class MessageBuilder {
 public:
  // What is built has the fields in the order in which they came; with `form`, the schema of a struct, it
  // is what Go would write of it, in Go's order. `before` is what has been built of the message's first
  // parts, or null; it tells either the number or the text of an IntOrString, not both.
  MessageBuilder(json::Arena& arena, BuildMemory& memory, Shape shape,
                 const api::schema::Schema* form, json::Value before = {});

  bool empty() const { return members_.empty(); }
  // Until this is called again, what is looked for or set is known to be absent, or not. Encoders write
  // fields in the order of their numbers, so that hardly any has to be looked for.
  void NextIsNew(bool is_new) { next_is_new_ = is_new; }
  bool next_is_new() const { return next_is_new_; }
  bool Has(const FieldLine& line) const { return Find(line) != kNone; }
  // The value of a field that has come before; null if it has not.
  json::Value Get(const FieldLine& line) const;
  // `field` is that of the form, or null.
  void Set(const FieldLine& line, const api::schema::Field* field, json::Value value);
  void AddElements(const FieldLine& line, const api::schema::Field* field,
                   json::ArrayBuilder& elements);
  void AddEntries(const FieldLine& line, const api::schema::Field* field,
                  json::ObjectBuilder& entries);
  // The message of a field that has come before, to which every part is added.
  MessageBuilder& Child(const FieldLine& line, const api::schema::Schema* form);
  // The first part of an IntOrString that was read into this builder; it is read again if there is
  // another. The bytes outlive the builder.
  void KeepPart(const FieldLine& line, std::string_view bytes) {
    first_parts_.push_back({&line, bytes});
  }
  // Empty if the first part is, or if it was read before there was this builder: then Get() has its value.
  std::string_view FirstPart(const FieldLine& line) const;
  // What the parts of it hold that have come so far. `is_new`: nothing has been read into it.
  IntOrString& Parts(const FieldLine& line, bool& is_new);
  json::Value Build();

 private:
  struct Part {
    const FieldLine* line;
    std::string_view bytes;
  };
  // Of fields that came more than once.
  struct Again {
    std::map<std::string_view, json::ArrayBuilder> lists;
    std::map<std::string_view, json::ObjectBuilder> maps;
    std::map<std::string_view, std::unique_ptr<MessageBuilder>> children;
    std::map<std::string_view, IntOrString> ints_or_strings;
  };
  struct Known {
    const api::schema::Field* field;  // null if the form has none of the name
  };
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::size_t Find(const FieldLine& line) const { return next_is_new_ ? kNone : PositionOf(line); }
  std::size_t PositionOf(const FieldLine& line) const;
  json::Value InGoForm();
  Again& again() {
    if (again_ == nullptr) again_ = std::make_unique<Again>();
    return *again_;
  }

  json::Arena& arena_;
  BuildMemory& memory_;
  const api::schema::Schema* const form_;
  const Shape shape_;
  bool next_is_new_ = false;
  base::InlineVector<json::Member, 8> members_;
  base::InlineVector<Known, 8> known_;  // of the members; empty without a form
  base::InlineVector<Part, 2> first_parts_;
  std::unique_ptr<Again> again_;
};

// A map in the order in which Go writes it.
json::Value SortedMap(json::Arena& arena, json::Value map);

}  // namespace portcullis::engine::protobuf
