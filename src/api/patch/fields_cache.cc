// SPDX-License-Identifier: Apache-2.0

#include "api/patch/fields_cache.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "api/schema/decode.h"
#include "json/reader.h"
#include "json/writer.h"

namespace portcullis::api::patch {
namespace {

using json::Value;

// The shape as bytes. Each thing begins with a mark, and texts with their size, so that different shapes have
// different bytes.
class Shape {
 public:
  Shape() : bytes_(std::make_unique_for_overwrite<char[]>(kFirst)), room_(kFirst) {}

  void Of(const schema::Schema& schema, const Value& empty, const Value& object, const Value& sent,
          const FieldSet* reset) {
    const auto address = reinterpret_cast<std::uintptr_t>(&schema);
    Put('s', {reinterpret_cast<const char*>(&address), sizeof(address)});
    if (reset != nullptr) Fields(*reset);
    Since(empty, object, sent);
  }

  // False if the fields depend on more than the shape.
  bool complete() const { return complete_ && size_ <= FieldsCache::kLargestShape; }
  std::string_view bytes() const { return {bytes_.get(), size_}; }

 private:
  static constexpr std::size_t kFirst = 4096;

  char* Reserve(std::size_t size) {
    if (room_ - size_ < size) [[unlikely]] {
      Grow(size);
    }
    return bytes_.get() + size_;
  }
  [[gnu::noinline]] void Grow(std::size_t size) {
    room_ = std::max(2 * room_, size_ + size);
    auto larger = std::make_unique_for_overwrite<char[]>(room_);
    std::memcpy(larger.get(), bytes_.get(), size_);
    bytes_ = std::move(larger);
  }
  void Put(char mark) {
    *Reserve(1) = mark;
    ++size_;
  }
  void Put(char mark, std::string_view text) {
    char* const out = Reserve(1 + sizeof(std::uint32_t) + text.size());
    const auto length = static_cast<std::uint32_t>(text.size());
    out[0] = mark;
    std::memcpy(out + 1, &length, sizeof(length));
    if (!text.empty()) std::memcpy(out + 1 + sizeof(length), text.data(), text.size());
    size_ += 1 + sizeof(length) + text.size();
  }

  void Fields(const FieldSet& set) {
    for (const FieldSet::Node& node : set.nodes()) {
      Put(node.member ? 'F' : 'f', node.element.text);
      Put(static_cast<char>(node.element.kind));
      Fields(node.below);
    }
    Put(';');
  }

  // Puts the members of `value` and how they differ from `before`; returns whether none does.
  bool Since(const Value& before, const Value& value, const Value& sent) {
    bool equal = before.size() == value.size();
    Put('(');
    for (const json::Member& member : value.members()) {
      Put(',', member.name());
      const Value* const old = before.Find(member.name(), member.hash);
      if (old == nullptr) {
        equal = false;
        New(member.value);
      } else {
        equal = Changed(*old, member.value, sent[member.name()]) && equal;
      }
    }
    Put(')');
    // Go tells some things that were sent from what they are decoded to.
    complete_ = complete_ && !(equal && !sent.is_null());
    return equal;
  }

  bool Changed(const Value& old, const Value& value, const Value& sent) {
    if (old.IsSameAs(value)) {
      Put('=');
      return true;
    }
    if (old.is_object() && !old.empty() && value.is_object()) return Since(old, value, sent);
    if (old == value) {
      Put('~');
      complete_ = complete_ && sent.is_null();
      return true;
    }
    Put('!');
    if (value.empty()) Put(static_cast<char>(value.type()));
    New(value);
    return false;
  }

  // Where nothing was before.
  void New(const Value& value) {
    if (value.empty()) return Put('.');  // nothing is below scalars, {} and []
    if (value.is_object()) {
      Put('{');
      for (const json::Member& member : value.members()) {
        Put(',', member.name());
        New(member.value);
      }
      return Put('}');
    }
    Put('[');
    for (const Value& element : value.elements()) Element(element);
    Put(']');
  }

