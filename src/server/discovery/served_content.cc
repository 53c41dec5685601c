// SPDX-License-Identifier: Apache-2.0

#include "server/discovery/served_content.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/strings.h"
#include "golang/http_time.h"
#include "golang/strconv.h"
#include "server/reply.h"

namespace portcullis::server {
namespace {

// Go has no limit: a head of 1 MiB asks for 260,000 parts of a byte, an answer of 27 MB.
constexpr std::size_t kMostParts = 1000;

enum class Condition { kNone, kTrue, kFalse };

Condition ConditionOf(bool holds) { return holds ? Condition::kTrue : Condition::kFalse; }

bool OnlyReads(const net::Request& request) {
  return request.method == "GET" || request.method == "HEAD";
}

// Takes an entity tag off the beginning of `text`; "": it begins with none.
std::string_view TakeTag(std::string_view& text) {
  std::size_t end = text.starts_with("W/") ? 2 : 0;
  if (end >= text.size() || text[end] != '"') return {};
  for (++end; end < text.size(); ++end) {
    const auto c = static_cast<unsigned char>(text[end]);
    if (c == '"') {
      const std::string_view tag = text.substr(0, end + 1);
      text.remove_prefix(end + 1);
      return tag;
    }
    if (c < 0x21 || c == 0x7F) break;
  }
  return {};
}

// Whether a list of tags has `etag`; no more is read of it than makes sense.
bool ListHas(std::string_view list, std::string_view etag, bool weakly) {
  while (true) {
    list = base::Trim(list);
    if (list.starts_with(',')) {
      list.remove_prefix(1);
      continue;
    }
    if (list.starts_with('*')) return true;
    std::string_view tag = TakeTag(list);
    if (tag.empty()) return false;
    if (weakly && tag.starts_with('W')) tag.remove_prefix(2);
    if (tag == etag) return true;
  }
}

// What a header that names a time says of content of the time `modified`.
template <typename Compare>
Condition ByTime(std::string_view header, Compare&& holds) {
  const auto time = golang::ParseHttpTime(header);
  return time ? ConditionOf(holds(*time)) : Condition::kNone;
}

// 0: none of the conditions stands against the content; else the status of the answer.
int StatusByConditions(const net::Request& request, const Content& content) {
  const auto header = [&](std::string_view name) { return request.headers.Get(name); };
  Condition as_expected = Condition::kNone;
  if (const auto tags = header("If-Match"); !tags.empty()) {
    as_expected = ConditionOf(ListHas(tags, content.etag, false));
  } else {
    as_expected = ByTime(header("If-Unmodified-Since"),
                         [&](std::int64_t time) { return content.modified <= time; });
  }
  if (as_expected == Condition::kFalse) return 412;
  if (const auto tags = header("If-None-Match"); !tags.empty()) {
    if (!ListHas(tags, content.etag, true)) return 0;
    return OnlyReads(request) ? 304 : 412;
  }
  const Condition is_newer = ByTime(header("If-Modified-Since"),
                                    [&](std::int64_t time) { return content.modified > time; });
  return is_newer == Condition::kFalse && OnlyReads(request) ? 304 : 0;
}

// Whether what a client has is a part of this very content, so that it gets the rest alone.
bool TakesRanges(const net::Request& request, const Content& content) {
  std::string_view header = request.headers.Get("If-Range");
  if (!OnlyReads(request) || header.empty()) return true;
  std::string_view rest = header;
  if (const auto tag = TakeTag(rest); !tag.empty()) return tag == content.etag;
  return ByTime(header, [&](std::int64_t time) { return time == content.modified; }) ==
         Condition::kTrue;
}

struct Range {
  std::int64_t start, length;

