// SPDX-License-Identifier: Apache-2.0

// The options of requests: CreateOptions, UpdateOptions, PatchOptions, DeleteOptions, ListOptions
// and GetOptions, read from the query (and for deletes from the body) and checked with Kubernetes'
// texts.
#pragma once

#include "base/status.h"
#include "engine/options.h"
#include "engine/read/listing.h"
#include "server/call.h"

namespace portcullis::server {

enum class WriteKind { kCreate, kUpdate, kPatch };
// Also tells the call whether it is a dry run. The manager of fields is the one given, else the
// first part of the user agent.
base::Result<engine::WriteOptions> ReadWriteOptions(Call& call, WriteKind kind);

base::Result<engine::DeleteOptions> ReadDeleteOptions(Call& call);

base::Result<engine::ListOptions> ReadListOptions(Call& call, bool forced_watch);
// A resourceVersion as a number, 0 for "". An internal error as Kubernetes has it: callers that
// know better say so.
using engine::ReadRevision;

}  // namespace portcullis::server
