// SPDX-License-Identifier: Apache-2.0

// Connections that an upgrade gives away (RFC 9110 §7.8): what follows its answer are bytes of another protocol.
//
// Of an HttpsClient: a request with on_data whose Connection names an upgrade. It needs a ClientTls that offers no
// HTTP/2. on_data receives the answer as it comes, its head included; after 101 also what follows, without a
// deadline, and the call ends when the server ends it. What refuses the upgrade ends within ten seconds. A 1xx
// is an answer, too.
//
// Any thread may call these functions. Callbacks run on I/O threads and must not block.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "net/client.h"
#include "net/server.h"

namespace portcullis::net {

// Whether Connection names an upgrade (Kubernetes: IsUpgradeRequest).
bool AsksForUpgrade(const Headers& headers);

// Sends what follows on the connection of a call that has been answered with 101. `taken` is called once the
// socket has all of it; before that, nothing else is to be sent.
void Send(PendingCall& call, std::string bytes, std::function<void()> taken);
// Of any call of HttpsClient::Begin: whether its answer is left in the socket. What has been read still comes.
void SetPaused(PendingCall& call, bool paused);

// A started answer of HTTP/1, of which Write() sends plain bytes, the head of the answer first. `on_bytes` receives
// what the client sends, one piece for each ReadMore() and one in the beginning. A client that closes has gone
// (OnClosed). Finish() closes the connection. No write timeout holds.
void StartTunnel(Exchange& exchange, std::function<void(std::string_view)> on_bytes);
void ReadMore(Exchange& exchange);

}  // namespace portcullis::net
