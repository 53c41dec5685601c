// SPDX-License-Identifier: Apache-2.0

// Names of CustomResourceDefinitions: which of those that a definition asks for it gets, and why
// not the others (apiextensions-apiserver, naming controller). Names are given once and for all: a
// later definition never takes them from an earlier one.
#pragma once

#include <string>
#include <unordered_map>

#include "api/catalog/catalog.h"
#include "json/value.h"

namespace portcullis::engine {

// What became of a definition's names.
struct NamesVerdict {
  api::catalog::CustomNames accepted;
  bool all = true;      // every name asked for was given
  std::string reason;   // of the condition NamesAccepted: "NoConflicts", "PluralConflict", …
  std::string message;  // of the same
};

// Of `names`, a CustomResourceDefinitionNames object.
api::catalog::CustomNames ReadNames(json::Value names);
json::Value WriteNames(json::Arena& arena, const api::catalog::CustomNames& names);

// The names in use in one group, each with the number of its users.
class NamesInUse {
 public:
  void Add(const api::catalog::CustomNames& names) { Count(names, 1); }
  void Remove(const api::catalog::CustomNames& names) { Count(names, -1); }
  // `accepted`: what the definition has already, part of what is in use.
  NamesVerdict Judge(const api::catalog::CustomNames& requested,
                     const api::catalog::CustomNames& accepted) const;

 private:
  void Count(const api::catalog::CustomNames& names, int by);
  std::unordered_map<std::string, int> resources_;
  std::unordered_map<std::string, int> kinds_;
};

}  // namespace portcullis::engine
