// SPDX-License-Identifier: Apache-2.0

#include "store/object.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "json/reader.h"

namespace portcullis::store {

namespace {

// Large objects live long among requests whose memory comes and goes: pages of their own leave no
// holes behind.
constexpr std::size_t kOwnPages = std::size_t{64} << 10;

// In front of a large piece.
struct alignas(std::max_align_t) Head {
  bool has_own_pages;
};

// With an alignment the heap gives a piece of the size that is asked for; without one, of a size that
// suits blocks which come and go (base/heap_cache.h).
constexpr std::align_val_t kExact{alignof(std::max_align_t)};

// glibc grows the heap of a thread by the pages that are asked for, and asks the kernel (mprotect) each time.
// What stays makes it grow for good: in larger steps, of which nothing is touched.
void GrowHeap(std::size_t size) {
  constexpr std::size_t kStep = std::size_t{256} << 10;
  thread_local std::size_t room = 0;
  if (room < size) {
    void* volatile step = std::malloc(kStep);  // volatile: compilers drop what is freed at once
    std::free(step);
    room = kStep;
  }
  room -= size;
}

// A process has a limited number of mappings: beyond it large pieces come from the heap, too.
void* NewPiece(std::size_t size) {
  if (size < kOwnPages) {
    GrowHeap(size);
    return ::operator new(size, kExact);
  }
  size += sizeof(Head);
  void* piece = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const bool has_own_pages = piece != MAP_FAILED;
  if (!has_own_pages) piece = ::operator new(size, kExact);
  return new (piece) Head{has_own_pages} + 1;
}

void FreePiece(void* piece, std::size_t size) {
  if (size < kOwnPages) return ::operator delete(piece, kExact);
  Head* head = static_cast<Head*>(piece) - 1;
  if (head->has_own_pages) {
    ::munmap(head, size + sizeof(Head));
  } else {
    ::operator delete(head, kExact);
  }
}

}  // namespace

// Allocates with `room` bytes behind what it is asked for.
template <typename T>
struct Object::Allocator {
  using value_type = T;
  explicit Allocator(std::size_t bytes) : room(bytes) {}
  template <typename U>
  Allocator(const Allocator<U>& other) : room(other.room) {}  // NOLINT: converts, as allocators do
  T* allocate(std::size_t count) { return static_cast<T*>(NewPiece(count * sizeof(T) + room)); }
  void deallocate(T* memory, std::size_t count) { FreePiece(memory, count * sizeof(T) + room); }
  bool operator==(const Allocator&) const = default;
  std::size_t room;
};

struct Object::Parts {
  std::shared_ptr<const CollectionName> collection;
  std::string_view ns;
  std::string_view name;
  std::int64_t revision;
  std::string_view before;
  std::string_view revision_text;
  std::string_view after;

  std::size_t position_size() const { return (ns.empty() ? 0 : ns.size() + 1) + name.size(); }
  std::size_t bytes_size() const { return before.size() + revision_text.size() + after.size(); }
};

std::shared_ptr<Object> Object::Make(std::shared_ptr<const CollectionName> collection,
                                     std::string_view ns, std::string_view name,
                                     std::int64_t revision, std::string_view before,
                                     std::string_view after) {
  // A blank at the end is a note of who has written it, not a part of the object.
  const bool lacks_defaults = after.ends_with(' ');
  if (lacks_defaults) after.remove_suffix(1);
  std::array<char, 24> digits{};
  const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), revision).ptr;
  const Parts parts{std::move(collection), ns, name, revision, before, {digits.data(), end}, after};
  auto made = std::allocate_shared<Object>(
      Allocator<Object>(parts.position_size() + parts.bytes_size()), parts);
  if (lacks_defaults) made->MarkLacksDefaults();
  return made;
}

