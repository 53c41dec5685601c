// SPDX-License-Identifier: Apache-2.0

// Progress: hears how far a command has come. Implementations are thread-safe.
#pragma once

#include <cstddef>

namespace portcullis::offline {

class Progress {
 public:
  virtual ~Progress() = default;
  virtual void Expect(std::size_t more) = 0;  // so many requests are to be judged
  virtual void Done() = 0;                    // one of them has been
};

}  // namespace portcullis::offline