  std::string Header(std::int64_t size) const {
    return base::StrCat("bytes ", std::to_string(start), "-", std::to_string(start + length - 1),
                        "/", std::to_string(size));
  }
};

struct Ranges {
  std::vector<Range> ranges;
  bool is_valid = true;
  bool has_misses = false;  // one begins behind the end
};

std::optional<Range> ParseRange(std::string_view text, std::int64_t size) {
  const auto cut = base::Cut(text, "-");
  if (!cut) return std::nullopt;
  const std::string_view first = base::Trim(cut->first);
  const std::string_view last = base::Trim(cut->second);
  if (first.empty()) {
    const auto count = golang::ParseInt(last);
    if (last.starts_with('-') || !count.ok() || *count < 0) return std::nullopt;
    const std::int64_t length = std::min(*count, size);
    return Range{size - length, length};
  }
  const auto start = golang::ParseInt(first);
  if (!start.ok() || *start < 0) return std::nullopt;
  if (*start >= size) return Range{size, -1};
  if (last.empty()) return Range{*start, size - *start};
  const auto end = golang::ParseInt(last);
  if (!end.ok() || *start > *end) return std::nullopt;
  return Range{*start, std::min(*end, size - 1) - *start + 1};
}

Ranges ParseRanges(std::string_view header, std::int64_t size) {
  Ranges found;
  constexpr std::string_view kUnit = "bytes=";
  found.is_valid = header.empty() || header.starts_with(kUnit);
  if (!found.is_valid || header.empty()) return found;
  for (std::string_view piece : base::Split(header.substr(kUnit.size()), ',')) {
    piece = base::Trim(piece);
    if (piece.empty()) continue;
    const auto range = ParseRange(piece, size);
    if (!range) return {.ranges = {}, .is_valid = false};
    if (range->length < 0) {
      found.has_misses = true;
    } else {
      found.ranges.push_back(*range);
    }
  }
  return found;
}

std::string_view PartOf(const std::string& bytes, const Range& range) {
  return std::string_view(bytes).substr(static_cast<std::size_t>(range.start),
                                        static_cast<std::size_t>(range.length));
}

std::string Multipart(const Content& content, const std::vector<Range>& ranges,
                      std::string_view boundary) {
  std::string body;
  for (const Range& range : ranges) {
    body += base::StrCat(
        body.empty() ? "--" : "\r\n--", boundary,
        "\r\nContent-Range: ", range.Header(static_cast<std::int64_t>(content.bytes->size())),
        "\r\nContent-Type: ", content.type, "\r\n\r\n", PartOf(*content.bytes, range));
  }
  return body + base::StrCat("\r\n--", boundary, "--\r\n");
}

// No range of the header can be answered.
Reply RefuseRanges(const Ranges& asked, const std::string& size, Reply reply) {
  Reply refused =
      TextReply(416, asked.is_valid ? "invalid range: failed to overlap\n" : "invalid range\n");
  for (const std::string_view name : {"ETag", "Last-Modified", "Cache-Control"}) {
    reply.headers.Remove(name);
  }
  reply.headers.Set("X-Content-Type-Options", "nosniff");
  if (asked.is_valid) reply.headers.Set("Content-Range", base::StrCat("bytes */", size));
  refused.headers = std::move(reply.headers);
  return refused;
}

}  // namespace

Reply ServeContent(const net::Request& request, Content content, Reply reply) {
  net::Headers& headers = reply.headers;
  if (!content.etag.empty()) headers.Set("ETag", content.etag);
  headers.Set("Last-Modified", golang::FormatHttpTime(content.modified));
  reply.content_type = content.type;
  reply.status = StatusByConditions(request, content);
  if (reply.status != 0) {
    // Without a tag the type is looked for later.
    if (reply.status == 304 || content.etag.empty()) reply.content_type.clear();
    if (reply.status == 304 && !content.etag.empty()) headers.Remove("Last-Modified");
    return reply;
  }
  const auto size = static_cast<std::int64_t>(content.bytes->size());
  Ranges asked;
  if (TakesRanges(request, content)) asked = ParseRanges(request.headers.Get("Range"), size);
  if (!asked.is_valid || (asked.ranges.empty() && asked.has_misses)) {
    return RefuseRanges(asked, std::to_string(size), std::move(reply));
  }
  std::int64_t sum = 0;
  for (const Range& range : asked.ranges) sum += range.length;
  headers.Set("Accept-Ranges", "bytes");
  const bool is_whole = asked.ranges.empty() || sum > size || asked.ranges.size() > kMostParts;
  reply.status = is_whole ? 200 : 206;
  if (reply.status == 200) {
    reply.shared_body = std::move(content.bytes);
  } else if (asked.ranges.size() == 1) {
    headers.Set("Content-Range", asked.ranges[0].Header(size));
    reply.body = std::string(PartOf(*content.bytes, asked.ranges[0]));
  } else {
    const std::string boundary = base::HexEncode(base::RandomBytes(30));
    reply.content_type = base::StrCat("multipart/byteranges; boundary=", boundary);
    reply.body = Multipart(content, asked.ranges, boundary);
  }
  return reply;
}

}  // namespace portcullis::server