Object::Object(const Parts& parts)
    : collection_(parts.collection),
      revision_(parts.revision),
      position_size_(static_cast<std::uint32_t>(parts.position_size())),
      ns_size_(static_cast<std::uint32_t>(parts.ns.size())),
      bytes_size_(static_cast<std::uint32_t>(parts.bytes_size())),
      revision_at_(static_cast<std::uint32_t>(parts.before.size())) {
  char* next = reinterpret_cast<char*>(this + 1);
  const auto append = [&next](std::string_view text) {
    if (!text.empty()) std::memcpy(next, text.data(), text.size());
    next += text.size();
  };
  append(parts.ns);
  if (!parts.ns.empty()) append("/");
  append(parts.name);
  append(parts.before);
  append(parts.revision_text);
  append(parts.after);
}

Object::~Object() { ForgetDerived(); }

const json::Document& Object::document() const {
  if (const auto* parsed = document_.load(std::memory_order_acquire)) return *parsed;
  auto arena = std::make_shared<json::Arena>();
  // The text is ours and lives as long as the document does, so strings may point into it.
  const auto root = json::Parse(*arena, bytes(), {.borrow_text = true});
  auto made = std::make_unique<const json::Document>(
      root.ok() ? json::Document(std::move(arena), root.value()) : json::Document());
  // Of two that parse at the same time the first one's document stays.
  const json::Document* known = nullptr;
  if (!document_.compare_exchange_strong(known, made.get(), std::memory_order_acq_rel)) {
    return *known;
  }
  return *made.release();
}

std::string_view Object::encoding() const {
  const std::string* known = encoding_.load(std::memory_order_acquire);
  return known != nullptr ? std::string_view(*known) : std::string_view();
}

std::string_view Object::KeepEncoding(std::string encoding) const {
  auto made = std::make_unique<const std::string>(std::move(encoding));
  const std::string* known = nullptr;
  if (!encoding_.compare_exchange_strong(known, made.get(), std::memory_order_acq_rel)) {
    return *known;
  }
  return *made.release();
}

void Object::ForgetDerived() const {
  delete document_.exchange(nullptr, std::memory_order_acq_rel);
  delete encoding_.exchange(nullptr, std::memory_order_acq_rel);
}

json::Document DocumentOf(ObjectPtr object) {
  const json::Value root = object->document().root();
  auto arena = std::make_shared<json::Arena>();
  arena->Retain(std::move(object));
  return {std::move(arena), root};
}

std::string_view Object::uid() const {
  // Kubernetes' order of fields puts it before the resourceVersion, whose place is known.
  constexpr std::string_view kAfter = R"(","resourceVersion":")";
  constexpr std::string_view kBefore = R"("uid":)";
  std::string_view head = bytes().substr(0, revision_at_);
  if (head.ends_with(kAfter)) {
    head.remove_suffix(kAfter.size());
    // No text holds the quote in front of a value without a backslash before it.
    if (const void* const quote = memrchr(head.data(), '"', head.size())) {
      const auto at = static_cast<std::size_t>(static_cast<const char*>(quote) - head.data());
      const std::string_view value = head.substr(at + 1);
      if (head.substr(0, at).ends_with(kBefore) && value.find('\\') == value.npos) return value;
    }
  }
  // Custom resources are sorted by name: it comes next.
  constexpr std::string_view kNext = R"(","uid":")";
  std::string_view tail = bytes().substr(revision_at_);
  tail = tail.substr(std::min(tail.find('"'), tail.size()));
  if (tail.starts_with(kNext)) {
    tail.remove_prefix(kNext.size());
    const std::size_t end = tail.find_first_of("\"\\");
    if (end != tail.npos && tail[end] == '"') return tail.substr(0, end);
  }
  return document()["metadata"]["uid"].AsString();
}

ObjectPtr Object::WithRevision(std::int64_t revision) const {
  return Make(collection_, ns(), name(), revision, bytes().substr(0, revision_at_),
              bytes().substr(revision_at_ + std::to_string(revision_).size()));
}

}  // namespace portcullis::store
