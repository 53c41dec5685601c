// SPDX-License-Identifier: Apache-2.0

// The forms in which requests and answers go over the wire.
#pragma once

#include <string>
#include <string_view>

#include "net/client.h"

namespace portcullis::load {

struct Encoding {
  std::string_view media_type;
  std::string (*encode)(std::string_view json);  // an object; "" if it cannot be written so
};

extern const Encoding kJson;
extern const Encoding kProtobuf;
extern const Encoding kCbor;

// The request as a client sends it that speaks this encoding; its body is encoded already.
net::ClientRequest In(const Encoding& encoding, net::ClientRequest request);

}  // namespace portcullis::load
