// SPDX-License-Identifier: Apache-2.0

// The verbs: what each kind of request on a resource does. Each takes the call with resource,
// subresource, user and catalog filled in, authorized, and returns the reply; errors become Status
// objects at the caller.
#pragma once

#include <functional>

#include "base/status.h"
#include "engine/write/execution.h"
#include "server/call.h"

namespace portcullis::server::rest {

using VerbResult = base::Result<Reply>;
using Verb = VerbResult (*)(Call& call);

VerbResult Get(Call& call);
VerbResult List(Call& call);
VerbResult Watch(Call& call);  // the reply is streaming
VerbResult Write(Call& call);  // create, update, patch and delete
VerbResult DeleteCollection(Call& call);

// Write without waiting for the store: `done` is called once, with what Write() would return, before
// this returns or later in a step that `resume` runs. `call` lives as long as `done`.
void BeginWrite(Call& call, engine::Resume resume, std::function<void(VerbResult)> done);

// Whether the call reads what no store has: ComponentStatuses, for which other components are asked. It waits
// for them then.
bool AsksComponents(const Call& call);

VerbResult Connect(Call& call);  // exec, attach, portforward, proxy
VerbResult GetLog(Call& call);

}  // namespace portcullis::server::rest
