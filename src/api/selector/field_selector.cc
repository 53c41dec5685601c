// SPDX-License-Identifier: Apache-2.0

#include "api/selector/field_selector.h"

#include <algorithm>
#include <optional>

#include "base/gotext.h"
#include "base/strings.h"
#include "json/writer.h"

namespace portcullis::api {
namespace {

// Pieces between commas that no backslash precedes; backslashes are kept.
std::vector<std::string> SplitTerms(std::string_view text) {
  std::vector<std::string> terms;
  if (text.empty()) return terms;
  std::string term;
  bool escaped = false;
  for (const char c : text) {
    if (c == ',' && !escaped) {
      terms.push_back(std::move(term));
      term.clear();
      continue;
    }
    escaped = !escaped && c == '\\';
    term += c;
  }
  terms.push_back(std::move(term));
  return terms;
}

base::Result<std::string> Unescape(std::string_view text) {
  const auto bad_sequence = [](std::string_view sequence) {
    return base::BadRequest(
        base::StrCat("invalid field selector: invalid escape sequence: ", sequence));
  };
  std::string value;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\\') {
      if (at + 1 == text.size()) return bad_sequence("\\");
      const char next = text[at + 1];
      if (next != '\\' && next != ',' && next != '=') {
        std::size_t size = 0;
        base::DecodeRune(text.substr(at + 1), size);
        return bad_sequence(text.substr(at, 1 + size));
      }
      value += next;
      ++at;
    } else if (c == ',' || c == '=') {
      return base::BadRequest(base::StrCat("invalid field selector: unescaped character in value: ",
                                           std::to_string(static_cast<int>(c))));
    } else {
      value += c;
    }
  }
  return value;
}

std::string Escape(std::string_view value) {
  std::string text;
  for (const char c : value) {
    if (c == '\\' || c == ',' || c == '=') text += '\\';
    text += c;
  }
  return text;
}

std::string PrintValue(json::Value value) {
  if (value.is_null()) return "";
  if (value.is_string()) return std::string(value.AsString());
  return value.is_array() || value.is_object() ? "" : json::ToString(value);
}

// What an absent field counts as: "false" and "0" where the type says so.
std::string AbsentValue(const schema::Schema* schema, std::string_view field) {
  for (const std::string_view step : base::Split(field, '.')) {
    if (schema == nullptr) return "";
    const schema::Field* found = schema->FindField(step);
    schema = found != nullptr ? found->schema : nullptr;
  }
  if (schema == nullptr) return "";
  if (schema->kind == schema::Kind::kBoolean) return "false";
  return schema->kind == schema::Kind::kInteger ? "0" : "";
}

// What a field label stands for; most are paths.
std::string FieldValue(json::Value object, const schema::Schema* schema, std::string_view field) {
  if (field == "source") {  // of events
    const std::string_view component = object[field]["component"].AsString();
    return std::string(component.empty() ? object["reportingComponent"].AsString() : component);
  }
  if (field == "status.successful") field = "status.succeeded";  // of jobs
  json::Value value = object;
  for (const std::string_view step : base::Split(field, '.')) value = value[step];
  return value.is_null() ? AbsentValue(schema, field) : PrintValue(value);
}

}  // namespace

base::Result<FieldSelector> FieldSelector::Parse(std::string_view text) {
  std::vector<std::string> terms = SplitTerms(text);
  std::sort(terms.begin(), terms.end());
  FieldSelector selector;
  for (const std::string& term : terms) {
    if (term.empty()) continue;
    std::size_t at = term.find('=');
    if (at == std::string::npos) {
      return base::BadRequest(
          base::StrCat("invalid selector: '", text, "'; can't understand '", term, "'"));
    }
    Term parsed;
    std::size_t value = at + 1;
    if (at > 0 && term[at - 1] == '!') {
      parsed.negated = true;
      --at;
    } else if (term.substr(at).starts_with("==")) {
      ++value;
    }
    parsed.field = term.substr(0, at);
    parsed.value = TRY(Unescape(std::string_view(term).substr(value)));
    if (parsed.field.empty() && parsed.value.empty()) continue;  // Kubernetes: everything
    selector.terms_.push_back(std::move(parsed));
  }
  return selector;
}

bool FieldSelector::Matches(json::Value object, const schema::Schema* schema) const {
  return std::all_of(terms_.begin(), terms_.end(), [&](const Term& term) {
    return (FieldValue(object, schema, term.field) == term.value) != term.negated;
  });
}

const std::string* FieldSelector::RequiresExactMatch(std::string_view field) const {
  for (const Term& term : terms_) {
    if (!term.negated && term.field == field) return &term.value;
  }
  return nullptr;
}

std::string FieldSelector::ToString() const {
  std::vector<std::string> texts;
  for (const Term& term : terms_) {
    texts.push_back(base::StrCat(term.field, term.negated ? "!=" : "=", Escape(term.value)));
  }
  return base::Join(texts, ",");
}

}  // namespace portcullis::api
