// SPDX-License-Identifier: Apache-2.0

// Suite: tests as every format says them: a cluster, requests, and what is expected of each. The
// readers of suites/suite_format.h make suites of test files; RunTests() of judge.h runs them.
//
// Value types. Values of JSON live in the suite's arena and in those of its manifests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "json/value.h"
#include "offline/http_request.h"
#include "offline/inputs.h"
#include "offline/review.h"

namespace portcullis::offline {

// A condition on a text.
struct TextMatch {
  enum class Kind : std::uint8_t { kWhole, kPart, kEnd, kRegex };
  Kind kind = Kind::kWhole;
  std::string text;

  bool Holds(std::string_view subject) const;  // a pattern that is none holds for nothing
  std::string ToString() const;                // `is "no"`, `contains "no"`, `matches "n."`
};

// What becomes of a request; with Expectation::policy, what that policy makes of it.
enum class Expected : std::uint8_t {
  kAllow,
  kDeny,
  kWarn,      // a violation that is warned of
  kAudit,     // a violation that is audited
  kViolated,  // denied, warned of or audited
  kError,     // an expression cannot be evaluated
  kSkip,      // the policy does not match
  kAny,
};

std::string_view ExpectedText(Expected expected);
std::optional<Expected> ExpectedNamed(std::string_view text);

// How many of the violations have such a message.
struct ViolationCount {
  TextMatch message;
  std::size_t least = 1;
  std::optional<std::size_t> most;
};

struct Expectation {
  Expected verdict = Expected::kAllow;
  std::string policy;  // whose verdict it is; "": the API server's
  std::optional<int> code;
  std::optional<TextMatch> message;  // a whole one: the server's; else of any failure
  std::vector<ViolationCount> violations;
  std::vector<TextMatch> warnings;  // each of some warning
  std::vector<std::pair<std::string, TextMatch>> annotations;
  json::Value object;         // fields of the object in the end; null: not compared
  bool accepts_skip = false;  // kAllow: a policy that does not match lets pass, too
  json::Value lacks;          // an object that is not so in the end; null: not compared
  std::optional<bool> matched;
  std::string reason;  // why it has not matched: NamespaceSelector, …
  std::optional<std::uint64_t> cost_below;
  json::Value written;  // as a native test file has it; null: in another format
};

struct Case {
  std::string name;
  Location place;
  Location expect_place;
  Review review;                       // its `resource` follows from its objects
  std::optional<HttpRequest> request;  // instead of the review
  bool may_lack_object = false;        // a log may begin after its object was created
  bool may_meet_own = false;           // a log may create what this cluster has made by itself
  Expectation expect;
  std::string not_ours;                                    // why it is not run; "": it is
  std::vector<std::shared_ptr<const json::Arena>> arenas;  // that its values live in
};

struct Suite {
  std::string name;
  std::shared_ptr<json::Arena> arena = std::make_shared<json::Arena>();
  Inputs inputs;       // what the cluster has; `given` of it past admission
  bool steps = false;  // each case finds what those before it have left
  // Fields that a kind does not have are dropped, as of clients in Go; else as the flags say.
  bool drops_unknown_fields = false;
  std::vector<Case> cases;
  std::vector<std::string> notes;
};

// How the readers of test files read the files that those name.
class FileAccess {
 public:
  virtual ~FileAccess() = default;
  virtual Inputs Read(const InputOptions& options) const = 0;
  virtual base::Result<std::string> Text(const std::string& path) const = 0;
  virtual bool IsFolder(const std::string& path) const = 0;
};
// The files of the machine.
const FileAccess& Disk();

// What the readers have made of all test files.
struct Suites {
  const FileAccess* files = &Disk();
  std::vector<Suite> suites;
  std::vector<Problem> problems;
};

}  // namespace portcullis::offline
