// SPDX-License-Identifier: Apache-2.0

// Scenarios of the engine as data: requests one after the other, on an engine of its own in memory,
// through decoding, defaulting, the whole chain, validation and the store. A file in
// engine/testdata/*.yaml:
//
//   description: a LimitRange gives containers what they lack
//   options: {featureGates: {SomeGate: true}, runtimeConfig: api/all=true,
//             disablePlugins: [ServiceAccount], enablePlugins: [], version: "1.36",
//             admissionControl: [...],        # --admission-control
//             serviceRanges: "fd00:1::/112",  # --service-cluster-ip-range
//             denied: {alice: [initialize]}}  # verbs that users may not use; the others may all
//   given: []                          # objects that exist, created in this order by the admin
//   steps:
//   - fact: a container gets its limits    # shown when the step fails
//     create: pods                     # create, update, patch, delete, deletecollection, connect,
//                                      # get, list: "pods", "deployments.apps", "pods/eviction"
//     namespace: team                  # default: "team" for namespaced resources
//     name: web
//     version: v1beta1                 # default: the newest that is served
//     user: alice                      # default: admin, of the group system:masters
//     dryRun: true
//     body: {...}                      # or `text: "…"` for bytes that are no object
//     patch: merge                     # json, merge, strategic, apply
//     manager: me                      # the field manager
//     validation: Strict               # of fields: Ignore, Warn (the default), Strict
//     options: {...}                   # of deletions: DeleteOptions
//     selector: {labels: "a=b", fields: "…", shards: "…"}   # of deletecollection and list, which show names
//     includeUninitialized: true       # of create and list
//     timeoutMs: 50                    # how long the operation may take
//     start: label                     # goes on when the object is stored; it waits for what follows
//   - finish: label                    # waits for its end; `expect` is about its outcome
//     expect:
//       error: 'pods "web" is forbidden: …'   # the whole message; without it the step must succeed
//       code: 201                      # of a success or an error
//       reason: Forbidden              # of an error
//       causes: [...]                  # of an error: details.causes
//       object: {...}                  # what the outcome must hold; null: must be absent
//       becomes: {...}                 # the whole outcome, as Normalized() makes it (expectation.h)
//       warnings: [...]                # all of them
//       stored: {...} or null          # what GET finds afterwards
//
// Everything a file does not name is refused, so that a misspelt expectation cannot pass.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace portcullis::engine::testing {

struct ScenarioResult {
  std::string description;
  std::size_t steps = 0;
  std::vector<std::string> failures;  // empty: the scenario passed
};

ScenarioResult RunScenario(std::string_view yaml);

}  // namespace portcullis::engine::testing
