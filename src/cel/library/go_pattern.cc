// SPDX-License-Identifier: Apache-2.0

#include "cel/library/go_pattern.h"

#include <algorithm>

#include "base/strings.h"

namespace portcullis::cel {
namespace {

// The long names of Unicode's general categories, in lower case.
struct Category {
  std::string_view name;
  std::string_view short_name;
};
constexpr Category kCategories[] = {
    {"casedletter", "LC"},
    {"closepunctuation", "Pe"},
    {"cntrl", "Cc"},
    {"combiningmark", "M"},
    {"connectorpunctuation", "Pc"},
    {"control", "Cc"},
    {"currencysymbol", "Sc"},
    {"dashpunctuation", "Pd"},
    {"decimalnumber", "Nd"},
    {"digit", "Nd"},
    {"enclosingmark", "Me"},
    {"finalpunctuation", "Pf"},
    {"format", "Cf"},
    {"initialpunctuation", "Pi"},
    {"letter", "L"},
    {"letternumber", "Nl"},
    {"lineseparator", "Zl"},
    {"lowercaseletter", "Ll"},
    {"mark", "M"},
    {"mathsymbol", "Sm"},
    {"modifierletter", "Lm"},
    {"modifiersymbol", "Sk"},
    {"nonspacingmark", "Mn"},
    {"number", "N"},
    {"openpunctuation", "Ps"},
    {"other", "C"},
    {"otherletter", "Lo"},
    {"othernumber", "No"},
    {"otherpunctuation", "Po"},
    {"othersymbol", "So"},
    {"paragraphseparator", "Zp"},
    {"privateuse", "Co"},
    {"punct", "P"},
    {"punctuation", "P"},
    {"separator", "Z"},
    {"spaceseparator", "Zs"},
    {"spacingmark", "Mc"},
    {"surrogate", "Cs"},
    {"symbol", "S"},
    {"titlecaseletter", "Lt"},
    {"uppercaseletter", "Lu"},
};

bool IsWord(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

class Translator {
 public:
  explicit Translator(std::string_view pattern) : rest_(pattern) {}

  base::Result<std::string> Run() {
    while (!rest_.empty()) {
      if (rest_[0] == '\\') {
        TRY(Escape());
      } else if (rest_[0] == '[') {
        TRY(Class());
      } else if (rest_.starts_with("(?<")) {
        TRY(NamedGroup());
      } else {
        Copy(1);
      }
    }
    return std::move(out_);
  }

 private:
  void Copy(std::size_t count) {
    count = std::min(count, rest_.size());
    out_ += rest_.substr(0, count);
    rest_.remove_prefix(count);
  }

  base::Status Escape() {
    const char next = rest_.size() > 1 ? rest_[1] : '\0';
    if (next == 'C' && !in_class_) return base::ConfigError("invalid escape sequence: `\\C`");
    if (next == 'Q' && !in_class_) {
      const auto end = rest_.find("\\E", 2);
      Copy(end == std::string_view::npos ? rest_.size() : end + 2);
    } else if ((next == 'p' || next == 'P') && rest_.size() > 2 && rest_[2] == '{') {
      Property();
    } else {
      Copy(2);
    }
    return base::OkStatus();
  }

  // \p{Name}: spaces, dashes, underscores and case do not matter in names of categories.
  void Property() {
    const auto end = rest_.find('}');
    if (end == std::string_view::npos) return Copy(3);
    std::string name;
    const std::string_view written = rest_.substr(3, end - 3);
    const bool negated = written.starts_with('^');
    for (const char c : written.substr(negated ? 1 : 0)) {
      if (c != ' ' && c != '_' && c != '-') name += c;
    }
    name = base::ToLower(name);
    for (const Category& category : kCategories) {
      if (category.name != name) continue;
      Copy(3);
      out_ += negated ? "^" : "";
      out_ += category.short_name;
      rest_.remove_prefix(written.size());
      return Copy(1);
    }
    Copy(end + 1);
  }

  base::Status Class() {
    in_class_ = true;
    Copy(rest_.starts_with("[^") ? 2 : 1);
    if (rest_.starts_with(']')) Copy(1);
    while (!rest_.empty() && rest_[0] != ']') {
      if (rest_[0] == '\\') {
        TRY(Escape());
        continue;
      }
      const auto end = rest_.starts_with("[:") ? rest_.find(":]", 2) : std::string_view::npos;
      Copy(end == std::string_view::npos ? 1 : end + 2);
    }
    Copy(1);
    in_class_ = false;
    return base::OkStatus();
  }

  base::Status NamedGroup() {
    constexpr std::size_t kPrefix = 3;
    if (rest_.size() == kPrefix) {
      Copy(kPrefix);
      return base::OkStatus();
    }
    const auto end = rest_.find('>');
    const std::string_view name =
        end == std::string_view::npos ? "" : rest_.substr(kPrefix, end - kPrefix);
    if (name.empty() || !std::all_of(name.begin(), name.end(), IsWord)) {
      return base::ConfigError(base::StrCat(
          "invalid named capture: `",
          rest_.substr(0, end == std::string_view::npos ? rest_.size() : end + 1), "`"));
    }
    out_ += "(?P<";
    rest_.remove_prefix(kPrefix);
    Copy(name.size() + 1);
    return base::OkStatus();
  }

  std::string_view rest_;
  std::string out_;
  bool in_class_ = false;
};

}  // namespace

base::Result<std::string> TranslateGoPattern(std::string_view pattern) {
  return Translator(pattern).Run();
}

}  // namespace portcullis::cel
