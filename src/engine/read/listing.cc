// SPDX-License-Identifier: Apache-2.0

#include "engine/read/listing.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "api/api_status.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "engine/codec/codec.h"
#include "golang/strconv.h"
#include "json/go_errors.h"
#include "json/reader.h"
#include "json/writer.h"
#include "registry/validation/checks.h"
#include "store/store.h"

namespace portcullis::engine {
namespace {

struct Continue {
  std::int64_t revision = 0;
  std::string after;
};

// The part of an Object::position() behind the namespace that a list is of.
std::string_view InNamespace(std::string_view position, std::string_view ns) {
  return ns.empty() ? position : position.substr(ns.size() + 1);
}

// The token is base64 of {"v":"meta.k8s.io/v1","rv":5,"start":"/default/a\u0000"}.
std::string MakeToken(json::Arena& arena, std::int64_t revision, std::string_view key) {
  const std::string start = base::StrCat(key, std::string_view("\0", 1));
  const json::Value value = json::ObjectBuilder(arena)
                                .Set("v", "meta.k8s.io/v1")
                                .Set("rv", revision)
                                .Set("start", std::string_view(start))
                                .Build();
  return base::Base64UrlEncode(json::ToString(value));
}

// Where Go's decoder (RawURLEncoding) says that the text goes wrong.
std::size_t IllegalByte(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool known = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_';
    if (!known) return i;
  }
  return text.empty() ? 0 : text.size() - 1;
}

// Whether path.Clean would leave the path alone.
bool IsClean(std::string_view path) {
  if (path.starts_with('/')) path.remove_prefix(1);
  if (path.empty()) return true;
  for (std::string_view piece : base::Split(path, '/')) {
    if (piece.empty() || piece == "." || piece == "..") return false;
  }
  return true;
}

// What Go's decoder says of the token's fields, or "".
std::string WrongTypeIn(json::Value token) {
  constexpr std::string_view kWrong = "json: cannot unmarshal ";
  if (token.is_null()) return "";
  if (!token.is_object()) {
    return base::StrCat(kWrong, json::GoTypeName(token), " into Go value of type ",
                        "storage.continueToken");
  }
  for (const json::Member& member : token.members()) {
    const std::string_view name = member.name();
    const json::Value value = member.value;
    const bool is_number = name == "rv";
    if (!is_number && name != "v" && name != "start") continue;
    if (value.is_null() || (is_number ? value.is_int() : value.is_string())) continue;
    const std::string literal = value.is_number() ? " " + json::ToString(value) : "";
    return base::StrCat(kWrong, json::GoTypeName(value), is_number ? literal : "",
                        " into Go struct field continueToken.", name, " of type ",
                        is_number ? "int64" : "string");
  }
  return "";
}

// The store goes on behind a position, a list from its start on: what lies right before the start.
// No position has a byte that UTF-8 does not have.
std::string RightBefore(std::string start) {
  if (start.empty()) return start;
  if (start.back() == '\0') {
    start.pop_back();
    return start;
  }
  start.back() = static_cast<char>(start.back() - 1);
  return start + '\xFF';
}

// Whether the list is of one object by its name, which has no pages. Beside a token it has some.
bool IsOfOneName(const Operation& op, const Selection& selection) {
  const std::string* name = selection.fields.RequiresExactMatch("metadata.name");
  if (name == nullptr || name->empty() || !registry::IsPathSegmentName(*name, false).empty())
    return false;
  return !op.resource->namespaced || !selection.ns.empty();
}

// storage.DecodeContinue. `ns` is the namespace that the list is of: the token is of a place there.
base::Result<Continue> ReadToken(json::Arena& arena, std::string_view token, std::string_view ns) {
  const auto bad = [](std::string_view why) {
    return base::BadRequest(
        base::StrCat("invalid continue token: continue key is not valid: ", why));
  };
  const auto text = base::Base64UrlDecode(token);
  if (!text) {
    return bad(
        base::StrCat("illegal base64 data at input byte ", std::to_string(IllegalByte(token))));
  }
  auto value = json::Parse(arena, arena.Copy(*text));
  if (!value.ok()) return bad(value.status().message());
  if (const std::string wrong = WrongTypeIn(*value); !wrong.empty()) return bad(wrong);
  if (const std::string_view version = (*value)["v"].AsString(); version != "meta.k8s.io/v1") {
    return bad(base::StrCat("server does not recognize this encoded version ", version));
  }
  Continue result;
  result.revision = (*value)["rv"].AsInt();
  if (result.revision == 0) {
    return bad("incorrect encoded start resourceVersion (version meta.k8s.io/v1)");
  }
  result.after = std::string((*value)["start"].AsString());
  if (result.after.empty()) return bad("encoded start key empty (version meta.k8s.io/v1)");
  if (!IsClean(result.after)) return bad(result.after);
  if (result.after.starts_with('/')) result.after.erase(0, 1);
  if (!ns.empty()) result.after = base::StrCat(ns, "/", result.after);
  result.after = RightBefore(std::move(result.after));
  return result;
}

// Adds a continue token for clients that accept a rest of the list from a later revision.
void OfferInconsistentRest(Operation& op, const Continue& from, std::string_view ns) {
  // This one is made by the store below the watch cache, whose keys have no slash in front.
  const std::string token = MakeToken(op.arena, -1, InNamespace(from.after, ns));
  const json::Value metadata =
      json::ObjectBuilder(op.arena).Set("continue", std::string_view(token)).Build();
  op.recorder.KeepForeignStatus(json::ObjectBuilder(op.arena).Set("metadata", metadata).Build());
}

// Go's versions are unsigned; no store gets that far.
constexpr std::uint64_t kNewest = std::numeric_limits<std::int64_t>::max();

}  // namespace

