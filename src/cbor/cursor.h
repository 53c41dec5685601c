// SPDX-License-Identifier: Apache-2.0

// A place in CBOR bytes, from which heads and the contents of strings are taken.
#pragma once

#include <cstdint>
#include <string_view>

#include "cbor/item.h"

namespace portcullis::cbor {

// Used by one thread; the bytes must outlive it.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : bytes_(bytes) {}

  bool done() const { return at_ == bytes_.size(); }
  std::size_t position() const { return at_; }
  std::size_t left() const { return bytes_.size() - at_; }

  // The first byte of the next head, its argument left open.
  // REQUIRES: !done().
  Head Peek() const;
  // Takes a head; false if the bytes end within it.
  bool Take(Head& head);
  // Takes the end of an item of indefinite length, if that is next.
  bool TakeBreak();
  bool Skip(std::uint64_t size);

  // The following are for bytes that have been checked (CheckWellFormed()).
  std::string_view TakeBytes(std::uint64_t size);
  // Goes past what follows a head: the content of a string, the items of an array or map.
  void SkipContent(const Head& head);
  void SkipItem();

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

// The number of a head that is a float; 0 for all others.
double FloatOf(const Head& head);

}  // namespace portcullis::cbor
