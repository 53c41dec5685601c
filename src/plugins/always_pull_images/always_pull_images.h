// SPDX-License-Identifier: Apache-2.0

// AlwaysPullImages makes every new container pull its image, so that on a shared node a pod cannot
// use a private image merely because somebody else's pod has pulled it before. Costs a request to
// the registry per start.
//
// Mutates: sets imagePullPolicy of all containers, and pullPolicy of image volumes, to Always.
// Validates: refuses any other value that a later plugin may have put there.
// Ignores: subresources, and updates that bring in no new image.
// Behaviour follows the Kubernetes documentation, "Admission Controllers: AlwaysPullImages".
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::always_pull_images {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::always_pull_images
