#include "server/namespace_furnishing.h"

#include <chrono>

#include "base/clock.h"

namespace portcullis::server {

void NamespaceFurnishing::Await(const std::string& ns, const admission::Recorder& recorder) const {
  if (runners_.empty()) return;
  const admission::WaitingForOthers waiting(recorder);
  Await(ns);
}

void NamespaceFurnishing::Await(const std::string& ns) const {
  const base::SteadyTime deadline = base::SystemClock().Steady() + std::chrono::seconds(2);
  for (controllers::ControllerRunner* runner : runners_) runner->Await(ns, deadline);
}

}  // namespace portcullis::server
