// SPDX-License-Identifier: Apache-2.0

// Any text as a request URI: what is accepted has parts that lie within it, and its text is
// accepted again.
#include "golang/url.h"
#include "kube_cel_text.h"

namespace golang = portcullis::golang;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static const portcullis::fuzz::TextExpression kLaws(
      "!isURL(object) || (url(object) == url(object) && "
      "url(object).getHost().contains(url(object).getHostname()) && "
      "url(object).getPort().size() <= url(object).getHost().size() && "
      "url(object).getScheme() == url(object).getScheme().lowerAscii() && "
      "url(object).getQuery().all(k, v, v.size() > 0) && url(object).getEscapedPath().size() >= "
      "0)");
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // What is a request need not be a URL: `//a|b/` is a path of the one, a host of the other.
  kLaws.Check(text, /*may_fail=*/true);
  const auto uri = golang::ParseRequestUri(text);
  if (!uri.ok()) {
    if (!uri.status().message().starts_with("parse ")) std::abort();
    return 0;
  }
  const auto again = golang::ParseRequestUri(uri->ToString());
  if (!again.ok() || again->ToString() != uri->ToString() || again->path != uri->path) std::abort();
  return 0;
}
