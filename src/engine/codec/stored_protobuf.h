// SPDX-License-Identifier: Apache-2.0

// Objects that a kube-apiserver has stored in its protobuf form (--storage-media-type).
#pragma once

#include <string_view>

#include "api/catalog/catalog.h"
#include "base/status.h"
#include "store/store.h"

namespace portcullis::engine {

// The object as this server stores it: JSON in the storage version. `catalog` knows the kind, which
// is a built-in one. Errors: bytes that are no such message, a kind that is unknown.
base::Result<store::Encoded> ReadStoredProtobuf(const api::catalog::Catalog& catalog,
                                                std::string_view value);

}  // namespace portcullis::engine
