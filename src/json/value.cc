// SPDX-License-Identifier: Apache-2.0

#include "json/value.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/memory_reserve.h"
#include "json/index.h"

namespace portcullis::json {
namespace {

constexpr std::size_t kMaxBlock = std::size_t{1} << 20;
// An arena that has so much asks for what comes on top: at least every so many blocks.
constexpr std::size_t kMuch = std::size_t{16} << 20;
constexpr std::size_t kBlocksWithoutAsking = 16;
constexpr std::size_t kOwnersWithoutAsking = std::size_t{1} << 16;
// ObjectBuilder searches linearly below this size.
constexpr std::size_t kBuilderLinear = 32;

// The members or elements of a container while an edit copies them.
template <typename T>
using Scratch = base::InlineVector<T, 24>;

std::uint32_t DepthOf(std::span<const Value> elements) {
  std::uint32_t depth = 0;
  for (const Value& element : elements) depth = std::max(depth, element.depth());
  return depth + 1;
}

// Which bit of ObjectNode::present is that of a name.
constexpr std::uint32_t PresenceShift(std::uint32_t hash) { return hash >> 27; }

// The node of an object without its index, and its members behind it. In one pass, as most objects have few.
void Fill(internal::ObjectNode* node, std::span<const Member> members, internal::Source source) {
  auto* copy = reinterpret_cast<Member*>(node + 1);
  std::uint32_t depth = 0;
  std::uint32_t present = 0;
  for (const Member& member : members) {
    if (member.value.type() >= Type::kArray) depth = std::max(depth, member.value.depth());
    present |= std::uint32_t{1} << PresenceShift(member.hash);
    new (copy++) Member(member);
  }
  new (node) internal::ObjectNode{source, depth + 1, present};
}

// Names of at most so many bytes are compared without a call: a look-up that calls nothing has no
// registers to save.
constexpr std::uint32_t kShortName = 16;

// REQUIRES: size <= kShortName. Inlined, as compilers would not do by themselves.
[[gnu::always_inline]] inline bool SameShortBytes(const char* a, const char* b,
                                                  std::uint32_t size) {
  using internal::LoadWord;
  // Two loads that overlap cover every size.
  if (size >= 8) {
    return LoadWord<std::uint64_t>(a) == LoadWord<std::uint64_t>(b) &&
           LoadWord<std::uint64_t>(a + size - 8) == LoadWord<std::uint64_t>(b + size - 8);
  }
  if (size >= 4) {
    return LoadWord<std::uint32_t>(a) == LoadWord<std::uint32_t>(b) &&
           LoadWord<std::uint32_t>(a + size - 4) == LoadWord<std::uint32_t>(b + size - 4);
  }
  for (std::uint32_t i = 0; i < size; ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

bool SameBytes(const char* a, const char* b, std::uint32_t size) {
  return size <= kShortName ? SameShortBytes(a, b, size) : std::memcmp(a, b, size) == 0;
}

// Both at once, as they stand in memory: one comparison for a member.
std::uint64_t SizeAndHash(const Member& member) {
  static_assert(offsetof(Member, hash) == offsetof(Member, name_size) + sizeof(std::uint32_t));
  std::uint64_t both = 0;
  std::memcpy(&both, reinterpret_cast<const char*>(&member) + offsetof(Member, name_size),
              sizeof(both));
  return both;
}

bool SameName(const Member& member, std::string_view name, std::uint32_t hash) {
  return member.hash == hash && member.name_size == name.size() &&
         SameBytes(member.name_data, name.data(), member.name_size);
}

[[gnu::noinline]] const Value* FindLongName(std::span<const Member> members, std::string_view name,
                                            std::uint32_t hash) {
  for (const Member& member : members) {
    if (SameName(member, name, hash)) return &member.value;
  }
  return nullptr;
}

}  // namespace

// --- Arena ---

void* Arena::AllocateFromNewBlock(std::size_t size) {
  bytes_used_ += size;
  // Large pieces get a block of their own; the current one stays in use.
  const bool has_own = size > next_block_ / 4;
  if (bytes_used_ > kMuch) {
    const std::size_t block = has_own ? size : next_block_;
    if (block >= kMaxBlock / 4 || blocks_.size() % kBlocksWithoutAsking == 0) {
      base::AskForMemory(block);
    }
  }
  if (has_own) {
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(size));
    return blocks_.back().get();
  }
  blocks_.push_back(std::make_unique_for_overwrite<char[]>(next_block_));
  char* block = blocks_.back().get();  // new char[] is aligned for any node
  next_ = block + size;
  end_ = block + next_block_;
  next_block_ = std::min(next_block_ * 2, kMaxBlock);
  return block;
}

std::string_view Arena::Copy(std::string_view text) {
  if (text.empty()) return "";
  char* copy = static_cast<char*>(Allocate(text.size(), 1));
  std::memcpy(copy, text.data(), text.size());
  return {copy, text.size()};
}

void Arena::Retain(std::shared_ptr<const void> owner) {
  if (owner == nullptr || owner.get() == this) return;
  retained_.push_back(std::move(owner));
  if (retained_.size() % kOwnersWithoutAsking == 0) base::AskForMemory(kMaxBlock);
}

// --- Value ---

const Value* Value::FindNamed(std::string_view name) const {
  if (!is_object() || size_ == 0) return nullptr;
  return Find(name, HashKey(name));
}

const Value* Value::FindHere(const char* name, std::uint32_t size, std::uint32_t hash) const {
  if (!is_object() || size_ == 0) return nullptr;
  if ((object_->present >> PresenceShift(hash) & 1) == 0) return nullptr;
  if (object_->index != nullptr) return FindIndexed({name, size}, hash);
  if (size > kShortName) return FindLongName(members(), {name, size}, hash);
  const std::uint64_t wanted = std::bit_cast<std::uint64_t>(std::array{size, hash});
  for (const Member& member : members()) {
    if (SizeAndHash(member) == wanted && SameShortBytes(member.name_data, name, size)) {
      return &member.value;
    }
  }
  return nullptr;
}

[[gnu::noinline]] const Value* Value::FindIndexed(std::string_view name, std::uint32_t hash) const {
  const std::span<const Member> all = members();
  const std::span<const std::uint64_t> index(object_->index, size_);
  const auto before = [&](std::uint64_t entry, int) {
    const auto entry_hash = static_cast<std::uint32_t>(entry >> 32);
    if (entry_hash != hash) return entry_hash < hash;
    return all[static_cast<std::uint32_t>(entry)].name() < name;
  };
  const auto found = std::lower_bound(index.begin(), index.end(), 0, before);
  if (found == index.end()) return nullptr;
  const Member& member = all[static_cast<std::uint32_t>(*found)];
  return SameName(member, name, hash) ? &member.value : nullptr;
}

Value Value::GetNamed(std::string_view name) const {
  const Value* found = FindNamed(name);
  return found == nullptr ? Value() : *found;
}

// With the look-up inlined, as compilers would not do by themselves: a create makes hundreds.
[[gnu::flatten]] Value Value::GetHere(const char* name, std::uint32_t size,
                                      std::uint32_t hash) const {
  const Value* found = FindHere(name, size, hash);
  return found == nullptr ? Value() : *found;
}

Value Value::operator[](std::size_t index) const {
  return is_array() && index < size_ ? elements()[index] : Value();
}

Value Value::At(std::initializer_list<std::string_view> path) const {
  Value value = *this;
  for (const std::string_view name : path) value = value[name];
  return value;
}

std::uint32_t Value::depth() const {
  if (is_array()) return array_ == nullptr ? 1 : array_->depth;
  if (is_object()) return object_ == nullptr ? 1 : object_->depth;
  return 0;
}

std::string_view Value::source() const {
  internal::Source source;
  if (is_array() && array_ != nullptr) source = array_->source;
  if (is_object() && object_ != nullptr) source = object_->source;
  return {source.data, source.size};
}

bool Value::IsSameAs(const Value& other) const {
  if (type_ != other.type_) return false;
  // Most are the same to the bit; not a number differs from itself.
  if (size_ == other.size_ && int_ == other.int_ && type_ != Type::kDouble) return true;
  switch (type_) {
    case Type::kNull:
      return true;
    case Type::kBool:
      return bool_ == other.bool_;
    case Type::kInt:
      return int_ == other.int_;
    case Type::kDouble:
      return AsDouble() == other.AsDouble();
    case Type::kString:
      return size_ == other.size_ && (text_ == other.text_ || AsString() == other.AsString());
    case Type::kArray:
      return size_ == other.size_ && (size_ == 0 || array_ == other.array_);
    case Type::kObject:
      return size_ == other.size_ && (size_ == 0 || object_ == other.object_);
  }
  return false;
}

// --- Making values ---

namespace internal {

std::uint64_t* MakeIndex(Arena& arena, std::span<const Member> members) {
  auto* index = static_cast<std::uint64_t*>(
      arena.Allocate(members.size() * sizeof(std::uint64_t), alignof(std::uint64_t)));
  for (std::size_t i = 0; i < members.size(); ++i) {
    index[i] = (static_cast<std::uint64_t>(members[i].hash) << 32) | i;
  }
  std::uint64_t* const end = index + members.size();
  std::sort(index, end);
  // Equal hashes are next to each other now, in the order of their positions: order them by name.
  const auto by_name = [&](std::uint64_t a, std::uint64_t b) {
    return members[static_cast<std::uint32_t>(a)].name() <
           members[static_cast<std::uint32_t>(b)].name();
  };
  for (std::uint64_t* run = index; run != end;) {
    std::uint64_t* run_end = run + 1;
    while (run_end != end && (*run_end >> 32) == (*run >> 32)) ++run_end;
    if (run_end - run > 1) std::stable_sort(run, run_end, by_name);
    run = run_end;
  }
  return index;
}

}  // namespace internal

Value String(Arena& arena, std::string_view text) { return Value::StringView(arena.Copy(text)); }

Value NumberFromLiteral(Arena& arena, double value, std::string_view literal) {
  Value result;
  result.type_ = Type::kDouble;
  result.size_ = static_cast<std::uint32_t>(literal.size());
  void* memory = arena.Allocate(sizeof(internal::NumberNode), alignof(internal::NumberNode));
  result.number_ = new (memory) internal::NumberNode{value, literal.data()};
  return result;
}

Value MakeArray(Arena& arena, std::span<const Value> elements, internal::Source source) {
  Value result;
  result.type_ = Type::kArray;
  result.size_ = static_cast<std::uint32_t>(elements.size());
  result.array_ = nullptr;
  if (elements.empty()) return result;
  const std::size_t bytes = elements.size() * sizeof(Value);
  auto* node = static_cast<internal::ArrayNode*>(
      arena.Allocate(sizeof(internal::ArrayNode) + bytes, alignof(Value)));
  new (node) internal::ArrayNode{source, DepthOf(elements)};
  std::memcpy(static_cast<void*>(node + 1), elements.data(), bytes);
  result.array_ = node;
  return result;
}

Value MakeObject(Arena& arena, std::span<const Member> members, internal::Source source) {
  Value result;
  result.type_ = Type::kObject;
  result.size_ = static_cast<std::uint32_t>(members.size());
  result.object_ = nullptr;
  if (members.empty()) return result;
  const std::size_t bytes = members.size() * sizeof(Member);
  auto* node = static_cast<internal::ObjectNode*>(
      arena.Allocate(sizeof(internal::ObjectNode) + bytes, alignof(Member)));
  Fill(node, members, source);
  if (members.size() > internal::kLinearMembers) node->index = internal::MakeIndex(arena, members);
  result.object_ = node;
  return result;
}

Value DeepCopy(Arena& arena, Value value) {
  if (value.is_string()) return String(arena, value.AsString());
  if (!value.NumberLiteral().empty()) {
    return NumberFromLiteral(arena, value.AsDouble(), arena.Copy(value.NumberLiteral()));
  }
  if (value.is_array()) {
    std::vector<Value> elements;
    elements.reserve(value.size());
    for (const Value& element : value.elements()) elements.push_back(DeepCopy(arena, element));
    return MakeArray(arena, elements);
  }
  if (value.is_object()) {
    std::vector<Member> members;
    members.reserve(value.size());
    for (const Member& member : value.members()) {
      Member copy = member;
      copy.name_data = arena.Copy(member.name()).data();
      copy.value = DeepCopy(arena, member.value);
      members.push_back(copy);
    }
    return MakeObject(arena, members);
  }
  return value;
}

// --- Builders ---

struct ObjectBuilder::Positions {
  std::map<std::string_view, std::size_t> by_name;
};

ObjectBuilder::ObjectBuilder(Arena& arena) : arena_(arena) {}
ObjectBuilder::ObjectBuilder(Arena& arena, Value base) : arena_(arena), members_(base.members()) {}
ObjectBuilder::ObjectBuilder(ObjectBuilder&&) noexcept = default;
ObjectBuilder::~ObjectBuilder() = default;

std::size_t ObjectBuilder::PositionOf(std::string_view name) const {
  if (members_.size() <= kBuilderLinear) {
    const std::uint32_t hash = HashKey(name);
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (SameName(members_[i], name, hash)) return i;
    }
    return kNowhere;
  }
  if (positions_ == nullptr) positions_ = std::make_unique<Positions>();
  auto& by_name = positions_->by_name;
  // Catches up with what was added since the last look-up.
  for (std::size_t i = by_name.size(); i < members_.size(); ++i) by_name[members_[i].name()] = i;
  const auto found = by_name.find(name);
  return found == by_name.end() ? kNowhere : found->second;
}

ObjectBuilder& ObjectBuilder::Set(std::string_view name, Value value) {
  const std::size_t position = PositionOf(name);
  if (position == kNowhere) return Add(name, value);
  members_[position].value = value;
  return *this;
}

ObjectBuilder& ObjectBuilder::Set(std::string_view name, std::string_view text) {
  return Set(name, String(arena_, text));
}

ObjectBuilder& ObjectBuilder::Add(std::string_view name, Value value) {
  members_.push_back(Member(name, value));
  return *this;
}

ObjectBuilder& ObjectBuilder::Remove(std::string_view name) {
  const std::size_t position = PositionOf(name);
  if (position == kNowhere) return *this;
  members_.Erase(position);
  positions_.reset();
  return *this;
}

const Value* ObjectBuilder::Find(std::string_view name) const {
  const std::size_t position = PositionOf(name);
  return position == kNowhere ? nullptr : &members_[position].value;
}

Value ObjectBuilder::Build() { return MakeObject(arena_, members_.span()); }

ArrayBuilder::ArrayBuilder(Arena& arena, Value base) : arena_(arena), elements_(base.elements()) {}

Value ArrayBuilder::Build() { return MakeArray(arena_, elements_.span()); }

// --- Edits ---

Value With(Arena& arena, Value object, std::string_view name, Value value) {
  Scratch<Member> members(object.members());
  if (const Value* found = object.Find(name)) {
    std::size_t at = 0;
    while (found != &object.members()[at].value) ++at;
    members[at].value = value;
  } else {
    members.push_back(Member(arena.Copy(name), value));
  }
  return MakeObject(arena, members.span());
}

Value Without(Arena& arena, Value object, std::string_view name) {
  const Value* found = object.Find(name);
  if (found == nullptr) return object;
  Scratch<Member> members(object.members());
  std::size_t at = 0;
  while (found != &object.members()[at].value) ++at;
  members.Erase(at);
  return MakeObject(arena, members.span());
}

Value WithElement(Arena& arena, Value array, std::size_t index, Value element) {
  if (index >= array.elements().size()) return array;
  Scratch<Value> elements(array.elements());
  elements[index] = element;
  return MakeArray(arena, elements.span());
}

Value Append(Arena& arena, Value array, Value element) {
  Scratch<Value> elements(array.elements());
  elements.push_back(element);
  return MakeArray(arena, elements.span());
}

Value SetPath(Arena& arena, Value root, std::span<const std::string_view> path, Value value) {
  if (path.empty()) return value;
  return With(arena, root, path[0], SetPath(arena, root[path[0]], path.subspan(1), value));
}

Value SetPath(Arena& arena, Value root, std::initializer_list<std::string_view> path, Value value) {
  return SetPath(arena, root, std::span<const std::string_view>(path.begin(), path.size()), value);
}

namespace {

Value RemoveSpan(Arena& arena, Value root, std::span<const std::string_view> path) {
  if (path.empty()) return root;
  const Value* child = root.Find(path[0]);
  if (child == nullptr) return root;
  if (path.size() == 1) return Without(arena, root, path[0]);
  const Value changed = RemoveSpan(arena, *child, path.subspan(1));
  return changed.IsSameAs(*child) ? root : With(arena, root, path[0], changed);
}

bool EqualMembers(const Value& a, const Value& b) {
  const std::span<const Member> left = a.members();
  const std::span<const Member> right = b.members();
  for (std::size_t i = 0; i < left.size(); ++i) {
    const Member& member = left[i];
    const Value* other = SameName(right[i], member.name(), member.hash)
                             ? &right[i].value
                             : b.Find(member.name(), member.hash);
    if (other == nullptr || !(member.value == *other)) return false;
  }
  return true;
}

}  // namespace

Value RemovePath(Arena& arena, Value root, std::initializer_list<std::string_view> path) {
  return RemoveSpan(arena, root, std::span<const std::string_view>(path.begin(), path.size()));
}

bool operator==(const Value& a, const Value& b) {
  if (a.IsSameAs(b)) return true;
  if (a.type() != b.type() || a.size() != b.size()) return false;
  if (a.is_object()) return EqualMembers(a, b);
  if (!a.is_array()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!(a.elements()[i] == b.elements()[i])) return false;
  }
  return true;
}

}  // namespace portcullis::json
