// SPDX-License-Identifier: Apache-2.0

// Write turns a document into one CBOR data item as Kubernetes does: strings and names as byte
// strings, floats in the smallest width that holds them, lengths definite. Members stay in their
// order: Kubernetes shuffles them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cbor/item.h"
#include "json/value.h"

namespace portcullis::cbor {

// The item alone.
void Write(json::Value value, std::string& out);

// Parts of items, for those who know more of a value than JSON says.
void WriteHead(Major major, std::uint64_t argument, std::string& out);
void WriteString(std::string_view text, std::string& out);
// Bytes that are base64 in JSON.
void WriteBytes(std::string_view bytes, std::string& out);

}  // namespace portcullis::cbor
