// SPDX-License-Identifier: Apache-2.0

// Sends an answer that is made piece by piece, no faster than the client takes it: what is made and
// not yet taken stays small however large the answer is. The worker waits, as the handler of a Go
// server does, and the request keeps its seat.
#pragma once

#include <cstddef>

#include "server/call.h"

namespace portcullis::server::filters {

// Compressed from so many bytes on, if the client accepts it, as kube-apiserver.
inline constexpr std::size_t kCompressFrom = 128 * 1024;

// gzip at the fastest level, as kube-apiserver; "" if it cannot be done.
std::string Compress(std::string_view text);

// Sends reply.body and what reply.rest makes. `head` has the headers but those of the encoding.
// Cut off at the call's deadline, and if making it fails. Returns the size of the text,
// uncompressed.
std::size_t SendStreamed(Call& call, net::ResponseHead head, Reply& reply);

}  // namespace portcullis::server::filters
