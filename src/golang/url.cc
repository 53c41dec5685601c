// SPDX-License-Identifier: Apache-2.0

// Every part of a URL has an alphabet of its own: the characters that stand for themselves there.
// What is outside of it is written as a percent escape; what may not be written at all (in a host,
// in user information) is an error of the parser. kAlphabets is that table; the rest follows the
// grammar of RFC 3986 with Go's relaxations.
#include "golang/url.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/gotext.h"
#include "base/strings.h"
#include "golang/netip.h"

namespace portcullis::golang {
namespace {

enum class Part : std::uint8_t { kPath, kPathSegment, kHost, kZone, kUser, kQuery, kFragment };

// Besides letters, digits and "-_.~".
constexpr std::array<std::string_view, 7> kAlphabets = {
    "$&+,/:;=@",           // path
    "$&+:=@",              // path segment
    "!$&'()*+,;=:[]<>\"",  // host
    "!$&'()*+,;=:[]<>\"",  // zone
    "$&+,;=",              // user
    "",                    // query
    "!$&()*+,/:;=?@",      // fragment
};

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsOneOf(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }

bool IsPlain(char c, Part part) {
  return IsLetter(c) || IsDigit(c) || IsOneOf(c, "-_.~") ||
         IsOneOf(c, kAlphabets[static_cast<std::size_t>(part)]);
}

int HexValue(char c) {
  if (IsDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The byte of an escape at the start of `text`, or -1.
int EscapedByte(std::string_view text) {
  if (text.size() < 3 || HexValue(text[1]) < 0 || HexValue(text[2]) < 0) return -1;
  return HexValue(text[1]) * 16 + HexValue(text[2]);
}

std::string Escape(std::string_view text, Part part) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (IsPlain(c, part)) {
      out.push_back(c);
    } else if (c == ' ' && part == Part::kQuery) {
      out.push_back('+');
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out.append({'%', kHex[byte >> 4], kHex[byte & 15]});
    }
  }
  return out;
}

// In a host only bytes beyond ASCII and "%25" may be escaped; in the zone of an address also
// spaces and what could be written plainly.
bool MayEscape(int byte, Part part) {
  if (part == Part::kHost) return byte >= 0x80 || byte == '%';
  if (part != Part::kZone || byte == '%' || byte == ' ') return true;
  return byte < 0x80 && IsPlain(static_cast<char>(byte), Part::kHost);
}

base::Result<std::string> Unescape(std::string_view text, Part part) {
  const bool is_host = part == Part::kHost || part == Part::kZone;
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '%') {
      const int byte = EscapedByte(text.substr(i));
      if (byte < 0 || !MayEscape(byte, part)) {
        return base::BadRequest(
            base::StrCat("invalid URL escape ", base::GoQuote(text.substr(i, 3))));
      }
      out.push_back(static_cast<char>(byte));
      i += 2;
    } else if (is_host && static_cast<unsigned char>(c) < 0x80 && !IsPlain(c, part)) {
      return base::BadRequest(
          base::StrCat("invalid character ", base::GoQuote(text.substr(i, 1)), " in host name"));
    } else {
      out.push_back(c == '+' && part == Part::kQuery ? ' ' : c);
    }
  }
  return out;
}

// Whether Go would have written the part like that, or lets it stand.
bool IsValidEncoded(std::string_view text, Part part) {
  return std::all_of(text.begin(), text.end(),
                     [part](char c) { return IsOneOf(c, "!$&'()*+,;=:@[]%") || IsPlain(c, part); });
}

// Unescapes `text`; `raw` is it, unless escaping gives it back.
base::Status SetEscaped(std::string_view text, Part part, std::string& plain, std::string& raw) {
  plain = TRY(Unescape(text, part));
  raw = Escape(plain, part) == text ? std::string() : std::string(text);
  return base::OkStatus();
}

std::string Encoded(const std::string& plain, const std::string& raw, Part part) {
  if (!raw.empty() && IsValidEncoded(raw, part)) {
    const auto unescaped = Unescape(raw, part);
    if (unescaped.ok() && *unescaped == plain) return raw;
  }
  return Escape(plain, part);
}

