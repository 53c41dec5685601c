#include "net/url.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

#include "base/gotext.h"
#include "base/strings.h"

namespace portcullis::net {
namespace {

bool IsHex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return (c | 0x20) - 'a' + 10;
}
bool IsAlpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

base::Status ParseError(std::string_view url, std::string_view reason) {
  return base::BadRequest(base::StrCat("parse ", base::GoQuote(url), ": ", reason));
}

base::Status CheckEscapes(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') continue;
    if (i + 2 >= text.size() || !IsHex(text[i + 1]) || !IsHex(text[i + 2])) {
      return base::BadRequest(
          base::StrCat("invalid URL escape ", base::GoQuote(text.substr(i, 3))));
    }
    i += 2;
  }
  return base::OkStatus();
}

enum class PlusIs { kPlus, kSpace };

base::Result<std::string> Unescape(std::string_view text, PlusIs plus) {
  TRY(CheckEscapes(text));
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      out.push_back(static_cast<char>(HexValue(text[i + 1]) * 16 + HexValue(text[i + 2])));
      i += 2;
    } else {
      out.push_back(text[i] == '+' && plus == PlusIs::kSpace ? ' ' : text[i]);
    }
  }
  return out;
}

std::string Escape(std::string_view text, std::string_view unreserved, bool plus_for_space) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (IsAlpha(c) || IsDigit(c) || unreserved.find(c) != std::string_view::npos) {
      out.push_back(c);
    } else if (c == ' ' && plus_for_space) {
      out.push_back('+');
    } else {
      out.push_back('%');
      out.push_back(kHex[byte >> 4U]);
      out.push_back(kHex[byte & 15U]);
    }
  }
  return out;
}

// Splits "host:port" of a URL; a colon inside brackets belongs to the address.
base::Status ParseAuthority(std::string_view authority, Url& url) {
  const auto at = authority.rfind('@');
  if (at != std::string_view::npos) {
    url.userinfo = authority.substr(0, at);
    authority.remove_prefix(at + 1);
  }
  std::string_view port;
  if (authority.starts_with('[')) {
    const auto end = authority.rfind(']');
    if (end == std::string_view::npos) return base::BadRequest("missing ']' in host");
    url.host = authority.substr(1, end - 1);
    port = authority.substr(end + 1);
  } else {
    const auto colon = authority.find(':');
    url.host = authority.substr(0, colon);
    if (colon != std::string_view::npos) port = authority.substr(colon);
  }
  if (!port.empty() && (port[0] != ':' || !std::all_of(port.begin() + 1, port.end(), IsDigit))) {
    return base::BadRequest(base::StrCat("invalid port ", base::GoQuote(port), " after host"));
  }
  if (!port.empty()) url.port = port.substr(1);
  const auto bad = url.host.find_first_of(" \"<>\\^`{|}");
  if (bad != std::string::npos) {
    return base::BadRequest(base::StrCat("invalid character ",
                                         base::GoQuote(std::string_view(url.host).substr(bad, 1)),
                                         " in host name"));
  }
  return base::OkStatus();
}

void SplitTail(std::string_view rest, Url& url) {
  const auto hash = rest.find('#');
  if (hash != std::string_view::npos) {
    url.fragment = rest.substr(hash + 1);
    rest = rest.substr(0, hash);
  }
  const auto mark = rest.find('?');
  if (mark != std::string_view::npos) {
    url.query = rest.substr(mark + 1);
    rest = rest.substr(0, mark);
  }
  url.path = rest;
}

// RFC 3986 §5.2.4.
std::string RemoveDotSegments(std::string_view path) {
  std::vector<std::string_view> kept;
  const auto segments = base::Split(path, '/');
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const bool last = i + 1 == segments.size();
    if (segments[i] == "..") {
      if (kept.size() > 1) kept.pop_back();
      if (last) kept.emplace_back("");
    } else if (segments[i] == ".") {
      if (last) kept.emplace_back("");
    } else {
      kept.push_back(segments[i]);
    }
  }
  return base::Join(kept, "/");
}

}  // namespace

int Url::EffectivePort() const {
  if (!port.empty()) return static_cast<int>(base::ParseInt(port).value_or(0));
  if (scheme.starts_with("socks5")) return 1080;
  return scheme == "http" ? 80 : 443;
}

std::string Url::Authority() const {
  const bool brackets = host.find(':') != std::string::npos;
  std::string text = brackets ? base::StrCat("[", host, "]") : host;
  if (!port.empty()) text += base::StrCat(":", port);
  return text;
}

std::string Url::HostPort() const { return JoinHostPort(host, std::to_string(EffectivePort())); }

std::string Url::Target() const {
  std::string text = path.empty() ? "/" : path;
  if (!query.empty()) text += base::StrCat("?", query);
  return text;
}

std::string Url::ToString() const {
  std::string text = base::StrCat(scheme, "://");
  if (!userinfo.empty()) text += base::StrCat(userinfo, "@");
  text += base::StrCat(Authority(), path);
  if (!query.empty()) text += base::StrCat("?", query);
  if (!fragment.empty()) text += base::StrCat("#", fragment);
  return text;
}

