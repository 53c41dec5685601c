// SPDX-License-Identifier: Apache-2.0

// Deletion: the way of an object out of the store, with preconditions, admission, grace period and
// finalizers (k8s.io/apiserver/pkg/registry/generic/registry, Store.Delete; rest.BeforeDelete).
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "engine/operation.h"
#include "engine/options.h"
#include "engine/write/execution.h"
#include "json/value.h"
#include "store/object.h"

namespace portcullis::engine {

// What is deleted: an object of the operation's resource. The views outlive the deletion.
struct DeletionTarget {
  std::string_view ns;
  std::string_view name;
};

struct Deleted {
  bool gone = false;      // for good, not merely marked
  json::Value object;     // the last state, in the request's version
  bool is_shown = false;  // the answer is the object, also of kinds that answer with a Status
};

// The deletion of the object that the operation names. Whether it is a dry run, the options say.
std::unique_ptr<Execution> BeginDeletion(Operation& op, DeleteOptions options);

// The same for a removal that is part of another request, which has been reviewed itself.
std::unique_ptr<Execution> BeginUnreviewedDeletion(Operation& op, DeleteOptions options);

// Jobs leave their pods behind unless the client says otherwise, which few expect.
void WarnOfJobs(Operation& op, const DeleteOptions& options);

// Deletes one after the other, as a deletecollection does; what is no longer there is no error.
// Ends at the first failure: what came before it is deleted. What admission has let pass is
// committed many at a time.
base::Status DeleteEach(Operation& op, const std::vector<store::ObjectPtr>& objects,
                        const DeleteOptions& options);

}  // namespace portcullis::engine