bool IsCached(const api::catalog::ResourceInfo& resource) {
  const std::string& group = resource.resource.group;
  return resource.resource.resource != "events" || (!group.empty() && group != "events.k8s.io");
}

base::Result<std::int64_t> ReadRevision(std::string_view text) {
  if (text.empty()) return std::int64_t{0};
  const auto number = golang::ParseUint(text);
  if (number.ok()) return static_cast<std::int64_t>(std::min(*number, kNewest));
  return base::Status(base::Reason::kUnknown,
                      base::StrCat("resourceVersion: Invalid value: ", base::GoQuote(text), ": ",
                                   number.status().message()));
}

base::Status TooLargeVersion(std::int64_t wanted, std::int64_t current, int retry_after) {
  const base::Status status =
      api::TimeoutStatus(base::StrCat("Too large resource version: ", std::to_string(wanted),
                                      ", current: ", std::to_string(current)),
                         retry_after);
  base::StatusDetails details = *status.details();
  details.causes.push_back({"ResourceVersionTooLarge", "Too large resource version", ""});
  return base::Status(status.reason(), status.message(), details);
}

base::Result<Listing> ListObjects(Operation& op, const ListOptions& options,
                                  const Selection& selection) {
  store::ListRequest request;
  request.collection = {op.resource->storage_kind.group, op.resource->resource.resource};
  request.ns = selection.ns;
  const bool cached = IsCached(*op.resource);
  const bool of_one_name = options.continue_token.empty() && IsOfOneName(op, selection);
  // The watch cache does not cut what it lists without looking for the newest state.
  const bool cut =
      options.limit > 0 && !of_one_name && !(cached && options.resource_version == "0");
  const auto limit = static_cast<std::size_t>(cut ? options.limit : 0);
  Continue from;
  if (!options.continue_token.empty()) {
    from = TRY(ReadToken(op.arena, options.continue_token, selection.ns));
    if (!options.resource_version.empty() && options.resource_version != "0") {
      return base::BadRequest("specifying resource version is not allowed when using continue");
    }
    request.revision = from.revision > 0 ? from.revision : 0;
    request.after = from.after;
  } else if (!options.resource_version.empty()) {
    const auto asked = ReadRevision(options.resource_version);
    if (!asked.ok()) {
      return base::BadRequest(base::StrCat("invalid resource version: ", asked.status().message()));
    }
    // Of old, a page of a state means exactly that state.
    const std::string& match = options.resource_version_match;
    const bool exact = match == "Exact" || (match.empty() && limit > 0 && *asked > 0);
    const std::int64_t current = op.world.store->revision();
    // The store knows no time to try again after; the watch cache, which has pages of all names, does.
    const bool by_store =
        !cached || (of_one_name && (exact || (match.empty() && options.limit > 0)));
    if (*asked > current) return TooLargeVersion(*asked, current, by_store ? 0 : 1);
    if (exact) request.revision = *asked;
  }
  Listing listing;
  std::size_t rest = 0;  // of all objects, whether they are selected or not
  store::Page page;
  std::string last;
  // With a selector a page of the answer may take several pages of the store.
  for (;;) {
    request.limit = limit;
    auto listed = op.world.store->ListPage(request);
    if (!listed.ok()) {
      const bool expired = listed.status().reason() == base::Reason::kExpired;
      if (expired && from.revision > 0) OfferInconsistentRest(op, from, selection.ns);
      return std::move(listed).status();
    }
    page = *std::move(listed);
    request.revision = page.revision;
    if (request.after == from.after) rest = page.objects.size() + page.remaining;
    listing.fetched += page.objects.size();
    if (!page.objects.empty()) last = page.objects.back()->position();
    std::vector<store::ObjectPtr> batch = TRY(InVersion(op, std::move(page.objects)));
    TRY(Filter(op, selection, batch));
    for (store::ObjectPtr& object : batch) {
      if (limit != 0 && listing.objects.size() == limit) {
        last = listing.objects.back()->position();
        page.remaining = 1;
        break;
      }
      listing.objects.push_back(std::move(object));
    }
    if (limit == 0 || page.remaining == 0 || listing.objects.size() >= limit) break;
    request.after = last;
  }
  listing.meta.resource_version = std::to_string(page.revision);
  if (limit != 0 && page.remaining > 0) {
    const std::string_view key = InNamespace(last, selection.ns);
    listing.meta.continue_token =
        MakeToken(op.arena, page.revision, base::StrCat(cached ? "/" : "", key));
    if (selection.has_no_selectors()) listing.meta.remaining = rest - std::min(rest, limit);
  }
  if (selection.shard && !op.resource->custom) listing.meta.shard = selection.shard->ToString();
  return listing;
}

}  // namespace portcullis::engine
