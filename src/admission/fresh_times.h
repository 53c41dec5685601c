// SPDX-License-Identifier: Apache-2.0

// Times that the server has just noted in metadata.managedFields. In kube-apiserver they are Go
// values with parts of a second until a webhook or policy sends the object through JSON, which keeps
// whole seconds only. So the first patch of a request counts as a change even if it changes
// nothing: the audit annotation says `mutated`, and other webhooks are called again.
//
// Pure functions on a request of the mutating phase; threads as the request.
#pragma once

#include "admission/request.h"

namespace portcullis::admission {

// Whether an entry of managedFields was written by this request and has not been through JSON.
// Never so for custom resources, which Go holds as JSON.
bool HasFreshTimes(Request& request);

// The object has been through JSON.
void LoseFreshTimes(Request& request);

}  // namespace portcullis::admission
