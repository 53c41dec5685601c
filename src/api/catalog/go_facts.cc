// SPDX-License-Identifier: Apache-2.0

#include "api/catalog/go_facts.h"

#include "base/strings.h"
#include "json/reader.h"

namespace portcullis::api::catalog {
namespace {

base::Status LineError(std::size_t number, std::string_view what) {
  return base::ConfigError(base::StrCat("facts, line ", std::to_string(number), ": ", what));
}

base::Status ParseField(const std::vector<std::string_view>& words, std::size_t number,
                        std::vector<GoField>* fields) {
  if (fields == nullptr) return LineError(number, "a field before the first type");
  if (words.size() < 3 || words.size() > 4) {
    return LineError(number, "want: <name> <Go type> <flags> [<Go name>]");
  }
  GoField field{words[0], words[1], words.size() == 4 ? words[3] : std::string_view()};
  for (const char flag : words[2]) {
    if (flag == 'e') field.omit_empty = true;
    if (flag == 'z') field.omit_zero = true;
  }
  fields->push_back(field);
  return base::OkStatus();
}

// column <resource> "<column>" "<description>": two JSON texts.
base::Status ParseColumn(std::string_view content, std::size_t number, GoFacts& facts) {
  const auto rest = base::Cut(content, " \"");
  const auto middle = rest ? base::Cut(rest->second, "\" \"") : std::nullopt;
  if (!middle) return LineError(number, "want: column <resource> \"<column>\" \"<text>\"");
  json::Arena arena;
  const auto name = json::Parse(arena, base::StrCat("\"", middle->first, "\""));
  const auto text = json::Parse(arena, base::StrCat("\"", middle->second));
  if (!name.ok() || !text.ok()) return LineError(number, "a text is no JSON");
  const std::string resource(base::Trim(rest->first.substr(std::string_view("column").size())));
  facts.columns[{resource, std::string(name->AsString())}] = std::string(text->AsString());
  return base::OkStatus();
}

// deprecated <apiVersion> <Kind> "<warning>"
base::Status ParseDeprecated(std::string_view content, std::size_t number, GoFacts& facts) {
  const auto cut = base::Cut(content, " \"");
  json::Arena arena;
  const auto text = cut ? json::Parse(arena, base::StrCat("\"", cut->second))
                        : base::Result<json::Value>(base::BadRequest(""));
  if (!text.ok()) return LineError(number, "want: deprecated <apiVersion> <Kind> \"<text>\"");
  const std::string kind(base::Trim(cut->first.substr(std::string_view("deprecated").size())));
  facts.deprecated[kind] = std::string(text->AsString());
  return base::OkStatus();
}

base::Status ParseDirective(const std::vector<std::string_view>& words, std::size_t number,
                            GoFacts& facts, std::vector<GoField>*& fields) {
  if (words[0] == "type" && words.size() == 2) {
    fields = &facts.types[words[1]];
    return base::OkStatus();
  }
  if (words[0] == "kind" && (words.size() == 3 || words.size() == 4)) {
    facts.kinds[words[1]] = {words[2], words.size() == 4 ? words[3] : std::string_view()};
    return base::OkStatus();
  }
  if (words[0] == "selectable" && words.size() > 2) {
    facts.selectable[words[1]].assign(words.begin() + 2, words.end());
    return base::OkStatus();
  }
  return LineError(number, "want: type, kind, selectable, column or deprecated");
}

}  // namespace

base::Result<GoFacts> ParseGoFacts(std::string_view text) {
  GoFacts facts;
  std::vector<GoField>* fields = nullptr;
  std::size_t number = 0;
  for (const std::string_view line : base::Split(text, '\n')) {
    ++number;
    const std::string_view content = base::Trim(line);
    if (content.empty() || content[0] == '#') continue;
    if (line.starts_with("column ")) {
      TRY(ParseColumn(content, number, facts));
      continue;
    }
    if (line.starts_with("deprecated ")) {
      TRY(ParseDeprecated(content, number, facts));
      continue;
    }
    const auto words = base::Split(content, ' ');
    if (line[0] == ' ') {
      TRY(ParseField(words, number, fields));
    } else {
      TRY(ParseDirective(words, number, facts, fields));
    }
  }
  return facts;
}

}  // namespace portcullis::api::catalog
