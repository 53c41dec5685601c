// SPDX-License-Identifier: Apache-2.0

// The JSON document of the engine: immutable values in arenas.
//
// A Value is a 16-byte view: null, bool, int64, double, string, array or object. Everything it
// points to lives in an Arena and never changes. An edit makes new nodes for the path from the root
// to the place of the edit and shares everything else ("path copying"), so copies are free and an
// old version stays valid beside a new one.
//
//   json::Arena arena;
//   json::Value pod = TRY(json::Parse(arena, text));                       // json/reader.h
//   std::string_view name = pod["metadata"]["name"].AsString();            // "" if absent
//   pod = json::SetPath(arena, pod, {"metadata", "labels", "app"}, json::String(arena, "web"));
//
// Numbers: an integer literal that fits int64 is kInt, every other number kDouble, as Kubernetes'
// decoder has it; a kDouble that was read remembers its literal. Member order is kept. Duplicate
// keys never occur in a value: the reader keeps the last one (as Go does) and reports the others.
//
// Ownership: a Value owns nothing; it is valid as long as the arena it was made in and all arenas
// its shared parts came from. Arena::Retain() ties the lifetimes together; a Document bundles a
// root with its arena. Threads: Value and its nodes are immutable, hence free to read from any
// thread; one Arena is used by one thread at a time.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/inline_vector.h"

namespace portcullis::json {

// Bump allocator that frees everything at once. Confined to one thread at a time.
class Arena {
 public:
  Arena() = default;
  // For what stays in memory and is small: begins with that much instead of 4 KB.
  explicit Arena(std::size_t first_block) : next_block_(first_block) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Uninitialised memory, aligned for any node.
  void* Allocate(std::size_t size, std::size_t alignment = alignof(std::max_align_t)) {
    const std::size_t padding = (0 - reinterpret_cast<std::uintptr_t>(next_)) & (alignment - 1);
    if (static_cast<std::size_t>(end_ - next_) < size + padding) [[unlikely]] {
      return AllocateFromNewBlock(size);
    }
    char* result = next_ + padding;
    next_ = result + size;
    bytes_used_ += size;
    return result;
  }
  // A copy of text that lives as long as the arena.
  std::string_view Copy(std::string_view text);
  // Keeps `owner` alive as long as this arena: another arena, a received body, a stored object.
  void Retain(std::shared_ptr<const void> owner);
  // Bytes handed out so far (not counting what is retained).
  std::size_t bytes_used() const { return bytes_used_; }

 private:
  static constexpr std::size_t kFirstBlock = 4096;
  void* AllocateFromNewBlock(std::size_t size);

