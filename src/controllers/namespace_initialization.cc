// SPDX-License-Identifier: Apache-2.0

#include "controllers/namespace_initialization.h"

#include <chrono>

#include "admission/recorder.h"
#include "base/clock.h"

namespace portcullis::controllers {

void NamespaceInitialization::OnCreated(const std::string& name,
                                        const admission::Recorder& recorder) const {
  if (runners_.empty()) return;
  const admission::WaitingForOthers waiting(recorder);
  const base::SteadyTime deadline = base::SystemClock().Steady() + std::chrono::seconds(2);
  for (ControllerRunner* runner : runners_) runner->Await(name, deadline);
}

}  // namespace portcullis::controllers
