// SPDX-License-Identifier: Apache-2.0

// Steps that a create and an update have in common.
#pragma once

#include <string_view>

#include "api/field_error.h"
#include "base/status.h"
#include "engine/operation.h"
#include "engine/outcome.h"
#include "json/value.h"
#include "store/store.h"

namespace portcullis::engine {

// What a strategy has made of `before`, with the fields that Go always writes: they come back if the
// strategy has dropped a whole member.
json::Value Settle(Operation& op, json::Value before, json::Value after);

// The refusal by validation. It names the kind that the object is stored as, which differs for Events; a
// custom resource goes by the kind it says it is of.
base::Status ResourceInvalid(const Operation& op, json::Value object,
                             const api::FieldErrors& errors);

// The escalation check of RBAC: a user may not grant rights they do not hold. `old` is null of a
// new object.
base::Status CheckGrant(Operation& op, std::string_view name, json::Value object, json::Value old);

// The object for the store. One that is too large is tried once more without managedFields, which
// can be large and which the next write makes anew; kube-apiserver does the same. Not if the fields
// were `applied`. `object` becomes what has been encoded.
base::Result<store::Encoded> EncodeWithin(Operation& op, json::Value& object, bool applied);

// The object with empty bytes where a map of bytes (`data` of a Secret) has null; itself if there are none. Go tells
// the two apart: kube-apiserver stores null and reads empty bytes.
json::Value WithEmptyBytes(Operation& op, json::Value object);

// What is read of an object that was stored as `object`: with the defaults of what its strategy has left
// out, e.g. of the status of a new PersistentVolumeClaim, and with empty bytes where it has null, e.g. in the
// data of a Secret. What it shares with `known`, an earlier state of it that had its defaults, is not looked at.
// `added` becomes true if this has added something. kube-apiserver stores such an object without what is added here.
// It writes the object anew when an update changes nothing, since that is encoded with all defaults;
// store::Object::lacks_defaults() remembers which objects these are. Custom resources are stored without them
// here, too.
base::Result<json::Value> WithDefaultsOfReads(Operation& op, json::Value object, json::Value known,
                                              bool& added);
// The object of the body, which got its defaults when it was decoded; null if it is of another kind.
json::Value DefaultedBody(const Operation& op);
// Marks what is to be stored as such an object: by a blank behind its bytes, which store::Object::Make()
// takes off.
void MarkLacksDefaults(store::Encoded& encoded);

// Whether an object of these bytes is stored so already.
bool SameContent(const store::Encoded& encoded, const store::Object& current);

// Deletes what goes with an object that is gone: the Endpoints of a Service, which have its name
// (pkg/registry/core/service/storage, afterDelete).
void DeleteCompanion(const Operation& op, std::string_view ns, std::string_view name);

// The outcome as a client sees it: what was not stored has its fields in the order of stored objects.
base::Result<Outcome> Shown(Operation& op, base::Result<Outcome> outcome);

}  // namespace portcullis::engine
