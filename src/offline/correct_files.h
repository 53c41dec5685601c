// SPDX-License-Identifier: Apache-2.0

// Files with corrections in them: what `test --update` and `lint --fix` write, and say before.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "offline/result.h"

namespace portcullis::offline {

// A file with its new text, and what is said of it before it is written.
struct CorrectedFile {
  std::string path;
  std::string text;
  std::vector<std::string> lines;
};

// The files of the corrections, in their order. `problems` receives what cannot be changed in its place.
std::vector<CorrectedFile> CorrectFiles(std::span<const Correction> corrections,
                                        std::vector<Problem>& problems);

}  // namespace portcullis::offline