  char* next_ = nullptr;
  char* end_ = nullptr;
  std::size_t bytes_used_ = 0;
  std::size_t next_block_ = kFirstBlock;
  std::vector<std::unique_ptr<char[]>> blocks_;
  std::vector<std::shared_ptr<const void>> retained_;
};

enum class Type : std::uint8_t { kNull, kBool, kInt, kDouble, kString, kArray, kObject };

class Value;
struct Member;

namespace internal {
// The bytes a container was parsed from, or empty if it was built; lets the writer splice them.
struct Source {
  const char* data = nullptr;
  std::uint32_t size = 0;
};
// A double with the text it was read from.
struct NumberNode {
  double value = 0;
  const char* literal = nullptr;
};
// Heads of the nodes; the elements or members follow them in memory.
struct ArrayNode {
  Source source;
  std::uint32_t depth = 1;
};
struct ObjectNode {
  Source source;
  std::uint32_t depth = 1;
  // A bit for the hash of each member: most look-ups are for what is not there.
  std::uint32_t present = 0;
  // For objects of many members: (hash << 32 | position), ordered by hash, then name. Else null.
  const std::uint64_t* index = nullptr;
};
static_assert(sizeof(ObjectNode) == 32);
// Objects with more members than this are looked up through an index.
inline constexpr std::size_t kLinearMembers = 16;

// The bytes at `data` as a number, least significant first.
template <typename Word>
constexpr Word LoadWord(const char* data) {
  Word word = 0;
  if (std::is_constant_evaluated() || std::endian::native != std::endian::little) {
    for (std::size_t i = sizeof(Word); i-- > 0;) {
      word = static_cast<Word>(word << 8 | static_cast<unsigned char>(data[i]));
    }
  } else {
    std::memcpy(&word, data, sizeof(Word));
  }
  return word;
}
}  // namespace internal

// Hash of a member name, kept in every member so that look-ups compare 4 bytes first. Stable within
// one build only; look-ups do not rely on it being hard to collide.
constexpr std::uint32_t HashKey(std::string_view key) {
  constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15U;
  const char* data = key.data();
  std::size_t left = key.size();
  std::uint64_t hash = left * kFactor;
  for (; left >= 8; data += 8, left -= 8) {
    hash = (hash ^ internal::LoadWord<std::uint64_t>(data)) * kFactor;
    hash ^= hash >> 29;
  }
  std::uint64_t tail = 0;
  if (left >= 4) {
    const std::uint64_t high = internal::LoadWord<std::uint32_t>(data + left - 4);
    tail = high << 32 | internal::LoadWord<std::uint32_t>(data);
  } else if (left > 0) {
    const auto byte = [&](std::size_t i) {
      return static_cast<std::uint64_t>(static_cast<unsigned char>(data[i]));
    };
    tail = byte(0) | byte(left / 2) << 8 | byte(left - 1) << 16;
  }
  hash = (hash ^ tail) * kFactor;
  return static_cast<std::uint32_t>(hash >> 32);
}

// A member name that is written in the source: it is hashed when that is compiled.
class LiteralName {
 public:
  template <std::size_t N>
  consteval LiteralName(const char (&name)[N])  // NOLINT(google-explicit-constructor)
      : data_(name), size_(static_cast<std::uint32_t>(N - 1)), hash_(HashKey({name, N - 1})) {}

 private:
  friend class Value;

  const char* data_;
  std::uint32_t size_;
  std::uint32_t hash_;
};
// All other names.
template <typename T>
concept Name = std::convertible_to<const T&, std::string_view> && !std::is_array_v<T>;

// Immutable after construction; trivially copyable. See the head of this file.
class Value {
 public:
  constexpr Value() = default;  // null
  static Value Bool(bool value) {
    Value result;
    result.type_ = Type::kBool;
    result.bool_ = value;
    return result;
  }
  static Value Int(std::int64_t value) {
    Value result;
    result.type_ = Type::kInt;
    result.int_ = value;
    return result;
  }
  static Value Double(double value) {
    Value result;
    result.type_ = Type::kDouble;
    result.double_ = value;
    return result;
  }
  // A view: `text` must live as long as the value (a literal, or text in an arena).
  static Value StringView(std::string_view text) {
    Value result;
    result.type_ = Type::kString;
    result.size_ = static_cast<std::uint32_t>(text.size());
    result.text_ = text.data();
    return result;
  }

  Type type() const { return type_; }
  bool is_null() const { return type_ == Type::kNull; }
  bool is_bool() const { return type_ == Type::kBool; }
  bool is_int() const { return type_ == Type::kInt; }
  bool is_double() const { return type_ == Type::kDouble; }
  bool is_number() const { return is_int() || is_double(); }
  bool is_string() const { return type_ == Type::kString; }
  bool is_array() const { return type_ == Type::kArray; }
  bool is_object() const { return type_ == Type::kObject; }

  // The content, or the fallback if the type is another.
  bool AsBool(bool fallback = false) const { return is_bool() ? bool_ : fallback; }
  std::int64_t AsInt(std::int64_t fallback = 0) const { return is_int() ? int_ : fallback; }
  double AsDouble(double fallback = 0) const {
    if (is_double()) return size_ == 0 ? double_ : number_->value;
    return is_int() ? static_cast<double>(int_) : fallback;
  }
  // The text a kDouble was read from ("30.0", "1e3", "9223372036854775808"), for messages that
  // quote it; "" for built numbers and all other types.
  std::string_view NumberLiteral() const {
    return is_double() && size_ != 0 ? std::string_view(number_->literal, size_)
                                     : std::string_view();
  }
  std::string_view AsString(std::string_view fallback = {}) const {
    return is_string() ? std::string_view(text_, size_) : fallback;
  }

