#include "kube_cel/go_url.h"

#include <algorithm>
#include <optional>

#include "base/gotext.h"
#include "base/strings.h"

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

// Empty if the host is acceptable.
std::string CheckHost(std::string_view host) {
  for (std::size_t i = 0; i < host.size(); ++i) {
    const char c = host[i];
    const bool plain = IsLetter(c) || IsDigit(c) || Contains("-_.~!$&'()*+,;=:[]<>\"%", c) ||
                       static_cast<unsigned char>(c) >= 0x80;
    if (!plain) return "invalid character " + base::GoQuote(host.substr(i, 1)) + " in host name";
    if (c == '%') {
      const int high = i + 1 < host.size() ? HexDigit(host[i + 1]) : -1;
      const int low = i + 2 < host.size() ? HexDigit(host[i + 2]) : -1;
      // Only bytes beyond ASCII may be escaped, and the zone of an address.
      if (high < 0 || low < 0 || (high < 8 && host.substr(i, 3) != "%25")) {
        return "invalid URL escape " + base::GoQuote(host.substr(i, 3));
      }
    }
  }
  if (host.starts_with('[')) {
    const auto end = host.rfind(']');
    if (end == std::string_view::npos) return "missing ']' in host";
    if (!IsValidPort(host.substr(end + 1))) {
      return "invalid port " + base::GoQuote(host.substr(end + 1)) + " after host";
    }
  } else if (const auto colon = host.rfind(':'); colon != std::string_view::npos) {
    if (!IsValidPort(host.substr(colon))) {
      return "invalid port " + base::GoQuote(host.substr(colon)) + " after host";
    }
  }
  return "";
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
  std::vector<std::pair<std::string, std::string>> out;
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
    if (const auto at = authority.rfind('@'); at != std::string_view::npos) {
      const bool valid = std::all_of(
          authority.begin(), authority.begin() + static_cast<long>(at),
          [](char c) { return IsLetter(c) || IsDigit(c) || Contains("-._:~!$&'()*+,;=%@", c); });
      if (!valid) return Failure(text, "net/url: invalid userinfo");
      authority.remove_prefix(at + 1);
    }
    const std::string problem = CheckHost(authority);
    if (!problem.empty()) return Failure(text, problem);
    uri.host = authority;
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
