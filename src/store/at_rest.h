// SPDX-License-Identifier: Apache-2.0

// How a store keeps objects on its disk or in etcd, for those who have to know. REQUIRES for all: the
// store was opened by OpenMemory(), OpenEmbedded() or OpenEtcd(). Thread-safe.
#pragma once

#include <string>

#include "base/status.h"
#include "store/store.h"

namespace portcullis::store {

// Whether the object should be written again although nothing about it changes: its value is
// encrypted with another key than new ones are, or not at all.
bool IsStale(const Store& store, const Object& object);

// Writes the whole content, as it is at one moment, to a new file that the same kind of store can
// open; values stay encrypted. Writes go on meanwhile. Errors: the file is there, the disk is full,
// the store has no file of its own.
base::Status Backup(Store& store, const std::string& path);

}  // namespace portcullis::store
