// SPDX-License-Identifier: Apache-2.0

// Scenarios of controllers as data: what happens in a cluster, and what a controller does about it. It
// runs on an engine in memory, under its own service account with the rights that RBAC's bootstrap
// policy gives it, on a clock that stands still, and on the thread of the test. A file in
// controllers/testdata/*.yaml:
//
//   description: a deleted namespace goes when it is empty
//   controller: namespace-controller   # its name
//   given: [{...}]                     # objects that exist before it starts
//   start:                             # what it does when it starts: as `expect` below
//     writes: []
//   steps:
//   - create: {...}                    # one of: an object that the admin creates,
//     patch: {...}                     # a merge patch, kind and name included,
//     delete: {...}                    # kind, namespace and name of what is deleted,
//     advance: 10                      # seconds that go by; or nothing
//     subresource: status              # of the patch
//     policy: Foreground               # of the deletion
//     refuse: {...}                    # a write of the controller that fails once: {verb, reason}
//     expect:
//       writes: ["create serviceaccounts team/default"]   # all of them in order, also failed ones
//       objects: [{...}]               # what is stored then; null: a field that must be absent
//       gone: [{...}]                  # kind, namespace and name of what is not there
//       again: 5                       # in so many seconds it looks again; null: not by itself
//
// Of texts, "$lease" is the name of the server's Lease, "$uid ConfigMap team/a" is the uid of a core object
// in what is created, and "$any" at the end of a write stands for a name that is made up. Without
// `again` that is not looked at. Everything a file does not name is refused.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace portcullis::controllers::testing {

struct ScenarioResult {
  std::string description;
  std::string controller;
  std::size_t steps = 0;
  std::vector<std::string> failures;  // empty: the scenario passed
};

ScenarioResult RunScenario(std::string_view yaml);

}  // namespace portcullis::controllers::testing
