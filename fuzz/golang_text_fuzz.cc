// SPDX-License-Identifier: Apache-2.0

// Any text as a URL, a time, a duration, an address, a network, a number and a version: nothing
// crashes, and what was read is written as a text that reads as the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/clock.h"
#include "golang/netip.h"
#include "golang/semver.h"
#include "golang/strconv.h"
#include "golang/time.h"
#include "golang/url.h"

namespace {

using namespace portcullis;

void Require(bool holds) {
  if (!holds) std::abort();
}

void Urls(std::string_view text) {
  static const golang::Url kBase = *golang::ParseUrl("https://u@a:1/b/c?d#e");
  (void)golang::ParseRequestUri(text);
  (void)golang::ParseQuery(text);
  (void)golang::SplitHostPort(text);
  const auto url = golang::ParseUrl(text);
  if (!url.ok()) return;
  (void)golang::ResolveReference(kBase, *url);
  (void)golang::ResolveReference(*url, kBase);
  const auto path = golang::PathUnescape(url->EscapedPath());
  Require(path.ok() && *path == url->path);
}

void Times(std::string_view text) {
  if (const auto time = golang::ParseTime(text); time.ok()) {
    const std::string again = golang::FormatTimeNano(*time);
    // The zone may lead out of the years that can be written.
    if (again.size() > 4 && again[4] == '-') Require(*golang::ParseTime(again) == *time);
  }
  (void)golang::ParseMicroTime(text);
  if (const auto duration = golang::ParseDuration(text); duration.ok()) {
    Require(*golang::ParseDuration(base::FormatDuration(base::Duration(*duration))) == *duration);
  }
}

void Addresses(std::string_view text) {
  const auto address = golang::ParseIpAddress(text);
  if (address.ok()) Require(*golang::ParseIpAddress(address->ToString()) == *address);
  // What is strict is sloppy, too.
  if (const auto ip = golang::ParseIp(text)) Require(golang::ParseIpSloppy(text) == ip);
  if (const auto prefix = golang::ParseIpPrefix(text); prefix.ok()) {
    Require(golang::ParsePrefixSloppy(text) == *prefix);
  }
}

void Numbers(std::string_view text) {
  (void)golang::ParseInt(text, 0);
  (void)golang::ParseInt(text, 0, 8);
  if (const auto number = golang::Atoi(text); number.ok()) {
    Require(*golang::Atoi(std::to_string(*number)) == *number);
  }
  (void)golang::ParseUint(text);
  (void)golang::ParseSemver(text);
  (void)golang::ParseSemverNormalized(text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Urls(text);
  Times(text);
  Addresses(text);
  Numbers(text);
  return 0;
}
