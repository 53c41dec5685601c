// SPDX-License-Identifier: Apache-2.0

// Raw extensions keep the text that a client has sent: kube-apiserver stores it, shows it and compares it.
// Most texts are those that Go would write of their values and need nothing; the others are the source() of
// their values, which the writer takes.
#pragma once

#include <string_view>

#include "api/schema/schema.h"
#include "base/status.h"
#include "json/value.h"

namespace portcullis::api::schema {

// A raw extension of this text; its numbers are as they are read back after Go has written them.
base::Result<json::Value> ReadRawExtension(json::Arena& arena, std::string_view text);

// Whether a raw extension in `object`, which has been read from JSON, had a text that Go would not write.
bool HoldsRawTexts(const Schema& schema, json::Value object);

// `object`, which has been decoded from the JSON `text`, with the texts of its raw extensions.
json::Value WithRawTexts(json::Arena& arena, const Schema& schema, json::Value object,
                         std::string_view text);

}  // namespace portcullis::api::schema
