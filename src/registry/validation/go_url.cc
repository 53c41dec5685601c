#include "registry/validation/go_url.h"

#include <algorithm>

#include "base/gotext.h"
#include "base/strings.h"

namespace portcullis::registry {
namespace {

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsHex(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool IsOneOf(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }

base::Status Reason(std::string text) { return base::BadRequest(std::move(text)); }

base::Status CheckEscapes(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') continue;
    if (i + 2 >= text.size() || !IsHex(text[i + 1]) || !IsHex(text[i + 2])) {
      return Reason(base::StrCat("invalid URL escape ", base::GoQuote(text.substr(i, 3))));
    }
    i += 2;
  }
  return base::OkStatus();
}

// Takes "scheme:" off the front of `rest`.
base::Result<std::string> TakeScheme(std::string_view& rest) {
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const char c = rest[i];
    if (IsLetter(c)) continue;
    if (IsDigit(c) || IsOneOf(c, "+-.")) {
      if (i == 0) return std::string();
      continue;
    }
    if (c != ':') return std::string();
    if (i == 0) return Reason("missing protocol scheme");
    std::string scheme = base::ToLower(rest.substr(0, i));
    rest.remove_prefix(i + 1);
    return scheme;
  }
  return std::string();
}

base::Status CheckPort(std::string_view port) {
  const bool good = port.empty() ||
                    (port[0] == ':' &&
                     std::all_of(port.begin() + 1, port.end(), [](char c) { return IsDigit(c); }));
  if (good) return base::OkStatus();
  return Reason(base::StrCat("invalid port ", base::GoQuote(port), " after host"));
}

base::Status CheckHost(std::string_view host) {
  if (host.starts_with('[')) {
    const auto end = host.rfind(']');
    if (end == std::string_view::npos) return Reason("missing ']' in host");
    TRY(CheckPort(host.substr(end + 1)));
  } else if (const auto colon = host.rfind(':'); colon != std::string_view::npos) {
    TRY(CheckPort(host.substr(colon)));
  }
  TRY(CheckEscapes(host));
  for (std::size_t i = 0; i < host.size(); ++i) {
    const char c = host[i];
    const bool good = static_cast<unsigned char>(c) >= 0x80 || IsLetter(c) || IsDigit(c) ||
                      IsOneOf(c, "-_.~!$&'()*+,;=:[]<>\"%");
    if (good) continue;
    return Reason(
        base::StrCat("invalid character ", base::GoQuote(host.substr(i, 1)), " in host name"));
  }
  return base::OkStatus();
}

base::Status TakeAuthority(std::string_view authority, GoUrl& url) {
  const auto at = authority.rfind('@');
  const std::string_view host = at == std::string_view::npos ? authority : authority.substr(at + 1);
  TRY(CheckHost(host));
  url.host = host;
  if (at == std::string_view::npos) return base::OkStatus();
  const std::string_view user = authority.substr(0, at);
  for (const char c : user) {
    if (IsLetter(c) || IsDigit(c) || IsOneOf(c, "-._:~!$&'()*+,;=%@")) continue;
    return Reason("net/url: invalid userinfo");
  }
  TRY(CheckEscapes(user));
  url.has_user = true;
  url.user = user;
  return base::OkStatus();
}

base::Status TakeParts(std::string_view rest, GoUrl& url) {
  for (const char c : rest) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      return Reason("net/url: invalid control character in URL");
    }
  }
  if (rest == "*") return base::OkStatus();
  url.scheme = TRY(TakeScheme(rest));
  if (const auto mark = rest.find('?'); mark != std::string_view::npos) {
    url.query = rest.substr(mark + 1);
    rest = rest.substr(0, mark);
  }
  if (!rest.starts_with('/')) {
    if (!url.scheme.empty()) return base::OkStatus();  // opaque: "mailto:a@b"
    if (rest.substr(0, rest.find('/')).find(':') != std::string_view::npos) {
      return Reason("first path segment in URL cannot contain colon");
    }
  }
  if (rest.starts_with("//") && (!url.scheme.empty() || !rest.starts_with("///"))) {
    rest.remove_prefix(2);
    const auto slash = rest.find('/');
    TRY(TakeAuthority(rest.substr(0, slash), url));
    rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash);
  }
  return CheckEscapes(rest);
}

}  // namespace

base::Result<GoUrl> ParseGoUrl(std::string_view text) {
  const auto hash = text.find('#');
  const std::string_view body = text.substr(0, hash);
  GoUrl url;
  const auto fail = [&](const base::Status& why, std::string_view shown) {
    return base::BadRequest(base::StrCat("parse ", base::GoQuote(shown), ": ", why.message()));
  };
  if (auto bad = TakeParts(body, url); !bad.ok()) return fail(bad, body);
  if (hash != std::string_view::npos) {
    url.fragment = text.substr(hash + 1);
    if (auto bad = CheckEscapes(url.fragment); !bad.ok()) return fail(bad, text);
  }
  return url;
}

}  // namespace portcullis::registry
