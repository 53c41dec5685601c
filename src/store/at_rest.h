// SPDX-License-Identifier: Apache-2.0

// How a store keeps objects on its disk or in etcd, for those who have to know. REQUIRES for all: the
// store was opened by OpenMemory(), OpenEmbedded() or OpenEtcd(). Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "store/store.h"

namespace portcullis::store {

// Why a stored object cannot be read: no configured key decrypts its value, for instance.
// kInternalError with kube-apiserver's text; OK if there is no such object. ListPage() of its
// collection fails likewise, and so does every write to it.
base::Status Unreadable(const Store& store, const Key& key);

// The newest stored version, or null, as Get(). An error if it cannot be read: Get() may have a former state then.
base::Result<ObjectPtr> GetReadable(const Store& store, const Key& key);

// Why objects of a collection, or of one namespace of it, cannot be read. Get() and List() leave them out, or have a
// former state of them. What takes a missing object for one that is gone asks this first. OK if all can be read.
base::Status CheckReadable(const Reader& reader, const Collection& collection,
                           std::string_view ns = {});

// As the precondition of a deletion, the revision of an object that cannot be read: it is removed, unseen, and
// without an event.
inline constexpr std::int64_t kUnreadableRevision = -1;

// Whether the object should be written again although nothing about it changes: its value is
// encrypted with another key than new ones are, or not at all.
bool IsStale(const Store& store, const Object& object);

// Writes the whole content, as it is at one moment, to a new file that the same kind of store can
// open; values stay encrypted. Writes go on meanwhile. Errors: the file is there, the disk is full,
// the store has no file of its own.
base::Status Backup(Store& store, const std::string& path);

}  // namespace portcullis::store
