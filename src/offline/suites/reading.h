// SPDX-License-Identifier: Apache-2.0

// What the readers of test files share: errors with their places, files named beside a test file, and
// the making of suites of them.
//
// Confined to one thread; the document outlives it.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "json/value.h"
#include "offline/inputs.h"
#include "offline/suites/suite.h"

namespace portcullis::offline {

using Steps = std::vector<std::string>;

Steps Below(Steps steps, std::string_view name);
Steps Below(Steps steps, std::size_t index);

class Reading {
 public:
  Reading(const Manifest& document, Location& wrong, const FileAccess& files = Disk())
      : document_(document), wrong_(wrong), files_(files) {}

  const Manifest& document() const { return document_; }
  json::Value root() const { return document_.object; }

  // An error at a place of the document.
  base::Status Wrong(const Steps& steps, std::string_view what) const;
  // Every member of the object is one of these.
  base::Status CheckNames(json::Value object, const Steps& steps,
                          std::initializer_list<std::string_view> known) const;
  base::Status CheckText(json::Value value, const Steps& steps) const;
  // A regular expression, or nothing.
  base::Status CheckPattern(json::Value value, const Steps& steps) const;

  // A path that the document names, relative to its folder. Addresses are an error.
  base::Result<std::string> Path(json::Value path, const Steps& steps) const;
  // The manifests of the files of a list; what cannot be read is a problem of `inputs`.
  base::Result<Inputs> Files(json::Value paths, const Steps& steps) const;
  base::Result<Inputs> File(json::Value path, const Steps& steps) const;

  // A case at a place of the document, without a request.
  Case NewCase(std::string name, const Steps& steps) const;

 private:
  const Manifest& document_;
  Location& wrong_;
  const FileAccess& files_;
};

// Makes the request of the case: create of `object`, update of `old` by it, or deletion of `old`.
void SetRequest(Case& one, const Manifest* object, const Manifest* old);

// A binding of the policy that denies, for policies that stand in their files without one; with a name
// of a parameter, bound to it.
json::Value MakeBinding(json::Arena& arena, const Manifest& policy, json::Value param_ref);
bool IsPolicy(const Manifest& manifest);   // of admissionregistration.k8s.io
bool IsBinding(const Manifest& manifest);  // likewise
// Gives the suite a policy with its bindings among `manifests`; one is made if there is none.
void GivePolicy(Suite& suite, const Manifest& policy, std::span<const Manifest> manifests,
                json::Value param_ref);
// A Namespace with these labels.
json::Value MakeNamespace(json::Arena& arena, std::string_view name, json::Value labels);

// Sets the value at a path; null removes the member. Arrays grow by one element.
json::Value SetAt(json::Arena& arena, json::Value at, std::span<const std::string> path,
                  json::Value value);

}  // namespace portcullis::offline
