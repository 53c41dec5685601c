// SPDX-License-Identifier: Apache-2.0

#include "store/etcd/value.h"

#include <algorithm>
#include <optional>

#include "base/strings.h"
#include "json/reader.h"
#include "json/value.h"
#include "json/writer.h"

namespace portcullis::store {
namespace {

constexpr std::string_view kMember = R"("resourceVersion":"")";
constexpr std::string_view kMemberHead = R"("resourceVersion":")";

// Goes through compact JSON member by member. What it cannot follow, blanks among it, makes it fail.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::size_t place() const { return at_; }
  bool Take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  // A string without escapes, as names of Kubernetes' own members are; else nothing.
  std::optional<std::string_view> TakeName() {
    const std::size_t begin = at_ + 1;
    if (!Take('"')) return std::nullopt;
    const std::size_t end = text_.find('"', begin);
    if (end == text_.npos) return std::nullopt;
    const std::string_view name = text_.substr(begin, end - begin);
    if (name.find('\\') != name.npos) return std::nullopt;
    at_ = end + 1;
    return name;
  }
  bool SkipValue() {
    int depth = 0;
    do {
      if (at_ >= text_.size()) return false;
      const char c = text_[at_];
      if (c == '"') {
        if (!SkipString()) return false;
      } else if (c == '{' || c == '[') {
        ++depth;
        ++at_;
      } else if (c == '}' || c == ']') {
        --depth;
        ++at_;
      } else if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
        return false;
      } else if (depth > 0 && (c == ',' || c == ':')) {
        ++at_;
      } else if (!SkipScalar()) {
        return false;
      }
    } while (depth > 0);
    return depth == 0;
  }

 private:
  // To the quote in front of which stands an even number of backslashes.
  bool SkipString() {
    const std::size_t begin = at_ + 1;
    for (std::size_t next = begin; true; ++next) {
      next = text_.find('"', next);
      if (next == text_.npos) break;
      std::size_t first = next;
      while (first > begin && text_[first - 1] == '\\') --first;
      if ((next - first) % 2 != 0) continue;
      at_ = next + 1;
      return true;
    }
    at_ = text_.size();
    return false;
  }
  static bool EndsScalar(char c) {
    return c == ',' || c == ':' || c == ']' || c == '}' || c == ' ' || c == '\n' || c == '\t' ||
           c == '\r' || c == '"' || c == '{' || c == '[';
  }
  bool SkipScalar() {
    std::size_t end = at_;
    while (end < text_.size() && !EndsScalar(text_[end])) ++end;
    if (end == at_) return false;
    at_ = end;
    return true;
  }

  const std::string_view text_;
  std::size_t at_ = 0;
};

// Where a resourceVersion belongs.
struct Gap {
  std::size_t at = 0;
  bool comma_before = false;
  bool comma_after = false;
};

bool IsBeforeRevision(std::string_view name, bool sorted) {
  if (sorted) return name < "resourceVersion";
  return name == "name" || name == "generateName" || name == "namespace" || name == "selfLink" ||
         name == "uid";
}

// Nothing if the metadata has a resourceVersion or is not compact.
std::optional<Gap> FindGap(Scanner& scanner, bool sorted) {
  if (!scanner.Take('{')) return std::nullopt;
  Gap gap{.at = scanner.place()};
  if (scanner.Take('}')) return gap;
  bool found = false;
  do {
    const std::size_t begin = scanner.place();
    const auto name = scanner.TakeName();
    if (!name || *name == "resourceVersion" || !scanner.Take(':')) return std::nullopt;
    if (!found && !IsBeforeRevision(*name, sorted)) {
      gap = {.at = begin, .comma_before = false, .comma_after = true};
      found = true;
    }
    if (!scanner.SkipValue()) return std::nullopt;
    if (!found) gap = {.at = scanner.place(), .comma_before = true};
  } while (scanner.Take(','));
  if (!scanner.Take('}')) return std::nullopt;
  return gap;
}

std::optional<Encoded> WithGap(std::string_view text) {
  Scanner scanner(text);
  if (!scanner.Take('{') || !text.ends_with('}')) return std::nullopt;
  // Custom resources are sorted, so they begin with the apiVersion; others begin with the kind.
  bool sorted = false;
  bool first = true;
  do {
    const auto name = scanner.TakeName();
    if (!name || !scanner.Take(':')) return std::nullopt;
    if (first) sorted = *name == "apiVersion";
    first = false;
    if (*name != "metadata") continue;
    const auto gap = FindGap(scanner, sorted);
    if (!gap) return std::nullopt;
    Encoded object;
    object.bytes.reserve(text.size() + kMember.size() + 1);
    object.bytes += text.substr(0, gap->at);
    if (gap->comma_before) object.bytes += ',';
    object.revision_at = object.bytes.size() + kMemberHead.size();
    object.bytes += kMember;
    if (gap->comma_after) object.bytes += ',';
    object.bytes += text.substr(gap->at);
    return object;
  } while (scanner.SkipValue() && scanner.Take(','));
  return std::nullopt;
}

}  // namespace

std::string ToEtcdValue(const Encoded& object) {
  const std::string_view bytes = object.bytes;
  std::size_t begin = object.revision_at - kMemberHead.size();
  std::size_t end = object.revision_at + 1;
  if (bytes[end] == ',') {
    ++end;
  } else if (bytes[begin - 1] == ',') {
    --begin;
  }
  return base::StrCat(bytes.substr(0, begin), bytes.substr(end), "\n");
}

base::Result<Encoded> FromEtcdValue(std::string_view value) {
  while (value.ends_with('\n')) value.remove_suffix(1);
  if (value.ends_with("} ")) {
    // What Object::Make() takes as a note.
    Encoded noted = TRY(FromEtcdValue(value.substr(0, value.size() - 1)));
    noted.bytes += ' ';
    return noted;
  }
  if (auto object = WithGap(value)) return *std::move(object);
  json::Arena arena;
  json::Value parsed = TRY(json::Parse(arena, value));
  if (!parsed["metadata"].is_object()) return base::BadRequest("it has no metadata");
  parsed = json::RemovePath(arena, parsed, {"metadata", "resourceVersion"});
  auto object = WithGap(json::ToString(parsed));
  if (!object) return base::BadRequest("its metadata cannot be read");
  return *std::move(object);
}

}  // namespace portcullis::store
