// SPDX-License-Identifier: Apache-2.0

#include "cel/value.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <vector>

#include "base/strings.h"

namespace portcullis::cel {
namespace {

constexpr ErrorNode kNoSuchOverload{"no such overload"};

class ArrayList final : public List {
 public:
  explicit ArrayList(std::span<const Value> elements) : elements_(elements) {}
  std::size_t size() const override { return elements_.size(); }
  Value At(json::Arena&, std::size_t index) const override { return elements_[index]; }

 private:
  std::span<const Value> elements_;
};

// Where a key is that is the same as itself only; null for a list or map that is made anew each time
// it is read.
const void* IdentityOf(Value key) {
  switch (key.kind()) {
    case Kind::kList:
      return key.own_list();
    case Kind::kMap:
      return key.own_map();
    case Kind::kOptional:
      return key.content();
    default:
      return key.object();
  }
}

int IdentityOrder(Value a, Value b) {
  const std::less<> less;
  return less(IdentityOf(a), IdentityOf(b)) ? -1 : less(IdentityOf(b), IdentityOf(a)) ? 1 : 0;
}

int ObjectOrder(const Object& a, const Object& b) {
  const std::string text = a.KeyText();
  const std::string other = b.KeyText();
  if (text.empty() && other.empty())
    return IdentityOrder(Value::FromObject(&a), Value::FromObject(&b));
  const int types = a.type()->name.compare(b.type()->name);
  return types != 0 ? types : text.compare(other);
}

// Zero for keys that are the same.
int KeyOrder(Value a, Value b) {
  const auto order = [](auto x, auto y) { return x < y ? -1 : y < x ? 1 : 0; };
  if (a.kind() != b.kind()) return order(static_cast<int>(a.kind()), static_cast<int>(b.kind()));
  switch (a.kind()) {
    case Kind::kNull:
      return 0;
    case Kind::kString:
    case Kind::kBytes:
      return order(a.text().compare(b.text()), 0);
    case Kind::kUint:
      return order(a.uint_value(), b.uint_value());
    case Kind::kDouble:
      if (std::isnan(a.double_value()) || std::isnan(b.double_value())) {
        return order(std::isnan(b.double_value()), std::isnan(a.double_value()));
      }
      return order(a.double_value(), b.double_value());
    case Kind::kTimestamp:
      if (a.seconds() == b.seconds()) return order(a.nanos(), b.nanos());
      return order(a.seconds(), b.seconds());
    case Kind::kType:
      return order(a.type_value()->name.compare(b.type_value()->name), 0);
    case Kind::kList:
    case Kind::kMap:
    case Kind::kOptional:
      return IdentityOrder(a, b);
    case Kind::kObject:
      return ObjectOrder(*a.object(), *b.object());
    default:
      return order(a.int_value(), b.int_value());
  }
}

// The number as a key of another kind, or unset if it is none of that kind.
Value AsKind(Value number, Kind kind) {
  constexpr double kTwo63 = 9223372036854775808.0;
  if (number.kind() == Kind::kDouble) {
    const double d = number.double_value();
    if (kind == Kind::kInt && d >= -kTwo63 && d < kTwo63 && std::trunc(d) == d) {
      return Value::Int(static_cast<std::int64_t>(d));
    }
    if (kind == Kind::kUint && d >= 0 && d < 2 * kTwo63 && std::trunc(d) == d) {
      return Value::Uint(static_cast<std::uint64_t>(d));
    }
    return Value();
  }
  const bool negative = number.kind() == Kind::kInt && number.int_value() < 0;
  const std::uint64_t magnitude = number.kind() == Kind::kInt
                                      ? static_cast<std::uint64_t>(number.int_value())
                                      : number.uint_value();
  if (kind == Kind::kUint) return negative ? Value() : Value::Uint(magnitude);
  if (kind == Kind::kInt) {
    const bool fits = negative || magnitude <= static_cast<std::uint64_t>(INT64_MAX);
    return fits ? Value::Int(static_cast<std::int64_t>(magnitude)) : Value();
  }
  const double d =
      negative ? static_cast<double>(number.int_value()) : static_cast<double>(magnitude);
  return Value::Double(d);
}

constexpr std::size_t kIndexed = 16;  // from here on a sorted index is worth its making

// Entries in order of insertion; large maps also have an index in order of their keys.
class EntryMap final : public Map {
 public:
  EntryMap(std::span<const MapEntry> entries, std::span<const std::uint32_t> order)
      : entries_(entries), order_(order) {}
  std::size_t size() const override { return entries_.size(); }
  Value KeyAt(json::Arena&, std::size_t index) const override { return entries_[index].key; }
  Value ValueAt(json::Arena&, std::size_t index) const override { return entries_[index].value; }

