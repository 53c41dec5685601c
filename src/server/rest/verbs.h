// The verbs: what each kind of request on a resource does. Each takes the call with resource,
// subresource, user and catalog filled in, authorized, and returns the reply; errors become Status
// objects at the caller.
#pragma once

#include "base/status.h"
#include "server/call.h"

namespace portcullis::server::rest {

using VerbResult = base::Result<Reply>;

VerbResult Get(Call& call);
VerbResult List(Call& call);
VerbResult Watch(Call& call);  // the reply is streaming
VerbResult Create(Call& call);
VerbResult Update(Call& call);
VerbResult Patch(Call& call);
VerbResult Delete(Call& call);
VerbResult DeleteCollection(Call& call);

VerbResult Connect(Call& call);  // exec, attach, portforward, proxy
VerbResult GetLog(Call& call);

}  // namespace portcullis::server::rest
