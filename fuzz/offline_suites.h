// SPDX-License-Identifier: Apache-2.0

// Fuzzing the readers of test files: the input is a test file and, behind a line "=====", what every
// file has that it names. Nothing is read from the disk.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "offline/suites/suite_format.h"

namespace portcullis::fuzz {

class OneFile final : public offline::FileAccess {
 public:
  explicit OneFile(std::string_view text) : text_(text) {}
  offline::Inputs Read(const offline::InputOptions& options) const override {
    offline::Inputs inputs;
    for (const std::string& path : options.paths) offline::ReadText(path, text_, true, inputs);
    for (const std::string& path : options.filenames) offline::ReadText(path, text_, true, inputs);
    return inputs;
  }
  base::Result<std::string> Text(const std::string&) const override { return text_; }
  bool IsFolder(const std::string&) const override { return true; }

 private:
  const std::string text_;
};

// Reads the input as a file at `path`; every case that a reader makes has a name and a place.
inline void ReadAsSuites(const std::string& path, const unsigned char* data, std::size_t size) {
  constexpr std::string_view kLine = "\n=====\n";
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = input.find(kLine);
  const OneFile files(cut == std::string_view::npos ? "" : input.substr(cut + kLine.size()));
  offline::Inputs inputs;
  offline::ReadText(path, std::string(input.substr(0, cut)), true, inputs);
  for (const offline::Suite& suite : offline::ReadSuites(inputs.tests, files).suites) {
    for (const offline::Case& one : suite.cases) {
      if (one.place.line > 0) continue;
      std::fprintf(stderr, "%s has no place\n", one.name.c_str());
      std::abort();
    }
  }
}

}  // namespace portcullis::fuzz
