// SPDX-License-Identifier: Apache-2.0

// CBOR as people read it: diagnostic notation (RFC 8949 §8), in which Kubernetes quotes bodies.
#pragma once

#include <string>
#include <string_view>

namespace portcullis::cbor {

// One data item: `55799({'kind': 'Pod', 'spec': {"a": [1, 2.0]}})`. Byte strings are shown as text if they are
// that. REQUIRES: the bytes are well-formed (CheckWellFormed()) and hold no bignums.
std::string Diagnose(std::string_view bytes);

}  // namespace portcullis::cbor
