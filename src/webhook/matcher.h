// SPDX-License-Identifier: Apache-2.0

// Matcher decides which webhooks one request is sent to: rules by the index, then selectors, each
// distinct one once, then matchConditions.
//
// Made for one phase of one request; confined to its thread.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "admission/object_interfaces.h"
#include "admission/request.h"
#include "admission/trace/trace.h"
#include "store/store.h"
#include "webhook/configuration.h"
#include "webhook/dialect.h"
#include "webhook/hook_metrics.h"

namespace portcullis::webhook {

// What the dispatchers work with. Pointers outlive them.
struct Services {
  const admission::ObjectInterfaces* objects = nullptr;
  const store::Reader* reader = nullptr;
  net::HttpsClient* https = nullptr;  // null: no webhook can be called
  const base::Clock* clock = nullptr;
  HookMetrics* metrics = nullptr;  // may be null
  Dialect dialect;
};

// A webhook whose rules match.
struct Candidate {
  const Hook* hook = nullptr;
  std::uint32_t index = 0;  // in the list of all webhooks
  Invocation invocation;
  base::Status error;  // the kind to convert to is unknown
};

class Matcher {
 public:
  // All of them outlive the matcher.
  Matcher(const HookSet& hooks, const admission::Request& request, const Services& services);

  // Webhooks whose rules match, in order.
  const std::vector<Candidate>& candidates() const { return candidates_; }

  // The namespace and the object selector; `object` is the object as mutated so far. An error
  // refuses the request whatever the failure policy says.
  base::Result<bool> IsSelected(const Candidate& candidate, json::Value object);

  // matchConditions on the objects of the invocation's kind. Errors as above. If they are not met,
  // the current step of a trace ends with the reason.
  base::Result<bool> MeetsConditions(const Candidate& candidate, json::Value object,
                                     json::Value old_object) const;

 private:
  base::Result<bool> NamespaceMatches(const SharedSelector& selector, json::Value object);
  base::Result<bool> ObjectMatches(const SharedSelector& selector, json::Value object);
  base::Result<json::Value> NamespaceLabels();

  friend class HookSteps;

  const admission::Request& request_;
  const Services& services_;
  std::vector<Candidate> candidates_;
  // Whether a selector matches, for the namespace and for the object last asked about.
  std::unordered_map<const SharedSelector*, bool> namespace_verdicts_;
  std::unordered_map<const SharedSelector*, bool> object_verdicts_;
  json::Value judged_object_;
  store::ObjectPtr namespace_;
};

// True for requests about webhook configurations and policies themselves, which no webhook of the
// API may intercept.
bool IsExempt(const admission::Request& request);

}  // namespace portcullis::webhook
