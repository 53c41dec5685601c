// SPDX-License-Identifier: Apache-2.0

// Schemas of Go types that no catalog knows (configuration files), made from a text that names
// their fields as Go declares them:
//
//   v1alpha1.Configuration: limits []v1alpha1.Limit
//   v1alpha1.Limit: type v1alpha1.LimitType=string, qps int32, names map[string]string
//
// One struct per line, with or without fields; the first is the root. A type is string, bool, int32, int64, []uint8 (bytes
// in base64), any, v1.Time, a struct of the text, `[]` or `map[string]` in front of a type, or a name of its
// own that stands for a basic type (`=string`); errors of decoding print it.
#pragma once

#include <memory>
#include <string_view>

#include "api/schema/schema.h"

namespace portcullis::api::schema {

// The root's schema; it keeps everything it consists of alive. Null if the text is malformed.
std::shared_ptr<const Schema> SchemaOfGoTypes(std::string_view text);

}  // namespace portcullis::api::schema
