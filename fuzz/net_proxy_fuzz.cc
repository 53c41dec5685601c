// SPDX-License-Identifier: Apache-2.0

// What proxies answer, to CONNECT and in SOCKS 5. The first byte chooses, the rest comes in pieces:
// however it is cut, the dialog ends alike.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "net/internal/proxy_dialog.h"

namespace {

namespace net = portcullis::net;
using net::internal::ProxyDialog;

std::string Outcome(const net::Url& proxy, std::string_view text, std::size_t step) {
  const net::Url target = net::ParseUrl("https://hook.example:8443/").value();
  const auto dialog = ProxyDialog::Begin(proxy, target, "127.0.0.1:1080");
  std::string said = dialog->TakeOutput();
  while (!text.empty()) {
    const auto state = dialog->OnBytes(text.substr(0, step));
    text.remove_prefix(std::min(step, text.size()));
    said += dialog->TakeOutput();
    if (state == ProxyDialog::State::kOpen) return said + "open";
    if (state == ProxyDialog::State::kFailed) return said + dialog->error();
  }
  dialog->OnBroken(true, "");
  return said + dialog->error();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const net::Url kProxies[] = {net::ParseUrl("http://u:p@proxy:3128").value(),
                                      net::ParseUrl("socks5://proxy").value(),
                                      net::ParseUrl("socks5://u:p@proxy").value()};
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const net::Url& proxy = kProxies[data[0] % 3];
  const bool is_http = data[0] % 3 == 0;
  // A head that never ends may be given up earlier or later; what a proxy says after it has led on,
  // before it is spoken to, is not looked at.
  if (is_http && size > 60'000) return 0;
  const std::string whole = Outcome(proxy, text, size);
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}}) {
    const std::string cut = Outcome(proxy, text, step);
    // Bytes after the end of an HTTP head are in the text about a malformed one.
    if (!is_http && cut != whole) std::abort();
  }
  return 0;
}
