// SPDX-License-Identifier: Apache-2.0

#include "server/aggregation/passed_fields.h"

#include <algorithm>
#include <iterator>

#include "base/strings.h"
#include "golang/netip.h"
#include "golang/url.h"

namespace portcullis::server {
namespace {

// Of one connection, not of the message (RFC 9110 §7.6.1), as httputil.ReverseProxy has them.
constexpr std::string_view kHopByHop[] = {"connection",
                                          "proxy-connection",
                                          "keep-alive",
                                          "proxy-authenticate",
                                          "proxy-authorization",
                                          "te",
                                          "trailer",
                                          "transfer-encoding",
                                          "upgrade"};
constexpr std::string_view kOwnRequestFields[] = {
    "authorization", "host",         "content-length", "x-forwarded-for",
    "x-remote-user", "x-remote-uid", "x-remote-group", "audit-id"};
constexpr std::string_view kOwnAnswerFields[] = {
    "date", "access-control-allow-credentials", "access-control-allow-headers",
    "access-control-allow-methods", "access-control-allow-origin"};

template <std::size_t N>
bool IsOneOf(std::string_view name, const std::string_view (&names)[N]) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

template <std::size_t N>
bool StaysHere(const net::Headers& all, std::string_view name, const std::string_view (&own)[N]) {
  return IsOneOf(name, kHopByHop) || IsOneOf(name, own) || all.HasToken("Connection", name);
}

// A key of `extra` as part of a header's name.
std::string EscapeKey(std::string_view key) {
  std::string out;
  for (const char c : key) {
    if (c != '%' && net::IsTokenCharacter(c)) {
      out += c;
    } else {
      out += base::StrCat("%", base::ToUpper(base::HexEncode(std::string_view(&c, 1))));
    }
  }
  return out;
}

// The client's fields that `is_left_out` leaves, and who it is.
template <typename IsLeftOut>
void AddGiven(const Call& call, net::Headers& out, IsLeftOut is_left_out) {
  const net::Headers& all = call.headers();
  const auto& protocols = call.notes.protocols;  // without a token among them
  for (const net::Header& field : all) {
    const std::string name = base::ToLower(field.name);
    if (is_left_out(name) || name.starts_with("impersonate-") ||
        name.starts_with("x-remote-extra-"))
      continue;
    if (protocols && name == "sec-websocket-protocol") continue;
    out.Add(net::CanonicalHeaderName(field.name), field.value);
  }
  if (protocols) out.Add("Sec-Websocket-Protocol", *protocols);
  auto forwarded = all.All("X-Forwarded-For");
  const auto peer = golang::SplitHostPort(call.exchange->remote_address());
  if (peer.ok()) forwarded.push_back(peer->first);
  out.Add("X-Forwarded-For", base::Join(forwarded, ", "));
  out.Add("Audit-Id", call.audit_id);
  AddUser(call.user, out);
}

}  // namespace

void AddUser(const api::UserInfo& user, net::Headers& out) {
  out.Add("X-Remote-User", user.name);
  if (!user.uid.empty()) out.Add("X-Remote-Uid", user.uid);
  for (const std::string& group : user.groups) out.Add("X-Remote-Group", group);
  for (const auto& [key, values] : user.extra) {
    const std::string name =
        net::CanonicalHeaderName(base::StrCat("X-Remote-Extra-", EscapeKey(key)));
    for (const std::string& value : values) out.Add(name, value);
  }
}

std::string EncodeQuery(std::string_view query) {
  auto pairs = golang::ParseQuery(query);
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string out;
  for (const auto& [key, value] : pairs) {
    out += base::StrCat(out.empty() ? "" : "&", golang::QueryEscape(key), "=",
                        golang::QueryEscape(value));
  }
  return out;
}

net::Headers RequestFields(const Call& call, const std::string& host, const std::string& path) {
  const net::Headers& all = call.headers();
  net::Headers out;
  AddGiven(call, out, [&all](std::string_view name) {
    return StaysHere(all, name, kOwnRequestFields) || name == "x-forwarded-uri" ||
           name == "x-forwarded-host" || name == "x-forwarded-proto";
  });
  // Else the client of this server would ask for gzip, and a small answer could inflate to much that has to wait.
  if (!out.Has("Accept-Encoding")) out.Add("Accept-Encoding", "identity");
  if (all.HasToken("Te", "trailers")) out.Add("Te", "trailers");
  out.Add("X-Forwarded-Uri", path);
  out.Add("X-Forwarded-Host", host);
  out.Add("X-Forwarded-Proto", "https");
  return out;
}

net::Headers UpgradeFields(const Call& call) {
  net::Headers out;
  AddGiven(call, out, [](std::string_view name) {
    return IsOneOf(name, kOwnRequestFields) || name == "transfer-encoding" || name == "trailer";
  });
  if (!call.headers().Has("User-Agent")) out.Add("User-Agent", "Go-http-client/1.1");
  return out;
}

bool StaysBehind(const net::Headers& all, std::string_view name) {
  return StaysHere(all, name, kOwnAnswerFields);
}

}  // namespace portcullis::server
