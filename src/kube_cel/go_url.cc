#include "kube_cel/go_url.h"

#include <algorithm>
#include <optional>

#include "base/gotext.h"
#include "base/strings.h"
#include "kube_cel/ip_address.h"

namespace portcullis::kube_cel {
namespace {

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

int HexDigit(char c) {
  if (IsDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool Contains(std::string_view set, char c) { return set.find(c) != std::string_view::npos; }

// Characters that stand for themselves in a path.
bool PlainInPath(char c) { return IsLetter(c) || IsDigit(c) || Contains("-_.~$&+,/:;=@", c); }

std::string EscapePath(std::string_view path) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : path) {
    if (PlainInPath(c)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
  return out;
}

// What a writer of a path may leave unescaped beyond what Go itself leaves.
bool IsValidEncodedPath(std::string_view path) {
  return std::all_of(path.begin(), path.end(),
                     [](char c) { return PlainInPath(c) || Contains("!'()*[]%", c); });
}

// "" and the text, or an error text.
struct Unescaped {
  std::string text;
  std::string error;
};

Unescaped Unescape(std::string_view text, bool plus_is_space) {
  Unescaped out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      out.text += ' ';
    } else if (text[i] == '%') {
      const int high = i + 1 < text.size() ? HexDigit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? HexDigit(text[i + 2]) : -1;
      if (high < 0 || low < 0) {
        out.error = "invalid URL escape " + base::GoQuote(text.substr(i, 3));
        return out;
      }
      out.text += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out.text += text[i];
    }
  }
  return out;
}

bool IsValidPort(std::string_view port) {
  if (port.empty()) return true;
  if (port[0] != ':') return false;
  return std::all_of(port.begin() + 1, port.end(), IsDigit);
}

bool PlainInUser(char c) { return IsLetter(c) || IsDigit(c) || Contains("-._:~!$&'()*+,;=%@", c); }

bool PlainInHost(char c) {
  return IsLetter(c) || IsDigit(c) || Contains("-_.~!$&'()*+,;=:[]<>\"", c);
}

// Only bytes beyond ASCII may be escaped; in the zone of an address whatever could be written, and
// spaces.
Unescaped UnescapeHost(std::string_view host, bool is_zone = false) {
  for (std::size_t i = 0; i < host.size(); ++i) {
    const char c = host[i];
    if (c != '%') {
      if (static_cast<unsigned char>(c) >= 0x80 || PlainInHost(c)) continue;
      return {"", "invalid character " + base::GoQuote(host.substr(i, 1)) + " in host name"};
    }
    const int high = i + 1 < host.size() ? HexDigit(host[i + 1]) : -1;
    const int low = i + 2 < host.size() ? HexDigit(host[i + 2]) : -1;
    bool good = high >= 0 && low >= 0;
    if (good && host.substr(i, 3) != "%25") {
      const char escaped = static_cast<char>(high * 16 + low);
      good = is_zone ? escaped == ' ' || PlainInHost(escaped) : high >= 8;
    }
    if (!good) return {"", "invalid URL escape " + base::GoQuote(host.substr(i, 3))};
  }
  return Unescape(host, false);
}

Unescaped InvalidPort(std::string_view port) {
  return {"", "invalid port " + base::GoQuote(port) + " after host"};
}

// `[::1]:80`, `[fe80::1%25en0]`.
Unescaped BracketedHost(std::string_view host) {
  const auto end = host.rfind(']');
  if (end == std::string_view::npos) return {"", "missing ']' in host"};
  const std::string_view port = host.substr(end + 1);
  if (!IsValidPort(port)) return InvalidPort(port);
  const std::string_view name = host.substr(1, end - 1);
  const auto zone_at = std::min(name.find("%25"), name.size());
  Unescaped address = UnescapeHost(name.substr(0, zone_at));
  if (!address.error.empty()) return address;
  const Unescaped zone = UnescapeHost(name.substr(zone_at), true);
  if (!zone.error.empty()) return zone;
  address.text += zone.text;
  const auto ip = ParseIpAddress(address.text);
  if (!ip.ok()) return {"", "invalid host: " + ip.status().message()};
  if (!ip->is_v6) return {"", "invalid IP-literal"};
  return {base::StrCat("[", address.text, "]", port), ""};
}

Unescaped ReadHost(std::string_view scheme, std::string_view host) {
  const auto bracket = host.rfind('[');
  if (bracket == 0) return BracketedHost(host);
  if (bracket != std::string_view::npos) return {"", "invalid IP-literal"};
  // A host of the web has one colon at most.
  const bool strict = scheme == "http" || scheme == "https";
  const auto colon = strict ? host.find(':') : host.rfind(':');
  if (colon != std::string_view::npos && !IsValidPort(host.substr(colon))) {
    return InvalidPort(host.substr(colon));
  }
  return UnescapeHost(host);
}

base::Status Failure(std::string_view text, std::string_view why) {
  return base::BadRequest(base::StrCat("parse ", base::GoQuote(text), ": ", why));
}

// Splits the scheme off `rest`; nothing if it is malformed.
std::optional<std::string> TakeScheme(std::string_view& rest) {
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const char c = rest[i];
    if (IsLetter(c)) continue;
    if (IsDigit(c) || Contains("+-.", c)) {
      if (i == 0) return "";
      continue;
    }
    if (c != ':') return "";
    if (i == 0) return std::nullopt;
    std::string scheme = base::ToLower(rest.substr(0, i));
    rest.remove_prefix(i + 1);
    return scheme;
  }
  return "";
}

}  // namespace