bool IsValidPort(std::string_view port) {
  return port.empty() || (port[0] == ':' && std::all_of(port.begin() + 1, port.end(), IsDigit));
}

base::Status CheckPort(std::string_view port) {
  if (IsValidPort(port)) return base::OkStatus();
  return base::BadRequest(base::StrCat("invalid port ", base::GoQuote(port), " after host"));
}

// "[fe80::1%25en0]:80".
base::Result<std::string> ReadBracketedHost(std::string_view host) {
  const std::size_t end = host.rfind(']');
  if (end == std::string_view::npos) return base::BadRequest("missing ']' in host");
  const std::string_view port = host.substr(end + 1);
  TRY(CheckPort(port));
  const std::string_view inside = host.substr(1, end - 1);
  const std::size_t zone = std::min(inside.find("%25"), inside.size());
  std::string address = TRY(Unescape(inside.substr(0, zone), Part::kHost));
  address += TRY(Unescape(inside.substr(zone), Part::kZone));
  const auto ip = ParseIpAddress(address);
  if (!ip.ok()) return ip.status().Annotate("invalid host");
  if (!ip->is_v6) return base::BadRequest("invalid IP-literal");
  return base::StrCat("[", address, "]", port);
}

base::Result<std::string> ReadHost(std::string_view scheme, std::string_view host) {
  const std::size_t bracket = host.rfind('[');
  if (bracket == 0) return ReadBracketedHost(host);
  if (bracket != std::string_view::npos) return base::BadRequest("invalid IP-literal");
  // A host of the web has one colon at most.
  const bool is_web = scheme == "http" || scheme == "https";
  const std::size_t colon = is_web ? host.find(':') : host.rfind(':');
  if (colon != std::string_view::npos) TRY(CheckPort(host.substr(colon)));
  return Unescape(host, Part::kHost);
}

base::Result<UserInfo> ReadUser(std::string_view text) {
  const bool is_valid = std::all_of(text.begin(), text.end(), [](char c) {
    return IsLetter(c) || IsDigit(c) || IsOneOf(c, "-._:~!$&'()*+,;=%@");
  });
  if (!is_valid) return base::BadRequest("net/url: invalid userinfo");
  UserInfo user;
  const std::size_t colon = text.find(':');
  user.name = TRY(Unescape(text.substr(0, colon), Part::kUser));
  if (colon != std::string_view::npos) {
    user.password = TRY(Unescape(text.substr(colon + 1), Part::kUser));
  }
  return user;
}

base::Status ReadAuthority(std::string_view authority, Url& url) {
  const std::size_t at = authority.rfind('@');
  const bool has_user = at != std::string_view::npos;
  url.host = TRY(ReadHost(url.scheme, has_user ? authority.substr(at + 1) : authority));
  if (has_user) url.user = TRY(ReadUser(authority.substr(0, at)));
  return base::OkStatus();
}

// Takes "scheme:" off the front of `rest`.
base::Result<std::string> TakeScheme(std::string_view& rest) {
  std::size_t end = 0;
  while (end < rest.size() &&
         (IsLetter(rest[end]) || (end > 0 && (IsDigit(rest[end]) || IsOneOf(rest[end], "+-."))))) {
    ++end;
  }
  if (end == rest.size() || rest[end] != ':') return std::string();
  if (end == 0) return base::BadRequest("missing protocol scheme");
  std::string scheme = base::ToLower(rest.substr(0, end));
  rest.remove_prefix(end + 1);
  return scheme;
}

void TakeQuery(std::string_view& rest, Url& url) {
  const std::size_t mark = rest.find('?');
  if (mark == std::string_view::npos) return;
  url.raw_query = rest.substr(mark + 1);
  url.force_query = url.raw_query.empty();
  rest = rest.substr(0, mark);
}

bool HasControlCharacter(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; });
}