  // Number of elements or members; 0 for everything else.
  std::size_t size() const { return is_array() || is_object() ? size_ : 0; }
  bool empty() const { return size() == 0; }

  // Elements of an array; empty for other types.
  std::span<const Value> elements() const;
  // Members of an object in their order; empty for other types.
  std::span<const Member> members() const;

  // The member's value, or null pointer if this is no object or has no such member.
  const Value* Find(LiteralName name) const { return FindHere(name.data_, name.size_, name.hash_); }
  const Value* Find(const Name auto& name) const { return FindNamed(name); }
  const Value* Find(std::string_view name, std::uint32_t hash) const {  // hash == HashKey(name)
    return FindHere(name.data(), static_cast<std::uint32_t>(name.size()), hash);
  }
  bool Has(LiteralName name) const { return Find(name) != nullptr; }
  bool Has(const Name auto& name) const { return FindNamed(name) != nullptr; }
  // The member's value, or null.
  Value operator[](LiteralName name) const { return GetHere(name.data_, name.size_, name.hash_); }
  Value operator[](const Name auto& name) const { return GetNamed(name); }
  // The element, or null if out of range or no array.
  Value operator[](std::size_t index) const;
  // operator[] repeated: Value::At({"spec", "template", "metadata"}).
  Value At(std::initializer_list<std::string_view> path) const;

  // Levels of containers: 0 for scalars, 1 for {} and [], 2 for [[]]. Documents that were read or
  // patched never exceed the reader's limit, so recursion over them is safe.
  std::uint32_t depth() const;

  // The bytes this container was parsed from, provided the writer would write exactly these (no
  // white space, no unusual escapes or numbers, no duplicates); else "".
  std::string_view source() const;

  // Same node (containers), or the same scalar; a cheap sufficient test for equality.
  bool IsSameAs(const Value& other) const;

 private:
  friend Value NumberFromLiteral(Arena& arena, double value, std::string_view literal);
  friend Value MakeArray(Arena& arena, std::span<const Value> elements, internal::Source source);
  friend Value MakeObject(Arena& arena, std::span<const Member> members, internal::Source source);
  // Apart, so that a call takes few instructions.
  const Value* FindNamed(std::string_view name) const;
  Value GetNamed(std::string_view name) const;
  const Value* FindHere(const char* name, std::uint32_t size, std::uint32_t hash) const;
  Value GetHere(const char* name, std::uint32_t size, std::uint32_t hash) const;
  const Value* FindIndexed(std::string_view name, std::uint32_t hash) const;

  Type type_ = Type::kNull;
  std::uint32_t size_ = 0;
  union {
    bool bool_;
    std::int64_t int_ = 0;
    double double_;
    const internal::NumberNode* number_;  // of a kDouble with size_ > 0
    const char* text_;
    const internal::ArrayNode* array_;
    const internal::ObjectNode* object_;
  };
};
static_assert(sizeof(Value) == 16);

struct Member {
  Member() = default;
  Member(std::string_view name, Value member_value)
      : name_data(name.data()),
        name_size(static_cast<std::uint32_t>(name.size())),
        hash(HashKey(name)),
        value(member_value) {}
  std::string_view name() const { return {name_data, name_size}; }