  Value Find(json::Arena& arena, Value key) const override {
    if (!entries_.empty() && !IsHashable(key)) return UnhashableKey(arena, key);
    Value found = FindSame(key);
    if (!found.is_unset() || !key.is_number()) return found;
    for (const Kind kind : {Kind::kInt, Kind::kUint, Kind::kDouble}) {
      if (kind == key.kind()) continue;
      const Value other = AsKind(key, kind);
      if (!other.is_unset()) found = FindSame(other);
      if (!found.is_unset()) return found;
    }
    return Value();
  }

 private:
  Value FindSame(Value key) const {
    if (order_.empty()) {
      for (const MapEntry& entry : entries_) {
        if (SameKey(entry.key, key)) return entry.value;
      }
      return Value();
    }
    const auto found = std::lower_bound(order_.begin(), order_.end(), key,
                                        [this](std::uint32_t index, Value wanted) {
                                          return KeyOrder(entries_[index].key, wanted) < 0;
                                        });
    if (found == order_.end() || !SameKey(entries_[*found].key, key)) return Value();
    return entries_[*found].value;
  }

  std::span<const MapEntry> entries_;
  std::span<const std::uint32_t> order_;  // empty for small maps
};

template <typename T>
T* NewArray(json::Arena& arena, std::size_t count) {
  return static_cast<T*>(arena.Allocate(count * sizeof(T) + 1, alignof(T)));
}

}  // namespace

bool SameKey(Value a, Value b) {
  if (KeyOrder(a, b) != 0) return false;
  if (a.kind() == Kind::kDouble) return !std::isnan(a.double_value());
  const bool is_made_anew = a.is_list() || a.is_map();
  return !is_made_anew || IdentityOf(a) != nullptr;
}

Value Object::Field(json::Arena&, std::string_view) const { return Value(); }
bool Object::HasField(std::string_view) const { return false; }
json::Value Object::Json(json::Arena&) const { return {}; }
Value Object::ToStringValue(json::Arena&) const { return Value(); }

Value Value::FromJson(const json::Value* node) {
  switch (node->type()) {
    case json::Type::kNull:
      return Null();
    case json::Type::kBool:
      return Bool(node->AsBool());
    case json::Type::kInt:
      return Int(node->AsInt());
    case json::Type::kDouble:
      return Double(node->AsDouble());
    case json::Type::kString:
      return String(node->AsString());
    default:
      break;
  }
  Value v(node->is_array() ? Kind::kList : Kind::kMap);
  v.from_json_ = true;
  v.json_ = node;
  return v;
}

std::size_t Value::size() const {
  if (from_json_) return json_->size();
  return kind_ == Kind::kList ? list_->size() : map_->size();
}

Value Value::At(json::Arena& arena, std::size_t index) const {
  return from_json_ ? FromJson(&json_->elements()[index]) : list_->At(arena, index);
}

Value Value::KeyAt(json::Arena& arena, std::size_t index) const {
  return from_json_ ? String(json_->members()[index].name()) : map_->KeyAt(arena, index);
}

Value Value::ValueAt(json::Arena& arena, std::size_t index) const {
  return from_json_ ? FromJson(&json_->members()[index].value) : map_->ValueAt(arena, index);
}

Value List::EqualTo(json::Arena&, Value) const { return {}; }
Value List::JoinedWith(json::Arena&, Value) const { return {}; }
Value List::Holds(json::Arena&, Value) const { return {}; }
Value Map::EqualTo(json::Arena&, Value) const { return {}; }

Value Value::Find(json::Arena& arena, Value key) const {
  if (!from_json_) return map_->Find(arena, key);
  if (!key.is_string()) return Value();
  const json::Value* found = json_->Find(key.text());
  return found ? FromJson(found) : Value();
}

Value MakeString(json::Arena& arena, std::string_view text) {
  return Value::String(arena.Copy(text));
}
Value MakeBytes(json::Arena& arena, std::string_view bytes) {
  return Value::Bytes(arena.Copy(bytes));
}
Value MakeError(json::Arena& arena, std::string_view text) {
  return Value::Error(New<ErrorNode>(arena, ErrorNode{arena.Copy(text)}));
}
bool IsHashable(Value key) {
  if (key.is_object()) return key.object()->IsHashable();
  return key.kind() != Kind::kBytes;
}

Value UnhashableKey(json::Arena& arena, Value key) {
  return MakeInternalError(
      arena, base::StrCat("runtime error: hash of unhashable type ", GoTypeName(key)));
}

Value MakeInternalError(json::Arena& arena, std::string_view panic) {
  return Value::Error(New<ErrorNode>(
      arena, ErrorNode{arena.Copy(base::StrCat("internal error: ", panic)), ErrorCode::kInternal}));
}
Value MakeSome(json::Arena& arena, Value content) {
  return Value::Some(New<Value>(arena, content));
}

Value MakeList(json::Arena& arena, std::span<const Value> elements) {
  Value* copy = NewArray<Value>(arena, elements.size());
  std::uninitialized_copy(elements.begin(), elements.end(), copy);
  return Value::FromList(New<ArrayList>(arena, std::span<const Value>(copy, elements.size())));
}

Value MakeMap(json::Arena& arena, std::span<const MapEntry> entries) {
  MapEntry* copy = NewArray<MapEntry>(arena, entries.size());
  if (entries.size() < kIndexed) {
    std::size_t count = 0;
    for (const MapEntry& entry : entries) {
      const auto same = std::find_if(copy, copy + count,
                                     [&](const MapEntry& e) { return SameKey(e.key, entry.key); });
      if (same == copy + count) ++count;
      new (same) MapEntry(entry);
    }
    return Value::FromMap(
        New<EntryMap>(arena, std::span<const MapEntry>(copy, count), std::span<std::uint32_t>()));
  }
  std::uninitialized_copy(entries.begin(), entries.end(), copy);
  std::uint32_t* order = NewArray<std::uint32_t>(arena, entries.size());
  for (std::uint32_t i = 0; i < entries.size(); ++i) order[i] = i;
  std::stable_sort(order, order + entries.size(), [&](std::uint32_t a, std::uint32_t b) {
    return KeyOrder(copy[a].key, copy[b].key) < 0;
  });
  std::vector<MapEntry> unique;  // only if there are equal keys: of those the last one counts
  for (std::size_t i = 1; i < entries.size() && unique.empty(); ++i) {
    if (SameKey(copy[order[i - 1]].key, copy[order[i]].key)) unique.push_back(copy[order[0]]);
  }
  if (unique.empty()) {
    return Value::FromMap(New<EntryMap>(arena, std::span<const MapEntry>(copy, entries.size()),
                                        std::span<const std::uint32_t>(order, entries.size())));
  }
  for (std::size_t i = 1; i < entries.size(); ++i) {
    if (SameKey(unique.back().key, copy[order[i]].key)) {
      unique.back() = copy[order[i]];
    } else {
      unique.push_back(copy[order[i]]);
    }
  }
  return MakeMap(arena, unique);
}

Value MakeFromJson(json::Arena& arena, json::Value value) {
  return Value::FromJson(New<json::Value>(arena, value));
}

Value NoSuchOverload() { return Value::Error(&kNoSuchOverload); }

bool IsOrdinaryError(Value value) {
  return value.is_error() && value.error()->code == ErrorCode::kOrdinary;
}

const Type* TypeOf(Value value) {
  switch (value.kind()) {
    case Kind::kUnset:
    case Kind::kError:
      return &kErrorType;
    case Kind::kNull:
      return &kNullType;
    case Kind::kBool:
      return &kBoolType;
    case Kind::kInt:
      return &kIntType;
    case Kind::kUint:
      return &kUintType;
    case Kind::kDouble:
      return &kDoubleType;
    case Kind::kString:
      return &kStringType;
    case Kind::kBytes:
      return &kBytesType;
    case Kind::kTimestamp:
      return &kTimestampType;
    case Kind::kDuration:
      return &kDurationType;
    case Kind::kList:
      return &kListType;
    case Kind::kMap:
      return &kMapType;
    case Kind::kType:
      return &kTypeType;
    case Kind::kOptional:
      return &kOptionalType;
    case Kind::kObject:
      return value.object()->type();
  }
  return &kErrorType;
}

std::string_view TypeName(Value value) { return TypeOf(value)->name; }

std::string_view GoTypeName(Value value) {
  switch (value.kind()) {
    case Kind::kNull:
      return "types.Null";
    case Kind::kBool:
      return "types.Bool";
    case Kind::kInt:
      return "types.Int";
    case Kind::kUint:
      return "types.Uint";
    case Kind::kDouble:
      return "types.Double";
    case Kind::kString:
      return "types.String";
    case Kind::kBytes:
      return "types.Bytes";
    case Kind::kTimestamp:
      return "types.Timestamp";
    case Kind::kDuration:
      return "types.Duration";
    case Kind::kType:
      return "*types.Type";
    case Kind::kOptional:
      return "*types.Optional";
    case Kind::kList:
      return "*types.baseList";
    case Kind::kMap:
      return "*types.baseMap";
    case Kind::kObject:
      return value.object()->GoType();
    default:
      return "*types.Err";
  }
}

std::size_t CodePoints(std::string_view text) {
  // Every byte but those that continue a character, 10xxxxxx: eight at a time.
  constexpr std::uint64_t kLowBits = 0x0101010101010101U;
  std::size_t count = text.size();
  for (; text.size() >= sizeof(std::uint64_t); text.remove_prefix(sizeof(std::uint64_t))) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data(), sizeof(word));
    count -= (word >> 7 & ~(word >> 6) & kLowBits) * kLowBits >> 56;  // the sum of its bytes
  }
  for (const char c : text) count -= (static_cast<unsigned char>(c) & 0xC0) == 0x80 ? 1 : 0;
  return count;
}

