#include "server/rest/listing.h"

#include <string>
#include <utility>

#include "api/api_status.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "json/reader.h"
#include "json/writer.h"
#include "server/codec.h"
#include "store/store.h"

namespace portcullis::server::rest {
namespace {

struct Continue {
  std::int64_t revision = 0;
  std::string after;
};

// The token is base64 of {"v":"meta.k8s.io/v1","rv":5,"start":"default/a\u0000"}.
std::string MakeToken(json::Arena& arena, std::int64_t revision, std::string_view position) {
  const std::string start = base::StrCat(position, std::string_view("\0", 1));
  const json::Value value = json::ObjectBuilder(arena)
                                .Set("v", "meta.k8s.io/v1")
                                .Set("rv", revision)
                                .Set("start", std::string_view(start))
                                .Build();
  return base::Base64UrlEncode(json::ToString(value));
}

base::Result<Continue> ReadToken(json::Arena& arena, std::string_view token) {
  const auto bad = [](std::string_view why) {
    return base::BadRequest(
        base::StrCat("invalid continue token: continue key is not valid: ", why));
  };
  const auto text = base::Base64UrlDecode(token);
  if (!text) return bad("illegal base64 data at input byte 0");
  auto value = json::Parse(arena, *text);
  if (!value.ok()) return bad(value.status().message());
  if ((*value)["v"].AsString() != "meta.k8s.io/v1") {
    return bad(base::StrCat("server does not recognize this encoded version ",
                            base::GoQuote((*value)["v"].AsString())));
  }
  Continue result;
  result.revision = (*value)["rv"].AsInt();
  result.after = std::string((*value)["start"].AsString());
  if (result.after.empty()) return bad("encoded start key is empty");
  if (result.after.back() == '\0') result.after.pop_back();
  return result;
}

}  // namespace

base::Status TooLargeVersion(std::int64_t wanted, std::int64_t current) {
  const base::Status status =
      api::TimeoutStatus(base::StrCat("Too large resource version: ", std::to_string(wanted),
                                      ", current: ", std::to_string(current)),
                         1);
  base::StatusDetails details = *status.details();
  details.causes.push_back({"ResourceVersionTooLarge", "Too large resource version", ""});
  return base::Status(status.reason(), status.message(), details);
}

base::Result<Listing> ListObjects(Call& call, const ListOptions& options,
                                  const Selection& selection) {
  store::ListRequest request;
  request.collection = {call.resource->storage_kind.group, call.resource->resource.resource};
  request.ns = selection.ns;
  const auto asked = ReadRevision(options.resource_version);
  if (!asked.ok()) {
    return base::BadRequest(base::StrCat("invalid resource version: ", asked.status().message()));
  }
  const std::int64_t revision = *asked;
  if (revision > call.env.store->revision()) {
    return TooLargeVersion(revision, call.env.store->revision());
  }
  Continue from;
  if (!options.continue_token.empty()) {
    if (!options.resource_version.empty() && options.resource_version != "0") {
      return base::BadRequest("specifying resource version is not allowed when using continue");
    }
    from = TRY(ReadToken(call.arena, options.continue_token));
    request.revision = from.revision > 0 ? from.revision : 0;
    request.after = from.after;
  } else if (options.resource_version_match == "Exact") {
    request.revision = revision;
  }
  const auto limit = static_cast<std::size_t>(options.limit > 0 ? options.limit : 0);
  const bool everything = selection.everything();
  Listing listing;
  store::Page page;
  std::string last;
  // With a selector a page of the answer may take several pages of the store.
  for (;;) {
    request.limit = limit;
    page = TRY(call.env.store->ListPage(request));
    request.revision = page.revision;
    if (!page.objects.empty()) last = page.objects.back()->position();
    std::vector<store::ObjectPtr> batch = TRY(InVersion(call, std::move(page.objects)));
    TRY(Filter(call, selection, batch));
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
    listing.meta.continue_token = MakeToken(call.arena, page.revision, last);
    if (everything) listing.meta.remaining = page.remaining;
  }
  return listing;
}

}  // namespace portcullis::server::rest
