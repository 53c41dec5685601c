// SPDX-License-Identifier: Apache-2.0

// Trials: what policies make of requests that lint tries them with: creates, updates and deletions of
// plain objects (offline/samples.h), in a namespace and with labels that their selectors select, and
// creates of the manifests among the files. Each is judged by the engine, nothing is written.
//
// The facts, inputs and options outlive it. Confined to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/status.h"
#include "kube_cel/evaluation.h"
#include "offline/inputs.h"
#include "offline/judge.h"
#include "offline/lint/facts.h"
#include "offline/result.h"

namespace portcullis::offline {

class Judging;
struct Sample;

struct Trial {
  std::string subject;                 // "the CREATE of a plain Pod"
  const Manifest* manifest = nullptr;  // of the files; null: a plain object
  Result result;
};

// What one expression of a policy came to.
struct TriedExpression {
  std::string error;  // the first one; "" if it never failed
  std::size_t failed_in = 0;
  std::uint64_t cost = 0;  // the highest
  std::size_t costliest_in = 0;
  bool exceeded = false;  // it was ended because of its cost
};

class Trials final : public kube_cel::Watch {
 public:
  // Errors are the user's: a flag's value.
  static base::Result<std::unique_ptr<Trials>> Run(const LintFacts& facts, const Inputs& inputs,
                                                   const JudgeOptions& options);

  std::span<const Trial> trials() const { return trials_; }
  // Null if it was never evaluated.
  const TriedExpression* Find(const Manifest& policy, std::string_view expression) const;

  void Evaluated(const kube_cel::Owner& owner, const kube_cel::Expression& expression,
                 cel::Value value, const cel::Activation& activation, json::Arena& arena) override;

 private:
  Trials(const LintFacts& facts, const JudgeOptions& options);
  void TryManifests(Judging& judging, const Inputs& inputs);
  void TryPlainObjects(Judging& judging, const PolicyFact& policy);
  void Try(Judging& judging, const Manifest& manifest, std::string_view operation, Trial trial);

  const LintFacts& facts_;
  JudgeOptions options_;
  std::vector<Trial> trials_;
  // By kind and name of the policy, and text.
  std::map<std::tuple<std::string, std::string, std::string>, TriedExpression> expressions_;
  std::set<std::string> known_;  // plain objects that have been tried
};

// What policies and webhooks need to judge anything: definitions, namespaces, parameters of the files, and
// namespaces that the policies' selectors select.
void GiveSurroundings(const LintFacts& facts, Inputs& inputs);
// Plain objects of the kinds that the policy's rules name, where its selectors select them.
std::vector<Manifest> PlainObjects(const LintFacts& facts, const PolicyFact& policy);
// The same for a webhook.
std::vector<Manifest> PlainObjects(const LintFacts& facts, const WebhookFact& webhook);
// Whether the manifest is judged by policies, and is not one of them, or what they need.
bool IsTried(const LintFacts& facts, const Manifest& manifest);

}  // namespace portcullis::offline
