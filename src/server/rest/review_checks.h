#pragma once

#include "base/status.h"
#include "json/value.h"
#include "server/call.h"

namespace portcullis::server::rest {

// What is wrong with a review that is put as a question, in Kubernetes' texts
// (pkg/apis/authorization/validation and the REST storages of authentication.k8s.io).
base::Status CheckReview(Call& call, json::Value object);

}  // namespace portcullis::server::rest
