#include "api/schema/formats.h"

#include <arpa/inet.h>
#include <re2/re2.h>

#include <string>

#include "api/time.h"
#include "base/strings.h"

namespace portcullis::api::schema {
namespace {

bool Matches(std::string_view text, const char* pattern) {
  const RE2 expression(pattern, RE2::Quiet);
  return RE2::FullMatch(re2::StringPiece(text.data(), text.size()), expression);
}

bool IsAddress(std::string_view text, int family) {
  unsigned char bytes[16];
  return inet_pton(family, std::string(text).c_str(), bytes) == 1;
}

bool IsCidr(std::string_view text) {
  const auto parts = base::Cut(text, "/");
  if (!parts) return false;
  const bool v6 = parts->first.find(':') != std::string_view::npos;
  const auto bits = base::ParseInt(parts->second);
  return IsAddress(parts->first, v6 ? AF_INET6 : AF_INET) && bits && *bits >= 0 &&
         *bits <= (v6 ? 128 : 32);
}

bool IsHostName(std::string_view text) {
  if (text.empty() || text.size() > 255) return false;
  for (const std::string_view label : base::Split(text, '.')) {
    if (!Matches(label, "[a-zA-Z0-9_]([a-zA-Z0-9_-]{0,61}[a-zA-Z0-9])?")) return false;
  }
  return true;
}

bool IsUuid(std::string_view text, const char* version) {
  const std::string pattern = base::StrCat("(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?", version,
                                           "[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}");
  return Matches(text, pattern.c_str());
}

}  // namespace

bool HasFormat(std::string_view text, std::string_view format) {
  if (format == "date-time" || format == "datetime") return ParseTime(text).ok();
  if (format == "date") return ParseTime(base::StrCat(text, "T00:00:00Z")).ok();
  if (format == "duration") return ParseDuration(text).ok();
  if (format == "ipv4") return IsAddress(text, AF_INET);
  if (format == "ipv6") return IsAddress(text, AF_INET6);
  if (format == "cidr") return IsCidr(text);
  if (format == "byte") return base::Base64Decode(text).has_value();
  if (format == "mac") return Matches(text, "(?i)[0-9a-f]{2}([:-][0-9a-f]{2}){5}");
  if (format == "hostname") return IsHostName(text);
  if (format == "email") return Matches(text, "[^@\\s]+@[^@\\s]+");
  if (format == "uri") return Matches(text, "[a-zA-Z][a-zA-Z0-9+.-]*:.+|/.*");
  if (format == "uuid") return IsUuid(text, "[0-9a-f]");
  if (format == "uuid3") return IsUuid(text, "3");
  if (format == "uuid4") return IsUuid(text, "4");
  if (format == "uuid5") return IsUuid(text, "5");
  if (format == "hexcolor") return Matches(text, "#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})");
  return true;
}

}  // namespace portcullis::api::schema
