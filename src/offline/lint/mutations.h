// SPDX-License-Identifier: Apache-2.0

// Mutations: what mutating policies and webhooks make of sample objects, in one order or another. The
// samples are plain objects that their selectors select, and manifests among the files. Webhooks are called
// in dry runs, if webhooks are called at all.
//
// The facts outlive it. Confined to one thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"
#include "offline/inputs.h"
#include "offline/lint/facts.h"
#include "offline/result.h"

namespace portcullis::offline {

// A mutating policy or webhook.
struct Mutator {
  const PolicyFact* policy = nullptr;
  const WebhookFact* webhook = nullptr;  // one of the two is set

  const Manifest& manifest() const;
  std::string name() const;                // "policy add-label", "webhook a.example.com"
  std::vector<std::string> steps() const;  // to it in its manifest
  json::Value rules() const;
};

class Mutations {
 public:
  // Of so many mutators and samples the first are tried.
  static constexpr std::size_t kMostMutators = 20;
  static constexpr std::size_t kMostSamples = 40;

  explicit Mutations(const LintFacts& facts);

  const std::vector<Mutator>& mutators() const { return mutators_; }
  const std::vector<Manifest>& samples() const { return samples_; }
  // "a plain Pod", "Pod web" with its place.
  static std::string NameOf(const Manifest& sample);
  // Whether the mutator's rules name creates of the sample.
  bool Matches(const Mutator& mutator, const Manifest& sample) const;
  // The samples that they name.
  std::vector<Manifest> SamplesOf(const Mutator& mutator) const;

  // What creates of the objects come to, without what is new each time; null: refused. They live in
  // `arena`. Empty if no cluster can be made. `results`, if given, receives what was said of each.
  std::vector<json::Value> Apply(json::Arena& arena, std::span<const Mutator* const> order,
                                 std::span<const Manifest> objects,
                                 std::vector<Result>* results = nullptr) const;

 private:
  const LintFacts& facts_;
  JudgeOptions options_;
  std::vector<Mutator> mutators_;
  std::vector<Manifest> samples_;
};

// Up to three fields that differ: `metadata.labels.team is "a" or "b"`. "" if none does.
std::string Differences(json::Value first, json::Value second);

}  // namespace portcullis::offline