base::Status CheckRelative(std::string_view rest, bool is_request) {
  if (is_request) return base::BadRequest("invalid URI for request");
  if (rest.substr(0, rest.find('/')).find(':') == std::string_view::npos) return base::OkStatus();
  return base::BadRequest("first path segment in URL cannot contain colon");
}

// Without a fragment.
base::Result<Url> Parse(std::string_view text, bool is_request) {
  if (HasControlCharacter(text)) {
    return base::BadRequest("net/url: invalid control character in URL");
  }
  if (text.empty() && is_request) return base::BadRequest("empty url");
  Url url;
  if (text == "*") {
    url.path = "*";
    return url;
  }
  std::string_view rest = text;
  url.scheme = TRY(TakeScheme(rest));
  TakeQuery(rest, url);
  if (!rest.starts_with('/')) {
    if (!url.scheme.empty()) {
      url.opaque = rest;
      return url;
    }
    TRY(CheckRelative(rest, is_request));
  }
  // Only what is no request may have a host without a scheme: "//host/path".
  const bool may_have_host = !url.scheme.empty() || (!is_request && !rest.starts_with("///"));
  if (may_have_host && rest.starts_with("//")) {
    rest.remove_prefix(2);
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    TRY(ReadAuthority(rest.substr(0, slash), url));
    rest.remove_prefix(slash);
  } else if (!url.scheme.empty()) {
    url.omit_host = true;
  }
  TRY(SetEscaped(rest, Part::kPath, url.path, url.raw_path));
  return url;
}

base::Status Failure(std::string_view text, const base::Status& why) {
  return base::BadRequest(base::StrCat("parse ", base::GoQuote(text), ": ", why.message()));
}

// RFC 3986 §5.2.4, of the path `full`.
std::string WithoutDotSegments(std::string_view full) {
  if (full.empty()) return "";
  const std::vector<std::string_view> segments = base::Split(full, '/');
  std::string out = "/";
  bool is_first = true;
  for (const std::string_view segment : segments) {
    if (segment == ".") {
      is_first = false;
    } else if (segment == "..") {
      const std::size_t slash = out.rfind('/');
      out.resize(slash == 0 ? 1 : slash);
      is_first = out.size() == 1;
    } else {
      if (!is_first) out.push_back('/');
      out.append(segment);
      is_first = false;
    }
  }
  if (segments.back() == "." || segments.back() == "..") out.push_back('/');
  return out.starts_with("//") ? out.substr(1) : out;
}

void SetPath(const std::string& escaped, Url& url) {
  // Escaped by EscapedPath: cannot fail.
  (void)SetEscaped(escaped, Part::kPath, url.path, url.raw_path);
}

void AppendAuthority(const Url& url, std::string& out) {
  if (url.scheme.empty() && url.host.empty() && !url.user) return;
  if (url.omit_host && url.host.empty() && !url.user) return;
  if (!url.host.empty() || !url.path.empty() || url.user) out.append("//");
  if (url.user) out.append(url.user->ToString()).push_back('@');
  out.append(Escape(url.host, Part::kHost));
}

}  // namespace

std::string UserInfo::ToString() const {
  std::string out = Escape(name, Part::kUser);
  if (password) out.append(":").append(Escape(*password, Part::kUser));
  return out;
}

std::string Url::EscapedPath() const {
  if (raw_path.empty() && path == "*") return "*";
  return Encoded(path, raw_path, Part::kPath);
}

std::string Url::EscapedFragment() const {
  return Encoded(fragment, raw_fragment, Part::kFragment);
}

std::string_view Url::Hostname() const {
  std::string_view name = host;
  const std::size_t colon = name.rfind(':');
  if (colon != std::string_view::npos && IsValidPort(name.substr(colon))) {
    name = name.substr(0, colon);
  }
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  return name;
}

std::string_view Url::Port() const {
  const std::string_view name = host;
  const std::size_t colon = name.rfind(':');
  if (colon == std::string_view::npos || !IsValidPort(name.substr(colon))) return {};
  return name.substr(colon + 1);
}

