// SPDX-License-Identifier: Apache-2.0

// Fields that are stored and that no answer shows, and the other way round. Go tells an empty caBundle from
// none, writes both as none in JSON, and stores the difference. When kube-apiserver reads a Service
// (defaultOnRead of registry/core/service/storage) it takes the internalTrafficPolicy of an ExternalName away,
// and gives the families of its addresses to one that an update of the status has made. Here objects change
// where they leave the store.
#pragma once

#include "api/catalog/catalog.h"
#include "base/status.h"
#include "json/value.h"
#include "store/object.h"

namespace portcullis::engine {

// Whether answers may show objects of the resource otherwise than they are stored: few resources' are.
bool ShowsOtherwise(const api::catalog::ResourceInfo& resource);
// A stored object as answers show it: itself, if that is how it is stored. Time: a search in its bytes, of few
// resources.
base::Result<store::ObjectPtr> Shown(const api::catalog::ResourceInfo& resource,
                                     store::ObjectPtr object);
// The same of a value.
json::Value AsShown(json::Arena& arena, const api::catalog::ResourceInfo& resource,
                    json::Value object);
// `object` as patches and admission see it: of configurations of webhooks that is what answers show.
json::Value WithoutUnwritten(json::Arena& arena, const api::catalog::ResourceInfo& resource,
                             json::Value object);
// The other way round: `live`, which is the stored object as they see it, with all that is stored.
base::Result<json::Value> StoredForm(json::Arena& arena, const api::catalog::ResourceInfo& resource,
                                     const store::ObjectPtr& object, json::Value live);

}  // namespace portcullis::engine
