// SPDX-License-Identifier: Apache-2.0

#include "json/diff.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "json/pointer.h"

namespace portcullis::json {
namespace {

// Comparisons of elements that stand at different positions are limited to so many.
constexpr std::size_t kMaxComparisons = 10'000;

bool IsEqual(Value a, Value b) { return a.IsSameAs(b) || a == b; }

// The elements of both lists between their equal ends.
struct Middle {
  std::span<const Value> before;
  std::span<const Value> after;
};

// The positions of elements by the member "name"; empty if an element has none or names repeat.
std::unordered_map<std::string_view, std::size_t> PositionsByName(std::span<const Value> elements) {
  std::unordered_map<std::string_view, std::size_t> positions;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const std::string_view name = elements[i]["name"].AsString();
    if (name.empty() || !positions.emplace(name, i).second) return {};
  }
  return positions;
}

// The position in `before` of what stands for after[at], not before `from`; or before.size().
class Matching {
 public:
  explicit Matching(const Middle& middle)
      : middle_(middle),
        names_(PositionsByName(middle.before)),
        by_name_(!names_.empty() && !PositionsByName(middle.after).empty()) {}

  std::size_t Find(std::size_t at, std::size_t from) const {
    const std::size_t none = middle_.before.size();
    const Value wanted = middle_.after[at];
    if (by_name_) {
      const auto found = names_.find(wanted["name"].AsString());
      return found != names_.end() && found->second >= from ? found->second : none;
    }
    if (middle_.before.size() == middle_.after.size()) return at;
    if (middle_.before.size() * middle_.after.size() > kMaxComparisons) return none;
    for (std::size_t i = from; i < none; ++i) {
      if (IsEqual(middle_.before[i], wanted)) return i;
    }
    return none;
  }

 private:
  const Middle& middle_;
  const std::unordered_map<std::string_view, std::size_t> names_;
  const bool by_name_;
};

class Differ {
 public:
  explicit Differ(Arena& arena) : arena_(arena), operations_(arena) {}

  Value Run(Value before, Value after) {
    if (before.is_null() && !after.is_null()) {
      Note("add", &after);
    } else {
      Compare(before, after);
    }
    return operations_.Build();
  }

 private:
  void Compare(Value before, Value after) {
    if (before.IsSameAs(after)) return;
    if (before.is_object() && after.is_object()) return CompareObjects(before, after);
    if (before.is_array() && after.is_array()) return CompareArrays(before, after);
    if (before == after) return;
    Note("replace", &after);
  }

  void CompareObjects(Value before, Value after) {
    for (const Member& member : before.members()) {
      if (!after.Has(member.name())) {
        Within(member.name(), [&] { Note("remove", nullptr); });
      }
    }
    for (const Member& member : after.members()) {
      const Value* old = before.Find(member.name());
      if (old != nullptr && old->IsSameAs(member.value)) continue;
      Within(member.name(), [&] {
        if (old == nullptr) return Note("add", &member.value);
        Compare(*old, member.value);
      });
    }
  }

  // What goes is removed from the end, so that positions stay those of `before`; then what comes is
  // added from the beginning, so that they are those of `after`.
  void CompareArrays(Value before, Value after) {
    const auto aligned = AlignElements(before, after);
    std::vector<bool> stays(before.size());
    for (const std::ptrdiff_t position : aligned) {
      if (position != kNewElement) stays[static_cast<std::size_t>(position)] = true;
    }
    for (std::size_t i = before.size(); i-- > 0;) {
      if (!stays[i]) Within(std::to_string(i), [&] { Note("remove", nullptr); });
    }
    for (std::size_t i = 0; i < after.size(); ++i) {
      const Value element = after.elements()[i];
      Within(std::to_string(i), [&] {
        if (aligned[i] == kNewElement) return Note("add", &element);
        Compare(before.elements()[static_cast<std::size_t>(aligned[i])], element);
      });
    }
  }

  template <typename Do>
  void Within(std::string_view token, Do&& run) {
    const std::size_t size = path_.size();
    path_.push_back('/');
    path_ += EscapeToken(token);
    run();
    path_.resize(size);
  }

  void Note(std::string_view operation, const Value* value) {
    ObjectBuilder made(arena_);
    made.Add("op", Value::StringView(operation)).Add("path", String(arena_, path_));
    if (value != nullptr) made.Add("value", *value);
    operations_.Add(made.Build());
  }

  Arena& arena_;
  ArrayBuilder operations_;
  std::string path_;
};

}  // namespace

std::vector<std::ptrdiff_t> AlignElements(Value before, Value after) {
  const auto old = before.elements();
  const auto now = after.elements();
  const std::size_t common = std::min(old.size(), now.size());
  std::size_t head = 0;
  while (head < common && IsEqual(old[head], now[head])) ++head;
  std::size_t tail = 0;
  while (tail < common - head && IsEqual(old[old.size() - tail - 1], now[now.size() - tail - 1])) {
    ++tail;
  }
  std::vector<std::ptrdiff_t> aligned(now.size(), kNewElement);
  for (std::size_t i = 0; i < head; ++i) aligned[i] = static_cast<std::ptrdiff_t>(i);
  for (std::size_t i = 1; i <= tail; ++i) {
    aligned[now.size() - i] = static_cast<std::ptrdiff_t>(old.size() - i);
  }
  const Middle middle{old.subspan(head, old.size() - head - tail),
                      now.subspan(head, now.size() - head - tail)};
  if (middle.before.empty()) return aligned;
  const Matching matching(middle);
  std::size_t from = 0;
  for (std::size_t i = 0; i < middle.after.size(); ++i) {
    const std::size_t found = matching.Find(i, from);
    if (found == middle.before.size()) continue;
    aligned[head + i] = static_cast<std::ptrdiff_t>(head + found);
    from = found + 1;
  }
  return aligned;
}

Value Diff(Arena& arena, Value before, Value after) { return Differ(arena).Run(before, after); }

}  // namespace portcullis::json
