// SPDX-License-Identifier: Apache-2.0

#include "store/exchange/object_lines.h"

#include <optional>
#include <utility>

#include "base/gotext.h"
#include "base/strings.h"
#include "json/reader.h"
#include "store/storage_key.h"

namespace portcullis::store {
namespace {

constexpr std::string_view kKind = "StoredObjects";
constexpr std::string_view kObject = "\"object\":";
// More would be a line of something else; etcd takes 1.5 MiB.
constexpr std::size_t kMostBytes = std::size_t{1} << 28;

base::Result<json::Value> ParseLine(json::Arena& arena, std::string_view line) {
  if (line.size() > kMostBytes) return base::ConfigError("the line is too long");
  auto parsed = json::Parse(arena, line, {.borrow_text = true});
  if (!parsed.ok()) return base::ConfigError(parsed.status().message());
  if (!parsed->is_object()) return base::ConfigError("must be a JSON object");
  return *parsed;
}

// The text of the member "object", which is the last one.
std::optional<std::string_view> ObjectText(std::string_view line) {
  // Quotes of the key are escaped, so the first such text is the member.
  const std::size_t at = line.find(kObject);
  const std::size_t end = line.rfind('}');
  if (at == std::string_view::npos || end == std::string_view::npos) return std::nullopt;
  const std::size_t from = at + kObject.size();
  if (end <= from) return std::nullopt;
  return base::Trim(line.substr(from, end - from));
}

// Where `part`, a view, begins in `text`; npos if it is a view of something else.
std::size_t OffsetIn(std::string_view text, std::string_view part) {
  const auto from = reinterpret_cast<std::uintptr_t>(text.data());
  const auto at = reinterpret_cast<std::uintptr_t>(part.data());
  const bool is_in = at >= from && at - from + part.size() <= text.size();
  return is_in ? at - from : std::string_view::npos;
}

}  // namespace

std::string HeadLine(std::int64_t revision, std::size_t objects) {
  return base::StrCat("{\"kind\":\"", kKind,
                      "\",\"version\":1,\"revision\":", std::to_string(revision),
                      ",\"objects\":", std::to_string(objects), "}\n");
}

std::string ObjectLine(const Object& object) {
  const std::string key =
      StorageKey({object.group(), object.resource(), object.ns(), object.name()});
  return base::StrCat("{\"key\":", base::JsonQuote(key),
                      ",\"revision\":", std::to_string(object.revision()), ",", kObject,
                      object.bytes(), "}\n");
}

base::Status ObjectLinesReader::Add(std::string_view line) {
  if (base::Trim(line).empty()) return base::OkStatus();
  return has_head_ ? ReadObject(line) : ReadHead(line);
}

base::Status ObjectLinesReader::ReadHead(std::string_view line) {
  json::Arena arena;
  const json::Value head = TRY(ParseLine(arena, line));
  if (head["kind"].AsString() != kKind) {
    return base::ConfigError(base::StrCat("the first line must have \"kind\":\"", kKind,
                                          "\", as store export writes it"));
  }
  if (head["version"].AsInt() != 1) {
    return base::ConfigError("this version of the format is not known; use a newer portcullis");
  }
  content_.revision = head["revision"].AsInt();
  expected_ = head["objects"].AsInt(-1);
  if (content_.revision < 1 || expected_ < 0) {
    return base::ConfigError("\"revision\" and \"objects\" must be numbers");
  }
  has_head_ = true;
  return base::OkStatus();
}

base::Status ObjectLinesReader::ReadObject(std::string_view line) {
  json::Arena arena;
  const json::Value value = TRY(ParseLine(arena, line));
  const std::string_view key_text = value["key"].AsString();
  const std::optional<Key> key = ParseStorageKey(key_text);
  if (!key) {
    return base::ConfigError(
        base::StrCat("\"key\" is ", base::GoQuote(key_text), ", not that of an object"));
  }
  const std::int64_t revision = value["revision"].AsInt();
  const std::string digits = std::to_string(revision);
  const json::Value metadata = value["object"]["metadata"];
  if (metadata["name"].AsString() != key->name || metadata["namespace"].AsString() != key->ns) {
    return base::ConfigError(base::StrCat(
        "the object's name and namespace are not those of its key ", base::GoQuote(key_text)));
  }
  const std::string_view version = metadata["resourceVersion"].AsString();
  if (revision < 1 || revision > content_.revision || version != digits) {
    return base::ConfigError(base::StrCat(
        "\"revision\" is ", digits, ", metadata.resourceVersion ", base::GoQuote(version),
        ": they must be equal and at most ", std::to_string(content_.revision)));
  }
  if (!keys_.emplace(key_text).second) {
    return base::ConfigError(base::StrCat(base::GoQuote(key_text), " is there twice"));
  }
  if (!revisions_.insert(revision).second) {
    return base::ConfigError(base::StrCat("another object has revision ", digits, ", too"));
  }
  const auto text = ObjectText(line);
  if (!text || !json::Parse(arena, *text, {.borrow_text = true}).ok()) {
    return base::ConfigError("\"object\" must be the last member of the line");
  }
  // Where the digits stand is known because the parser has not copied them.
  const std::size_t at = OffsetIn(*text, version);
  if (at == std::string_view::npos) {
    return base::ConfigError("metadata.resourceVersion must be written without escapes");
  }
  auto& name = names_[{std::string(key->group), std::string(key->resource)}];
  if (name == nullptr) {
    name = std::make_shared<const CollectionName>(
        CollectionName{std::string(key->group), std::string(key->resource)});
  }
  content_.objects.push_back(Object::Make(name, key->ns, key->name, revision, text->substr(0, at),
                                          text->substr(at + digits.size())));
  return base::OkStatus();
}

base::Result<Content> ObjectLinesReader::Finish() {
  if (!has_head_) return base::ConfigError("there is nothing in it");
  if (static_cast<std::int64_t>(content_.objects.size()) != expected_) {
    return base::ConfigError(base::StrCat("the first line says ", std::to_string(expected_),
                                          " objects, there are ",
                                          std::to_string(content_.objects.size())));
  }
  return std::move(content_);
}

}  // namespace portcullis::store
