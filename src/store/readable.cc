// SPDX-License-Identifier: Apache-2.0

#include "store/readable.h"

namespace portcullis::store {

// Both ask first. An object that becomes unreadable afterwards is seen as it was a moment ago.

base::Result<ObjectPtr> GetReadable(const Reader& reader, const Key& key) {
  TRY(reader.WhyUnreadable(key));
  return reader.Get(key);
}

base::Result<std::vector<ObjectPtr>> ListReadable(const Reader& reader,
                                                  const Collection& collection,
                                                  std::string_view ns) {
  TRY(reader.WhyUnreadable(collection, ns));
  return reader.List(collection, ns);
}

}  // namespace portcullis::store