base::Result<Url> ParseUrl(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      return ParseError(text, "net/url: invalid control character in URL");
    }
  }
  if (text.empty()) return ParseError(text, "empty url");
  Url url;
  const auto colon = text.find("://");
  if (colon == std::string_view::npos || colon == 0 || !IsAlpha(text[0])) {
    return ParseError(
        text, text.starts_with(':') ? "missing protocol scheme" : "unsupported protocol scheme");
  }
  url.scheme = base::ToLower(text.substr(0, colon));
  auto rest = text.substr(colon + 3);
  const auto slash = rest.find_first_of("/?#");
  if (auto status = ParseAuthority(rest.substr(0, slash), url); !status.ok()) {
    return ParseError(text, status.message());
  }
  if (slash != std::string_view::npos) SplitTail(rest.substr(slash), url);
  if (auto status = CheckEscapes(url.path); !status.ok()) {
    return ParseError(text, status.message());
  }
  return url;
}

base::Result<Url> ResolveReference(const Url& base, std::string_view reference) {
  if (reference.find("://") != std::string_view::npos &&
      reference.find("://") < reference.find_first_of("/?#")) {
    return ParseUrl(reference);
  }
  if (reference.starts_with("//")) return ParseUrl(base::StrCat(base.scheme, ":", reference));
  Url url = base;
  url.fragment.clear();
  url.query.clear();
  Url tail;
  SplitTail(reference, tail);
  if (tail.path.empty()) {
    url.query = reference.find('?') == std::string_view::npos ? base.query : tail.query;
    url.fragment = tail.fragment;
    return url;
  }
  if (tail.path.starts_with('/')) {
    url.path = RemoveDotSegments(tail.path);
  } else {
    const auto directory = base.path.substr(0, base.path.rfind('/') + 1);
    url.path = RemoveDotSegments(base::StrCat(directory.empty() ? "/" : directory, tail.path));
  }
  url.query = tail.query;
  url.fragment = tail.fragment;
  return url;
}

std::string JoinHostPort(std::string_view host, std::string_view port) {
  if (host.find(':') != std::string_view::npos) return base::StrCat("[", host, "]:", port);
  return base::StrCat(host, ":", port);
}

base::Result<std::pair<std::string, std::string>> SplitHostPort(std::string_view address) {
  const auto fail = [&](std::string_view reason) {
    return base::BadRequest(base::StrCat("address ", address, ": ", reason));
  };
  const auto colon = address.rfind(':');
  if (colon == std::string_view::npos) return fail("missing port in address");
  std::string_view host = address.substr(0, colon);
  if (address.starts_with('[')) {
    const auto end = address.find(']');
    if (end == std::string_view::npos) return fail("missing ']' in address");
    if (end + 1 == address.size()) return fail("missing port in address");
    if (end + 1 != colon) return fail("too many colons in address");
    host = address.substr(1, end - 1);
  } else if (host.find(':') != std::string_view::npos) {
    return fail("too many colons in address");
  }
  return std::pair{std::string(host), std::string(address.substr(colon + 1))};
}

bool IsIpAddress(std::string_view host) {
  std::array<unsigned char, 16> bytes{};
  const std::string text(host);
  return inet_pton(AF_INET, text.c_str(), bytes.data()) == 1 ||
         inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1;
}

bool IsLoopbackHost(std::string_view host) {
  if (base::EqualsIgnoreCase(host, "localhost")) return true;
  std::array<unsigned char, 16> bytes{};
  const std::string text(host);
  if (inet_pton(AF_INET, text.c_str(), bytes.data()) == 1) return bytes[0] == 127;
  if (inet_pton(AF_INET6, text.c_str(), bytes.data()) != 1) return false;
  return std::all_of(bytes.begin(), bytes.end() - 1, [](unsigned char b) { return b == 0; }) &&
         bytes[15] == 1;
}

std::string QueryEscape(std::string_view text) { return Escape(text, "-_.~", true); }
std::string PathEscape(std::string_view text) { return Escape(text, "-_.~$&+=:@", false); }

base::Result<std::string> QueryUnescape(std::string_view text) {
  return Unescape(text, PlusIs::kSpace);
}
base::Result<std::string> PathUnescape(std::string_view text) {
  return Unescape(text, PlusIs::kPlus);
}

std::vector<std::pair<std::string, std::string>> ParseQuery(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const auto piece : base::Split(query, '&')) {
    if (piece.empty() || piece.find(';') != std::string_view::npos) continue;
    const auto equals = piece.find('=');
    auto name = QueryUnescape(piece.substr(0, equals));
    auto value = QueryUnescape(equals == std::string_view::npos ? "" : piece.substr(equals + 1));
    if (name.ok() && value.ok()) pairs.emplace_back(std::move(*name), std::move(*value));
  }
  return pairs;
}

}  // namespace portcullis::net
