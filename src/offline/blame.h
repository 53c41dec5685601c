// SPDX-License-Identifier: Apache-2.0

// Which field of a manifest, and which rule in which file, a refusal is about; and what is known
// about how to mend it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "admission/survey.h"
#include "offline/inputs.h"
#include "offline/result.h"

namespace portcullis::offline {

// The policies, bindings and webhook configurations among the manifests, by name. The manifests
// outlive it.
class Rules {
 public:
  Rules(std::span<const Manifest> manifests, std::span<const Manifest> given);
  // A policy, a binding or a webhook configuration; null if none of the files has it.
  const Manifest* Find(std::string_view kind, std::string_view name) const;
  // What is said of bindings whose policies are in no file: the API server takes them without a word.
  std::vector<std::string> NotesOnBindings() const;

 private:
  std::vector<const Manifest*> rules_;
};

// What was refused: the manifest, and the object in it (a pod template's) if it is not the whole.
struct Blamed {
  const Manifest& manifest;
  std::span<const std::string> prefix;  // {"spec", "template"}
  std::string subject;                  // "" or "pod of Deployment web"
};

// One failure for each field that a refusal names; one if it names none.
std::vector<Failure> Blame(const admission::Refusal& refusal, const Blamed& blamed,
                           const Rules& rules);

// The steps of "spec.containers[0].resources.limits[cpu]".
std::vector<std::string> FieldSteps(std::string_view path);
// The fields of `object` that an expression reads, in its order: "spec.replicas" of
// "object.spec.replicas <= 5".
std::vector<std::string> FieldsOf(std::string_view expression);

// One line on how to mend what the message says, or "".
std::string_view AdviceFor(std::string_view source, std::string_view message);

}  // namespace portcullis::offline
