// SPDX-License-Identifier: Apache-2.0

// Fields that are stored and that no answer shows. Go tells an empty caBundle from none, writes both as
// none in JSON, and stores the difference; and kube-apiserver takes the internalTrafficPolicy of an
// ExternalName Service away when it reads one (defaultOnRead of registry/core/service/storage). Here they are
// in the stored JSON, and go where an object leaves the store.
#pragma once

#include "api/catalog/catalog.h"
#include "base/status.h"
#include "json/value.h"
#include "store/object.h"

namespace portcullis::engine {

// Whether objects of the resource may have such fields: few resources have them.
bool HidesFields(const api::catalog::ResourceInfo& resource);
// A stored object as answers show it: itself, if they leave nothing out. Time: a search in its bytes, of few
// resources.
base::Result<store::ObjectPtr> Shown(const api::catalog::ResourceInfo& resource,
                                     store::ObjectPtr object);
// The same of a value.
json::Value WithoutHidden(json::Arena& arena, const api::catalog::ResourceInfo& resource,
                          json::Value object);
// `object` as patches and admission see it: of configurations of webhooks that is what answers show.
json::Value WithoutUnwritten(json::Arena& arena, const api::catalog::ResourceInfo& resource,
                             json::Value object);
// The other way round: `live`, which is the stored object as they see it, with all that is stored.
base::Result<json::Value> StoredForm(json::Arena& arena, const api::catalog::ResourceInfo& resource,
                                     const store::ObjectPtr& object, json::Value live);

}  // namespace portcullis::engine
