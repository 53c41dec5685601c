// SPDX-License-Identifier: Apache-2.0

// Which writes of pods a plugin treats as creations: creations, and, where there are initializers
// (docs/legacy.md), updates of pods that are not initialized. So a container that an initializer adds
// gets what it would have got in a new pod. Kubernetes 1.7 has creations alone.
#pragma once

#include "admission/plugin.h"
#include "api/view/initializers.h"

namespace portcullis::plugins::common {

// Immutable.
class NewPods {
 public:
  explicit NewPods(const admission::PluginContext& context)
      : hidden_too_(context.initializers && !context.release->Has("InitializersFreezePods")) {}

  bool Include(const admission::Request& request) const {
    if (!request.Is("", "pods")) return false;
    if (request.operation() == admission::kCreate) return true;
    return hidden_too_ && request.operation() == admission::kUpdate &&
           api::view::Initializers(request.old_object()).present();
  }

 private:
  bool hidden_too_;
};

}  // namespace portcullis::plugins::common
