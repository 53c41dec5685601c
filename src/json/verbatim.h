// SPDX-License-Identifier: Apache-2.0

// Values that keep the text they were read from where Write() would choose another one: numbers like 1.0,
// escapes, repeated keys. Go does so with a json.RawMessage.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "json/value.h"

namespace portcullis::json {

// `text` without white space between its tokens, and with <, >, &, U+2028 and U+2029 in strings escaped: what
// Go's encoding/json makes of the text that a json.Marshaler returns. REQUIRES: it is JSON.
std::string Compact(std::string_view text);

// The document in `text`, each array and object of which has its part of Compact(text) as source().
base::Result<Value> ParseVerbatim(Arena& arena, std::string_view text);

// The document in `text`, whose texts, but for names, are as they are spelled between their quotes.
base::Result<Value> ParseSpelled(Arena& arena, std::string_view text);

// DeepCopy() that keeps every source(), which it copies as well.
Value CopyVerbatim(Arena& arena, Value value);

}  // namespace portcullis::json
