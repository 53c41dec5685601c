// SPDX-License-Identifier: Apache-2.0

// InlineVector<T, N>: a growing array whose first N elements need no allocation. For what is built
// and used up within a function: builders, scratch lists.
//
// Elements are trivially copyable and move when the array grows, as std::vector's do.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <type_traits>

namespace portcullis::base {

template <typename T, std::size_t N>
class InlineVector {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  InlineVector() = default;
  explicit InlineVector(std::span<const T> elements) {
    Reserve(elements.size());
    if (!elements.empty()) std::memcpy(data(), elements.data(), elements.size_bytes());
    size_ = elements.size();
  }
  InlineVector(const InlineVector& other) {
    if (other.heap_ != nullptr) [[unlikely]] {
      CopyLarge(other);
      return;
    }
    std::memcpy(here_, other.here_, sizeof(here_));  // of fixed size: it takes no call
    size_ = other.size_;
  }
  InlineVector(InlineVector&& other) noexcept
      : size_(other.size_), capacity_(other.capacity_), heap_(std::move(other.heap_)) {
    if (heap_ == nullptr) std::memcpy(here_, other.here_, size_ * sizeof(T));
    other.size_ = 0;
    other.capacity_ = N;
  }
  InlineVector& operator=(InlineVector other) noexcept {
    size_ = other.size_;
    capacity_ = other.capacity_;
    heap_ = std::move(other.heap_);
    if (heap_ == nullptr) std::memcpy(here_, other.here_, size_ * sizeof(T));
    return *this;
  }

  T* data() { return reinterpret_cast<T*>(heap_ != nullptr ? heap_.get() : here_); }
  const T* data() const {
    return reinterpret_cast<const T*>(heap_ != nullptr ? heap_.get() : here_);
  }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t at) { return data()[at]; }
  const T& operator[](std::size_t at) const { return data()[at]; }
  std::span<const T> span() const { return {data(), size_}; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }

  void push_back(const T& element) {
    if (size_ == capacity_) [[unlikely]] {
      GrowAndPush(element);
      return;
    }
    new (data() + size_++) T(element);
  }
  void Erase(std::size_t at) {
    std::memmove(static_cast<void*>(data() + at), data() + at + 1, (size_ - at - 1) * sizeof(T));
    --size_;
  }
  void Reserve(std::size_t wanted) {
    if (wanted <= capacity_) return;
    Grow(wanted);
  }

 private:
  // What seldom happens stands apart, so that what calls the above stays small.
  [[gnu::noinline]] void Grow(std::size_t wanted) {
    const std::size_t capacity = std::max(wanted, capacity_ * 2);
    std::unique_ptr<std::byte[]> grown(new std::byte[capacity * sizeof(T)]);
    if (size_ > 0) std::memcpy(grown.get(), data(), size_ * sizeof(T));
    heap_ = std::move(grown);
    capacity_ = capacity;
  }
  [[gnu::noinline]] void GrowAndPush(T element) {  // by value: it may be one of ours
    Grow(size_ + 1);
    new (data() + size_++) T(element);
  }
  [[gnu::noinline]] void CopyLarge(const InlineVector& other) {
    Reserve(other.size_);
    std::memcpy(data(), other.data(), other.size_ * sizeof(T));
    size_ = other.size_;
  }

  std::size_t size_ = 0;
  std::size_t capacity_ = N;
  std::unique_ptr<std::byte[]> heap_;
  alignas(T) std::byte here_[N * sizeof(T)];
};

}  // namespace portcullis::base
