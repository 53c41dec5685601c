// SPDX-License-Identifier: Apache-2.0

// How the server itself writes objects: plugins that create namespaces or charge quotas, and the
// objects made at first start. Past authentication, authorization and admission; defaulted and
// validated like everything else.
#pragma once

#include <memory>
#include <string_view>

#include "admission/plugin.h"
#include "base/status.h"
#include "engine/world.h"
#include "store/object.h"

namespace portcullis::engine {

// `world` outlives the result.
std::unique_ptr<admission::ClusterWriter> MakeClusterWriter(const World& world);

// Creates the object if there is none of its name. `object` names its kind; its metadata names it.
base::Status EnsureObject(const World& world, json::Value object);

// `next`, which the server itself has made of `live` (null: nothing), with the fields that it owns
// thereby noted in metadata.managedFields.
json::Value OwnedByServer(const World& world, const api::catalog::ResourceInfo& resource,
                          json::Arena& arena, json::Value live, json::Value next,
                          std::string_view subresource = {});

// Writes the object, which the server itself has made of the one that is stored with its
// resourceVersion. kConflict if there is another version by now.
base::Status UpdateByServer(const World& world, const api::catalog::ResourceInfo& resource,
                            json::Value object, std::string_view subresource = {});
// Applies what the object says, as a field manager of the server's own.
base::Status ApplyByServer(const World& world, json::Value object, std::string_view subresource,
                           std::string_view manager);

}  // namespace portcullis::engine
