// SPDX-License-Identifier: Apache-2.0

// etcd as the source and the target of `store export`, `import` and `get`. Each call connects anew and
// blocks. Errors are those of etcd, and what is said below.
#pragma once

#include <memory>

#include "base/status.h"
#include "cli/store_options.h"
#include "store/cache/cache.h"
#include "store/encryption/transformer.h"

namespace portcullis::cli {

// Everything below the prefix, as it is at one revision, as a server reads it; what cannot be read
// is in Content::unreadable. `transformer` decrypts and may be null. Servers may go on meanwhile.
base::Result<store::Content> ReadEtcd(const StoreOptions& options,
                                      std::shared_ptr<const store::Transformer> transformer);

// Writes the objects under the revisions that they have: the revisions between them are used up by
// writes of a key outside the prefix, which is removed as far as that takes none. Events get a lease of an hour. Errors: there
// are keys below the prefix; etcd is at a later revision than an object; another client writes
// meanwhile. After an error a part may be there.
base::Status WriteEtcd(const StoreOptions& options, const store::Content& content,
                       const store::Transformer* transformer);

}  // namespace portcullis::cli
