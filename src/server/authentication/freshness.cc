// SPDX-License-Identifier: Apache-2.0

#include "server/authentication/freshness.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/strings.h"
#include "golang/http_time.h"
#include "net/http.h"

namespace portcullis::server::authentication {
namespace {

using Seconds = std::chrono::seconds;

constexpr Seconds kLongestGuess{24 * 3600};
constexpr Seconds kCentury{std::int64_t{100} * 365 * 24 * 3600};
constexpr std::string_view kBlanks = " \t";

// What Cache-Control says, as far as it counts.
struct Lifetimes {
  std::optional<Seconds> shared;  // s-maxage
  std::optional<Seconds> any;     // max-age
};

template <std::size_t N>
bool IsOneOf(std::string_view name, const std::string_view (&names)[N]) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

std::optional<Seconds> ReadSeconds(std::optional<std::string_view> text) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int32_t>::max();
  std::uint64_t value = 0;
  if (!text) return std::nullopt;
  const char* const end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, value);
  if (stop != end || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc::result_out_of_range) value = kMost;
  return Seconds(std::min(value, kMost));
}

// False: the value, or that there is none, is a mistake.
bool Take(std::string_view name, std::optional<std::string_view> value, Lifetimes& lifetimes) {
  constexpr std::string_view kWithSeconds[] = {"max-age", "s-maxage", "stale-if-error",
                                               "stale-while-revalidate"};
  constexpr std::string_view kWithoutValue[] = {
      "must-revalidate", "no-store", "no-transform", "public", "proxy-revalidate", "immutable"};
  if (IsOneOf(name, kWithoutValue)) return !value;
  if (!IsOneOf(name, kWithSeconds)) return true;
  const auto time = ReadSeconds(value);
  if (name == "max-age") lifetimes.any = time;
  if (name == "s-maxage") lifetimes.shared = time;
  return time.has_value();
}

// The place of the quote that ends what begins with one.
std::size_t FindQuote(std::string_view text, std::size_t begin) {
  for (std::size_t at = begin + 1; at < text.size(); ++at) {
    if (text[at] == '"') return at;
    if (text[at] == '\\') ++at;
  }
  return std::string_view::npos;
}

std::optional<Lifetimes> ReadCacheControl(std::string_view text) {
  Lifetimes lifetimes;
  for (std::size_t at = 0; (at = text.find_first_not_of(" \t,", at)) < text.size();) {
    std::size_t end = at + 1;
    while (end < text.size() && net::IsTokenCharacter(text[end])) ++end;
    const std::string name = base::ToLower(text.substr(at, end - at));
    std::optional<std::string_view> value;
    at = end;
    if (end + 1 < text.size() && text[end] == '=') {
      const std::size_t begin = end + 1;
      if (text[begin] == '"') {
        const std::size_t quote = FindQuote(text, begin);
        if (quote == std::string_view::npos) return std::nullopt;
        value = text.substr(begin + 1, quote - begin - 1);
        at = quote + 1;
      } else {
        // The values of these two are lists of fields.
        const bool is_list = name == "no-cache" || name == "private";
        at = std::min(text.find_first_of(is_list ? kBlanks : " \t,", begin), text.size());
        value = text.substr(begin, at - begin);
      }
    }
    if (!Take(name, value, lifetimes)) return std::nullopt;
  }
  return lifetimes;
}

}  // namespace

Seconds FreshFor(const net::Headers& headers, base::WallTime wall_time) {
  const auto now = std::chrono::floor<Seconds>(wall_time.time_since_epoch());
  const auto time_of = [&](std::string_view name) {
    const auto time = golang::ParseHttpTime(headers.Get(name));
    return time ? std::optional(Seconds(*time)) : std::nullopt;
  };
  const auto lifetimes = ReadCacheControl(headers.Get("Cache-Control"));
  const auto date = time_of("Date");
  const auto modified = time_of("Last-Modified");
  const bool is_readable = lifetimes && (date || headers.Get("Date").empty()) &&
                           (modified || headers.Get("Last-Modified").empty());
  if (!is_readable) return Seconds(0);
  Seconds fresh{0};
  if (lifetimes->shared || lifetimes->any) {
    fresh = lifetimes->shared ? *lifetimes->shared : *lifetimes->any;
  } else if (const auto expires = time_of("Expires")) {
    fresh = *expires - date.value_or(now);
  } else if (modified) {
    fresh = std::min((now - *modified) / 10, kLongestGuess);
  }
  return std::clamp(fresh, Seconds(0), kCentury);
}

}  // namespace portcullis::server::authentication
