// SPDX-License-Identifier: Apache-2.0

// Scenarios: tests of one plugin as data. A file in plugins/<name>/testdata/*.yaml says what the
// plugin is configured with, what exists in the cluster, what is asked, and what must come out.
//
//   description: a container that asks for Never is refused and the message names the field
//   config: {}                      # the plugin's configuration; a text is taken as file content
//   gates: {SomeGate: true}         # switches that differ from their defaults
//   release: '1.13'                 # of Kubernetes; the newest if not given
//   cluster: []                     # objects the plugin can read
//   access: allow                   # the authorizer: allow, deny, or a list of allowed actions,
//                                   # "get secrets", "use signers.certificates.k8s.io/a.b/c"
//   request: {operation: CREATE, resource: pods, user: alice, object: {...}}
//   phase: validate                 # mutate, validate or both (the default)
//   expect:
//     refused: 'pods "p" is forbidden: …'
//
// request: operation, resource ("pods", "deployments.apps", "pods/status"), version, kind (only
// where the resource does not tell), namespace, name, user (a name, or {name, uid, groups, extra}),
// object, oldObject, options, dryRun. Namespace and name are taken from the object if not given.
// Objects are decoded as the server decodes them, but not defaulted.
//
// expect: `allowed` as a text, or a map of one of `refused: <whole message>` (with optional `code`
// and `reason`), `object: <object after mutation>`, `patch: <JSON patch that leads there>`,
// `unchanged: true`, `init: <error of the factory>`; and optional `warnings: [...]`,
// `audit: {key: value}`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "admission/plugin.h"

namespace portcullis::admission::testing {

enum class Effect : std::uint8_t { kAllowed, kChanged, kRefused, kInitFailed };

struct ScenarioResult {
  std::string description;
  Effect effect = Effect::kAllowed;   // what happened
  std::vector<std::string> failures;  // empty: the scenario passed
};

// Runs one scenario on a new instance of the plugin, and checks on the way what holds for every
// plugin: a second Mutate changes nothing more.
ScenarioResult RunScenario(const PluginInfo& plugin, std::string_view yaml);

}  // namespace portcullis::admission::testing
