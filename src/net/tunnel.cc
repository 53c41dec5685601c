// SPDX-License-Identifier: Apache-2.0

#include "net/tunnel.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "net/internal/client_call.h"
#include "net/internal/server_exchange.h"

namespace portcullis::net {

bool AsksForUpgrade(const Headers& headers) {
  const auto values = headers.All("Connection");
  return std::any_of(values.begin(), values.end(), [](std::string_view value) {
    return base::ToLower(value).find("upgrade") != std::string::npos;
  });
}

void Send(PendingCall& call, std::string bytes, std::function<void()> taken) {
  static_cast<internal::ClientCall&>(call).Send(std::move(bytes), std::move(taken));
}

void SetPaused(PendingCall& call, bool paused) {
  static_cast<internal::ClientCall&>(call).SetPaused(paused);
}

void StartTunnel(Exchange& exchange, std::function<void(std::string_view)> on_bytes) {
  static_cast<internal::ServerExchange&>(exchange).StartTunnel(std::move(on_bytes));
}

void ReadMore(Exchange& exchange) { static_cast<internal::ServerExchange&>(exchange).ReadMore(); }

}  // namespace portcullis::net
