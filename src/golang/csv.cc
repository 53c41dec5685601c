// SPDX-License-Identifier: Apache-2.0

#include "golang/csv.h"

#include <utility>

#include "base/strings.h"

namespace portcullis::golang {
namespace {

class CsvReader {
 public:
  explicit CsvReader(std::string_view text) : text_(text) {}

  base::Result<std::vector<std::vector<std::string>>> Run() {
    std::vector<std::vector<std::string>> records;
    while (at_ < text_.size()) {
      if (AtLineEnd()) {
        EndLine();
        continue;
      }
      start_line_ = line_;
      records.push_back(TRY(Record()));
    }
    return records;
  }

 private:
  base::Result<std::vector<std::string>> Record() {
    std::vector<std::string> fields;
    for (;;) {
      const bool quoted = at_ < text_.size() && text_[at_] == '"';
      fields.push_back(quoted ? TRY(Quoted()) : TRY(Bare()));
      if (at_ < text_.size() && text_[at_] == ',') {
        ++at_;
        continue;
      }
      if (at_ < text_.size()) EndLine();
      return fields;
    }
  }

  base::Result<std::string> Bare() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != ',' && !AtLineEnd()) {
      if (text_[at_] == '"') return Error("bare \" in non-quoted-field");
      ++at_;
    }
    return std::string(text_.substr(begin, at_ - begin));
  }

  base::Result<std::string> Quoted() {
    std::string field;
    ++at_;
    while (at_ < text_.size()) {
      if (text_[at_] != '"') {
        const bool line_end = text_[at_] == '\n';
        field += text_[at_++];
        if (line_end) NextLine();
        continue;
      }
      ++at_;
      if (at_ == text_.size() || text_[at_] == ',' || AtLineEnd()) return field;
      if (text_[at_] != '"') {
        --at_;
        return Error("extraneous or missing \" in quoted-field");
      }
      field += '"';
      ++at_;
    }
    return Error("extraneous or missing \" in quoted-field");
  }

  bool AtLineEnd() const {
    return text_[at_] == '\n' || (text_[at_] == '\r' && text_.substr(at_ + 1).starts_with('\n'));
  }
  void EndLine() {
    at_ += text_[at_] == '\r' ? 2 : 1;
    NextLine();
  }
  void NextLine() {
    ++line_;
    line_begin_ = at_;
  }
  base::Status Error(std::string_view what) const {
    std::string where = base::StrCat("parse error on line ", std::to_string(line_), ", column ",
                                     std::to_string(at_ - line_begin_ + 1), ": ", what);
    if (start_line_ != line_) {
      where = base::StrCat("record on line ", std::to_string(start_line_), "; ", where);
    }
    return base::ConfigError(std::move(where));
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_begin_ = 0;
  int line_ = 1;
  int start_line_ = 1;
};

}  // namespace

base::Result<std::vector<std::vector<std::string>>> ParseCsv(std::string_view text) {
  return CsvReader(text).Run();
}

}  // namespace portcullis::golang
