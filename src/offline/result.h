// SPDX-License-Identifier: Apache-2.0

// What the offline commands have to say about each manifest, and about all of them. Value types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admission/trace/trace.h"
#include "json/value.h"
#include "offline/coverage.h"
#include "offline/inputs.h"

namespace portcullis::offline {

// Of manifests the first four, of cases of test files the last two.
enum class Verdict : std::uint8_t { kAllow, kDeny, kError, kSkip, kPass, kFail };

std::string_view VerdictText(Verdict verdict);  // "allow"
// Whether the verdict makes the command end with 1.
inline bool IsRefusal(Verdict verdict) {
  return verdict == Verdict::kDeny || verdict == Verdict::kError || verdict == Verdict::kFail;
}

// One thing that refuses a manifest.
struct Failure {
  // "validation", "LimitRanger", "ValidatingAdmissionPolicy replica-limit, binding in-test", …
  std::string source;
  std::string policy;  // its name, if it is one that refuses
  // Of what: "" for the manifest's own object; "pod of Deployment web" for what it would make.
  std::string subject;
  std::string message;     // as kube-apiserver words it
  int code = 0;            // of HTTP, likewise
  std::string path;        // of the field, "spec.replicas"; "" if none is to blame
  Location place;          // of the field in the manifest
  Location rule;           // of the rule that refuses; file "": it stands in no file
  std::string expression;  // of the rule
  // What its parts came to: {"object.spec.replicas", "7"}. Only of results with traces.
  std::vector<std::pair<std::string, std::string>> values;
  std::string advice;  // "" if none is known
};

// What a policy has made of a request: a step of its trace.
struct PolicyStep {
  std::string policy;
  std::string binding;  // "" for the policy as a whole
  admission::TraceOutcome outcome = admission::TraceOutcome::kNone;
  std::string reason;  // why it was passed over: "NamespaceSelector"
  std::string message;
  std::uint64_t cost = 0;  // of its expressions
};

struct Result {
  Location place;
  std::string api_version;
  std::string kind;
  std::string ns;
  std::string name;
  std::string resource;  // "deployments.apps"
  std::string operation = "CREATE";
  bool is_case = false;  // of a test file; the rest is of the request that was judged
  Verdict verdict = Verdict::kAllow;
  int code = 201;
  std::string message;
  std::vector<Failure> failures;  // the first one is what kube-apiserver answers with
  std::vector<std::string> warnings;
  std::vector<std::pair<std::string, std::string>> audit_annotations;
  std::vector<std::string> webhooks_not_called;  // "configuration/webhook"
  std::string object;                            // JSON of what would be stored; "" unless allowed
  std::string status;                            // JSON of the Status that refuses; "" if allowed
  std::vector<PolicyStep> policies;              // of cases of test files
  std::string trace;                             // JSON of its AdmissionTrace; "" unless asked for
  // With a trace: the pods that a workload would make, "pod of Deployment web" and JSON.
  std::vector<std::pair<std::string, std::string>> pods;
  std::string rule;      // of lint: the id of what its warning is of
  bool is_info = false;  // likewise: it is none to worry about
  std::string sent;      // with a trace: JSON of the object of a create or update
};

// A value in a file that is to be another: an expectation of a test that does not hold.
struct Correction {
  std::shared_ptr<const SourceText> source;
  std::vector<std::string> steps;  // to the value
  std::string what;                // the value is called: "expect"
  Location place;
  std::string name;                          // of the case behind that of its test; why, of lint
  std::shared_ptr<const json::Arena> arena;  // `now` and what `was` lives in
  std::shared_ptr<const json::Arena> document;
  json::Value was;
  json::Value now;
};

struct Report {
  std::vector<Result> results;    // in the order of the manifests
  std::vector<Problem> problems;  // what could not be read
  std::vector<std::string> notes;
  std::vector<Correction> corrections;   // if JudgeOptions::corrects
  std::vector<PolicyCoverage> coverage;  // if JudgeOptions::covers
  std::size_t files = 0;
  std::size_t ignored = 0;

  std::size_t Count(Verdict verdict) const;
  std::size_t warnings() const;  // of manifests; those of cases are expected or fail
  std::size_t refusals() const;
};

}  // namespace portcullis::offline