  const char* name_data = nullptr;
  std::uint32_t name_size = 0;
  std::uint32_t hash = 0;
  Value value;
};

inline std::span<const Value> Value::elements() const {
  if (!is_array() || size_ == 0) return {};
  return {reinterpret_cast<const Value*>(array_ + 1), size_};
}

inline std::span<const Member> Value::members() const {
  if (!is_object() || size_ == 0) return {};
  return {reinterpret_cast<const Member*>(object_ + 1), size_};
}

// --- Making values. Elements, members and names are views; they are not copied deeply. ---

Value String(Arena& arena, std::string_view text);  // copies the text
// A number and the literal it was read from, which is not copied.
Value NumberFromLiteral(Arena& arena, double value, std::string_view literal);
Value MakeArray(Arena& arena, std::span<const Value> elements, internal::Source source = {});
// REQUIRES: names are distinct.
Value MakeObject(Arena& arena, std::span<const Member> members, internal::Source source = {});
inline Value MakeArray(Arena& arena, std::initializer_list<Value> elements) {
  return MakeArray(arena, std::span<const Value>(elements.begin(), elements.size()));
}
inline Value MakeObject(Arena& arena, std::initializer_list<Member> members) {
  return MakeObject(arena, std::span<const Member>(members.begin(), members.size()));
}
// Everything copied into `arena`; source bytes are not kept.
Value DeepCopy(Arena& arena, Value value);

// Collects members, then builds once. Set() replaces a member of the same name. Names are not
// copied: they must live as long as the value (use arena.Copy() for computed ones).
class ObjectBuilder {
 public:
  explicit ObjectBuilder(Arena& arena);
  ObjectBuilder(Arena& arena, Value base);  // starts with the members of `base`
  ObjectBuilder(ObjectBuilder&&) noexcept;
  ~ObjectBuilder();
  ObjectBuilder& Set(std::string_view name, Value value);
  ObjectBuilder& Set(std::string_view name, std::string_view text);  // copies the text
  ObjectBuilder& Set(std::string_view name, const char* text) {
    return Set(name, std::string_view(text));
  }
  ObjectBuilder& Set(std::string_view name, bool value) { return Set(name, Value::Bool(value)); }
  ObjectBuilder& Set(std::string_view name, std::int64_t value) {
    return Set(name, Value::Int(value));
  }
  ObjectBuilder& Set(std::string_view name, int value) { return Set(name, Value::Int(value)); }
  // Set() for a name that is known to be new; cheaper. REQUIRES: no member of this name.
  ObjectBuilder& Add(std::string_view name, Value value);
  ObjectBuilder& Remove(std::string_view name);
  const Value* Find(std::string_view name) const;
  bool empty() const { return members_.empty(); }
  std::size_t size() const { return members_.size(); }
  Value Build();

 private:
  struct Positions;  // by name; only once there are many members
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);
  std::size_t PositionOf(std::string_view name) const;

  Arena& arena_;
  base::InlineVector<Member, 8> members_;
  mutable std::unique_ptr<Positions> positions_;
};

class ArrayBuilder {
 public:
  explicit ArrayBuilder(Arena& arena) : arena_(arena) {}
  ArrayBuilder(Arena& arena, Value base);
  ArrayBuilder& Add(Value value) {
    elements_.push_back(value);
    return *this;
  }
  ArrayBuilder& Add(std::string_view text) { return Add(String(arena_, text)); }
  std::size_t size() const { return elements_.size(); }
  Value Build();

 private:
  Arena& arena_;
  base::InlineVector<Value, 8> elements_;
};

// --- Edits: each returns the new root; the old one stays valid. Values that are no object count as
// {} where a member is set. ---

Value With(Arena& arena, Value object, std::string_view name, Value value);
Value Without(Arena& arena, Value object, std::string_view name);
Value WithElement(Arena& arena, Value array, std::size_t index, Value element);
Value Append(Arena& arena, Value array, Value element);
// Sets a member deep inside, making the objects on the way that are absent or null.
Value SetPath(Arena& arena, Value root, std::initializer_list<std::string_view> path, Value value);
Value SetPath(Arena& arena, Value root, std::span<const std::string_view> path, Value value);
// Removes a member deep inside; the root itself if there is no such member.
Value RemovePath(Arena& arena, Value root, std::initializer_list<std::string_view> path);

// Deep equality. Member order does not count; kInt and kDouble are equal only if of the same type
// and value (Go's reflect.DeepEqual over decoded JSON).
bool operator==(const Value& a, const Value& b);

// A root with the arena that keeps it alive. Cheap to copy, safe to share between threads.
// Immutable after construction.
class Document {
 public:
  Document() = default;
  Document(std::shared_ptr<const Arena> arena, Value root)
      : arena_(std::move(arena)), root_(root) {}
  Value root() const { return root_; }
  Value operator[](std::string_view key) const { return root_[key]; }
  const std::shared_ptr<const Arena>& arena() const { return arena_; }

 private:
  std::shared_ptr<const Arena> arena_;
  Value root_;
};

}  // namespace portcullis::json