std::string Url::ToString() const {
  std::string out = scheme.empty() ? std::string() : base::StrCat(scheme, ":");
  if (!opaque.empty()) {
    out += opaque;
  } else {
    AppendAuthority(*this, out);
    const std::string escaped = EscapedPath();
    if (!escaped.empty() && escaped[0] != '/' && !host.empty()) out.push_back('/');
    // "./a:b", which would read as a scheme otherwise.
    if (out.empty() && escaped.substr(0, escaped.find('/')).find(':') != std::string::npos) {
      out += "./";
    }
    out += escaped;
  }
  if (force_query || !raw_query.empty()) out.append("?").append(raw_query);
  if (!fragment.empty()) out.append("#").append(EscapedFragment());
  return out;
}

base::Result<Url> ParseUrl(std::string_view text) {
  const std::size_t hash = text.find('#');
  const std::string_view body = text.substr(0, hash);
  auto url = Parse(body, false);
  if (!url.ok()) return Failure(body, url.status());
  if (hash == std::string_view::npos) return url;
  if (const auto set =
          SetEscaped(text.substr(hash + 1), Part::kFragment, url->fragment, url->raw_fragment);
      !set.ok()) {
    return Failure(text, set);
  }
  return url;
}

base::Result<Url> ParseRequestUri(std::string_view text) {
  auto url = Parse(text, true);
  if (!url.ok()) return Failure(text, url.status());
  return url;
}

Url ResolveReference(const Url& base, const Url& reference) {
  Url url = reference;
  if (reference.scheme.empty()) url.scheme = base.scheme;
  if (!reference.scheme.empty() || !reference.host.empty() || reference.user) {
    SetPath(WithoutDotSegments(reference.EscapedPath()), url);
    return url;
  }
  if (!reference.opaque.empty()) return url;
  if (reference.path.empty() && !reference.force_query && reference.raw_query.empty()) {
    url.raw_query = base.raw_query;
    if (reference.fragment.empty()) {
      url.fragment = base.fragment;
      url.raw_fragment = base.raw_fragment;
    }
  }
  if (reference.path.empty() && !base.opaque.empty()) {
    url.opaque = base.opaque;
    return url;
  }
  url.host = base.host;
  url.user = base.user;
  const std::string path = reference.EscapedPath();
  std::string full = path;
  if (path.empty()) {
    full = base.EscapedPath();
  } else if (path[0] != '/') {
    const std::string folder = base.EscapedPath();
    full = folder.substr(0, folder.rfind('/') + 1) + path;
  }
  SetPath(WithoutDotSegments(full), url);
  return url;
}

std::string QueryEscape(std::string_view text) { return Escape(text, Part::kQuery); }
std::string PathEscape(std::string_view text) { return Escape(text, Part::kPathSegment); }
std::string EscapePath(std::string_view path) { return Escape(path, Part::kPath); }

base::Result<std::string> QueryUnescape(std::string_view text) {
  return Unescape(text, Part::kQuery);
}
base::Result<std::string> PathUnescape(std::string_view text) {
  return Unescape(text, Part::kPathSegment);
}

std::vector<std::pair<std::string, std::string>> ParseQuery(std::string_view query) {
  constexpr std::ptrdiff_t kMaxPairs = 10'000;
  std::vector<std::pair<std::string, std::string>> pairs;
  if (std::count(query.begin(), query.end(), '&') >= kMaxPairs) return pairs;
  for (const std::string_view piece : base::Split(query, '&')) {
    if (piece.empty() || IsOneOf(';', piece)) continue;
    const std::size_t equals = piece.find('=');
    auto name = QueryUnescape(piece.substr(0, equals));
    auto value = QueryUnescape(equals == std::string_view::npos ? std::string_view()
                                                                : piece.substr(equals + 1));
    if (name.ok() && value.ok()) pairs.emplace_back(std::move(*name), std::move(*value));
  }
  return pairs;
}

}  // namespace portcullis::golang