std::string_view RequestUri::Hostname() const {
  std::string_view name = host;
  if (name.starts_with('[')) {
    const auto end = name.find(']');
    if (end != std::string_view::npos) return name.substr(1, end - 1);
  }
  const auto colon = name.rfind(':');
  if (colon != std::string_view::npos && IsValidPort(name.substr(colon))) {
    return name.substr(0, colon);
  }
  return name;
}

std::string_view RequestUri::Port() const {
  const std::string_view name = host;
  const auto colon = name.rfind(':');
  if (colon == std::string_view::npos || name.find(']', colon) != std::string_view::npos) return {};
  return IsValidPort(name.substr(colon)) ? name.substr(colon + 1) : std::string_view();
}

std::vector<std::pair<std::string, std::string>> RequestUri::Query() const {
  constexpr std::ptrdiff_t kMaxPairs = 10000;
  std::vector<std::pair<std::string, std::string>> out;
  if (std::count(query.begin(), query.end(), '&') >= kMaxPairs) return out;
  for (const std::string_view pair : base::Split(query, '&')) {
    if (pair.empty() || Contains(pair, ';')) continue;
    const auto equals = pair.find('=');
    const Unescaped key = Unescape(pair.substr(0, equals), true);
    const Unescaped value =
        equals == std::string_view::npos ? Unescaped{} : Unescape(pair.substr(equals + 1), true);
    if (key.error.empty() && value.error.empty()) out.emplace_back(key.text, value.text);
  }
  return out;
}

namespace {

// Without a fragment. Only what is no request may have a host without a scheme: `//host/path`.
base::Result<RequestUri> Parse(std::string_view text, bool is_request) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) {
      return Failure(text, "net/url: invalid control character in URL");
    }
  }
  if (text.empty()) return Failure(text, "empty url");
  RequestUri uri;
  if (text == "*") {
    uri.path = uri.escaped_path = uri.text = "*";
    return uri;
  }
  std::string_view rest = text;
  auto scheme = TakeScheme(rest);
  if (!scheme) return Failure(text, "missing protocol scheme");
  uri.scheme = *std::move(scheme);
  uri.text = uri.scheme.empty() ? std::string(rest) : base::StrCat(uri.scheme, ":", rest);
  if (const auto mark = rest.find('?'); mark != std::string_view::npos) {
    uri.query = rest.substr(mark + 1);
    rest = rest.substr(0, mark);
  }
  if (!rest.starts_with('/')) {
    if (!uri.scheme.empty()) return uri;  // an opaque URI
    return Failure(text, "invalid URI for request");
  }
  const bool has_host = !uri.scheme.empty() || (!is_request && !rest.starts_with("///"));
  if (has_host && rest.starts_with("//")) {
    std::string_view authority = rest.substr(2);
    const auto slash = authority.find('/');
    rest = slash == std::string_view::npos ? std::string_view() : authority.substr(slash);
    authority = authority.substr(0, slash);
    std::string_view user;
    if (const auto at = authority.rfind('@'); at != std::string_view::npos) {
      user = authority.substr(0, at);
      authority.remove_prefix(at + 1);
    }
    Unescaped host = ReadHost(uri.scheme, authority);
    if (!host.error.empty()) return Failure(text, host.error);
    uri.host = std::move(host.text);
    if (!std::all_of(user.begin(), user.end(), PlainInUser)) {
      return Failure(text, "net/url: invalid userinfo");
    }
    const Unescaped name = Unescape(user, false);
    if (!name.error.empty()) return Failure(text, name.error);
  }
  Unescaped path = Unescape(rest, false);
  if (!path.error.empty()) return Failure(text, path.error);
  uri.path = std::move(path.text);
  uri.escaped_path = IsValidEncodedPath(rest) ? std::string(rest) : EscapePath(uri.path);
  return uri;
}

}  // namespace

base::Result<RequestUri> ParseRequestUri(std::string_view text) { return Parse(text, true); }

base::Result<RequestUri> ParseUrl(std::string_view text) {
  TRY(ParseRequestUri(text));
  const auto mark = text.find('#');
  RequestUri uri = TRY(Parse(text.substr(0, mark), false));
  if (mark == std::string_view::npos) return uri;
  const Unescaped fragment = Unescape(text.substr(mark + 1), false);
  if (!fragment.error.empty()) return Failure(text, fragment.error);
  if (mark + 1 < text.size()) uri.text += text.substr(mark);
  return uri;
}

}  // namespace portcullis::kube_cel
