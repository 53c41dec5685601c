// SPDX-License-Identifier: Apache-2.0

// Parts that a document has in common with an earlier one from which a client has made it.
#pragma once

#include "json/value.h"

namespace portcullis::json {

// `value` with the parts of `old` at the same places that would be written the same way: what has not changed is
// known from then on by Value::IsSameAs(), without a look into it. Where `sent`, the value in a form before this
// one, is there and has another part than `value`, that part stays, but for what is in it. A text that `value` keeps
// (verbatim.h) stays. Values of more than 100 levels stay as they are. Where `old` keeps a text, the result may have
// that text in the place of a part that is equal and has none.
Value WithPartsOf(Arena& arena, Value value, Value old, Value sent = {});

}  // namespace portcullis::json
