// SPDX-License-Identifier: Apache-2.0

// WriteQueue holds the bytes of a connection that the socket has not taken yet. Small pieces are
// put together so that they leave in one TLS record; large and shared ones are not copied.
//
// Confined to its connection's thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace portcullis::net::internal {

class WriteQueue {
 public:
  // One TLS record's worth: pieces up to this size are copied together.
  static constexpr std::size_t kRecord = 16 * 1024;

  void Append(std::string_view piece) {
    bytes_ += piece.size();
    if (!chunks_.empty() && !chunks_.back().shared &&
        chunks_.back().owned.size() + piece.size() <= kRecord) {
      chunks_.back().owned.append(piece);
    } else {
      chunks_.push_back({std::string(piece), nullptr});
    }
  }
  void Append(std::string&& piece) {
    const bool joins = piece.size() <= kRecord / 2 && !chunks_.empty();
    if (joins) return Append(std::string_view(piece));
    bytes_ += piece.size();
    chunks_.push_back({std::move(piece), nullptr});
  }
  void Append(const std::shared_ptr<const std::string>& piece) {
    if (piece->size() <= kRecord / 2) return Append(std::string_view(*piece));
    bytes_ += piece->size();
    chunks_.push_back({{}, piece});
  }

  bool empty() const { return bytes_ == 0; }
  std::size_t bytes() const { return bytes_; }
  // The next bytes to send. REQUIRES: !empty().
  std::string_view Front() const { return chunks_[first_].view().substr(offset_); }
  // The next bytes as one record takes them, so that each costs one call of the kernel: of a large
  // piece whole records where they lie, of smaller ones what is put together in `buffer`. Until
  // Consume() it does not change but for getting longer, as OpenSSL wants it.
  // REQUIRES: !empty().
  std::string_view NextRecord(std::string& buffer) const {
    const std::string_view front = Front();
    if (front.size() >= kRecord) return front.substr(0, front.size() - front.size() % kRecord);
    if (front.size() == bytes_) return front;
    buffer.assign(front);
    for (std::size_t at = first_ + 1; at < chunks_.size() && buffer.size() < kRecord; ++at) {
      buffer.append(chunks_[at].view().substr(0, kRecord - buffer.size()));
    }
    return buffer;
  }
  void Consume(std::size_t size) {
    bytes_ -= size;
    offset_ += size;
    while (first_ < chunks_.size() && offset_ >= chunks_[first_].view().size()) {
      offset_ -= chunks_[first_].view().size();
      chunks_[first_] = {};
      ++first_;
    }
    if (bytes_ == 0) {
      // An idle connection keeps no buffer.
      std::vector<Chunk>().swap(chunks_);
      first_ = 0;
      offset_ = 0;
    } else if (first_ >= 64) {
      chunks_.erase(chunks_.begin(), chunks_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
  }

 private:
  struct Chunk {
    std::string owned;
    std::shared_ptr<const std::string> shared;
    std::string_view view() const { return shared ? *shared : owned; }
  };
  std::vector<Chunk> chunks_;
  std::size_t first_ = 0;
  std::size_t offset_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace portcullis::net::internal