  // Elements of sets are named by what they are, others by members that are scalars.
  void Element(const Value& element) {
    if (!element.is_object()) return Scalar(element);
    Put('{');
    for (const json::Member& member : element.members()) {
      Put(',', member.name());
      if (member.value.empty()) {
        Scalar(member.value);
      } else {
        New(member.value);
      }
    }
    Put('}');
  }

  void Scalar(const Value& value) {
    if (value.is_string()) return Put('"', value.AsString());
    if (value.is_int()) {
      const std::int64_t number = value.AsInt();
      return Put('i', {reinterpret_cast<const char*>(&number), sizeof(number)});
    }
    if (!value.empty()) complete_ = false;  // a list in a list
    Put('#', json::ToString(value));
  }

  std::unique_ptr<char[]> bytes_;
  std::size_t size_ = 0;
  std::size_t room_;
  bool complete_ = true;
};

}  // namespace

struct FieldsCache::Entry {
  std::string shape;
  std::string text;  // of which the fields are read
  json::Arena arena;
  Value fields;
};

std::optional<Value> FieldsCache::FieldsOfNew(json::Arena& arena, const schema::Schema& schema,
                                              Value empty, Value object, Value sent,
                                              const NotOwned& not_owned) {
  Shape shape;
  shape.Of(schema, empty, object, sent, not_owned.reset);
  if (!shape.complete()) return patch::FieldsOfNew(arena, schema, empty, object, sent, not_owned);
  const std::uint32_t hash = json::HashKey(shape.bytes());
  const std::size_t at = hash % kSlots;
  bool again = false;
  {
    base::MutexLock lock(mutex_);
    Slot<Entry>& slot = slots_[at];
    if (slot.entry != nullptr && slot.entry->shape == shape.bytes()) {
      arena.Retain(slot.entry);
      return slot.entry->fields;
    }
    again = std::exchange(slot.seen, hash) == hash;
  }
  const auto fields = patch::FieldsOfNew(arena, schema, empty, object, sent, not_owned);
  if (!fields || !again) return fields;
  auto entry = std::make_shared<Entry>();
  entry->shape = shape.bytes();
  entry->text = json::ToString(*fields);
  const auto read = json::Parse(entry->arena, entry->text, {.borrow_text = true});
  if (!read.ok()) return fields;
  entry->fields = *read;
  base::MutexLock lock(mutex_);
  slots_[at].entry = std::move(entry);
  return fields;
}

struct FieldsCache::KnownSet {
  const schema::Schema* schema;
  std::string text;
  FieldSet set;
};

std::shared_ptr<const FieldSet> FieldsCache::SetOf(const schema::Schema& schema, Value fields) {
  const std::string_view text = fields.source();
  if (text.empty() || text.size() > kLargestShape) return nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(&schema);
  const std::uint32_t hash = json::HashKey(text) + static_cast<std::uint32_t>(address >> 4);
  const std::size_t at = hash % kSlots;
  {
    base::MutexLock lock(mutex_);
    Slot<KnownSet>& slot = sets_[at];
    if (slot.entry != nullptr && slot.entry->schema == &schema && slot.entry->text == text) {
      return {slot.entry, &slot.entry->set};
    }
    if (std::exchange(slot.seen, hash) != hash) return nullptr;
  }
  auto set = FieldSet::FromJson(fields);
  json::Arena scratch;
  if (!set.ok() || json::ToString(set->ToJson(scratch)) != text) return nullptr;
  if (Reconciled(schema, *set).has_value()) return nullptr;
  auto entry =
      std::make_shared<const KnownSet>(KnownSet{&schema, std::string(text), *std::move(set)});
  base::MutexLock lock(mutex_);
  sets_[at].entry = entry;
  return {entry, &entry->set};
}

Value FieldsCache::EmptyOf(const schema::Schema& schema) {
  base::MutexLock lock(mutex_);
  if (const auto known = empty_.find(&schema); known != empty_.end()) return known->second;
  Value empty = json::MakeObject(empty_arena_, {});
  if (const auto decoded = schema::Decode(empty_arena_, schema, empty); decoded.ok()) {
    empty = *decoded;
  }
  return empty_.emplace(&schema, empty).first->second;
}

}  // namespace portcullis::api::patch