std::uint64_t CostSize(Value value) {
  switch (value.kind()) {
    case Kind::kString:
      return CodePoints(value.text());
    case Kind::kBytes:
      return value.text().size();
    case Kind::kList:
    case Kind::kMap:
      return value.size();
    case Kind::kOptional:
      return value.content() ? CostSize(*value.content()) : 1;
    case Kind::kObject:
      return value.object()->CostSize();
    default:
      return 1;
  }
}

bool IsZeroValue(Value value) {
  switch (value.kind()) {
    case Kind::kNull:
      return true;
    case Kind::kBool:
      return !value.bool_value();
    case Kind::kInt:
    case Kind::kDuration:
      return value.int_value() == 0;
    case Kind::kUint:
      return value.uint_value() == 0;
    case Kind::kDouble:
      return value.double_value() == 0;
    case Kind::kString:
    case Kind::kBytes:
      return value.text().empty();
    case Kind::kList:
    case Kind::kMap:
      return value.size() == 0;
    case Kind::kTimestamp:
      // Go's zero time is the first second of the year 1.
      return value.seconds() == -62135596800 && value.nanos() == 0;
    case Kind::kOptional:
      return value.content() == nullptr;
    case Kind::kObject:
      return value.object()->IsZero();
    default:
      return false;
  }
}

}  // namespace portcullis::cel
