// SPDX-License-Identifier: Apache-2.0

#include "offline/suites/compare.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "json/reader.h"
#include "json/writer.h"
#include "offline/pattern.h"
#include "offline/suites/policy_verdict.h"

namespace portcullis::offline {
namespace {

constexpr std::pair<std::string_view, Expected> kExpected[] = {
    {"allow", Expected::kAllow}, {"deny", Expected::kDeny},         {"warn", Expected::kWarn},
    {"audit", Expected::kAudit}, {"violated", Expected::kViolated}, {"error", Expected::kError},
    {"skip", Expected::kSkip},   {"any", Expected::kAny},
};

// Where `actual` lacks something of `wanted`; "" if it holds all of it.
std::string Missing(json::Value wanted, json::Value actual, const std::string& path) {
  if (wanted.is_object()) {
    for (const json::Member& member : wanted.members()) {
      const std::string below = base::StrCat(path, path.empty() ? "" : ".", member.name());
      std::string missing = Missing(member.value, actual[member.name()], below);
      if (!missing.empty()) return missing;
    }
    return "";
  }
  if (wanted.is_array() && wanted.size() == actual.size()) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      std::string missing =
          Missing(wanted[i], actual[i], base::StrCat(path, "[", std::to_string(i), "]"));
      if (!missing.empty()) return missing;
    }
    return "";
  }
  if (wanted == actual) return "";
  return base::StrCat(path, " is ", json::ToString(actual), ", not ", json::ToString(wanted));
}

// Collects what differs, a sentence each.
class CaseDifferences {
 public:
  CaseDifferences(const Expectation& expect, const Result& judged)
      : expect_(expect), judged_(judged), policy_(expect.policy, judged) {}

  std::vector<std::string> Find() {
    if (expect_.policy.empty()) {
      CheckVerdict();
    } else {
      CheckPolicy();
    }
    if (!out_.empty()) return std::move(out_);
    CheckTexts();
    CheckObject();
    return std::move(out_);
  }

 private:
  void Add(std::string difference) { out_.push_back(std::move(difference)); }

  std::string Because() const {
    return judged_.message.empty() ? "" : base::StrCat(": ", judged_.message);
  }

  void CheckVerdict() {
    const bool allowed = judged_.verdict == Verdict::kAllow;
    const bool warned = !judged_.warnings.empty();
    bool holds = true;
    switch (expect_.verdict) {
      case Expected::kAny:
        break;
      case Expected::kAllow:
        holds = allowed;
        break;
      case Expected::kWarn:
        holds = allowed && warned;
        break;
      case Expected::kAudit:
        holds = allowed && !judged_.audit_annotations.empty();
        break;
      case Expected::kError:
        holds = judged_.verdict == Verdict::kError;
        break;
      case Expected::kSkip:
        holds = judged_.verdict == Verdict::kSkip;
        break;
      default:
        holds = !allowed;
    }
    if (holds) return;
    Add(base::StrCat("expected ", ExpectedText(expect_.verdict), ", got ",
                     VerdictText(judged_.verdict), Because()));
  }

  void CheckPolicy() {
    if (!policy_.was_asked() && !CanBePassedOver()) {
      return Add(base::StrCat("expected ", ExpectedText(expect_.verdict), " of policy ",
                              expect_.policy, ", which was not asked", Because()));
    }
    const bool passed_over = expect_.accepts_skip && policy_.Is(Expected::kSkip);
    if (!passed_over && !policy_.Is(expect_.verdict)) {
      const auto& messages = policy_.messages();
      Add(base::StrCat("expected ", ExpectedText(expect_.verdict), " of policy ", expect_.policy,
                       ", got ", ExpectedText(policy_.verdict()),
                       messages.empty() ? policy_.why() : base::StrCat(": ", messages.front())));
    }
    if (expect_.matched && *expect_.matched != policy_.matched()) {
      Add(base::StrCat(
          "policy ", expect_.policy,
          policy_.matched() ? " matches" : base::StrCat(" does not match: ", policy_.reason())));
    }
    if (!expect_.reason.empty() && expect_.reason != policy_.reason()) {
      Add(base::StrCat("it is passed over for ",
                       policy_.reason().empty() ? "nothing" : policy_.reason(), ", not for ",
                       expect_.reason));
    }
    if (expect_.cost_below && policy_.cost() >= *expect_.cost_below) {
      Add(base::StrCat("its expressions cost ", std::to_string(policy_.cost()), ", not less than ",
                       std::to_string(*expect_.cost_below)));
    }
  }

  // A policy whose resource rules do not name the resource has no step of its own.
  bool CanBePassedOver() const {
    if (judged_.verdict == Verdict::kError) return false;
    return expect_.verdict == Expected::kSkip || expect_.accepts_skip ||
           (expect_.matched && !*expect_.matched);
  }

  void CheckTexts() {
    if (expect_.code && *expect_.code != judged_.code) {
      Add(base::StrCat("code is ", std::to_string(judged_.code), ", not ",
                       std::to_string(*expect_.code), Because()));
    }
    CheckMessage();
    for (const ViolationCount& count : expect_.violations) CheckCount(count);
    for (const TextMatch& wanted : expect_.warnings) {
      const bool warned = std::any_of(judged_.warnings.begin(), judged_.warnings.end(),
                                      [&](const std::string& text) { return wanted.Holds(text); });
      if (!warned) Add(base::StrCat("no warning ", wanted.ToString(), All(judged_.warnings)));
    }
    for (const auto& [key, wanted] : expect_.annotations) CheckAnnotation(key, wanted);
  }

  static std::string All(const std::vector<std::string>& texts) {
    return texts.empty() ? "" : base::StrCat(": ", base::Join(texts, "; "));
  }

  void CheckMessage() {
    if (!expect_.message) return;
    const TextMatch& wanted = *expect_.message;
    if (wanted.kind == TextMatch::Kind::kWhole && expect_.policy.empty()) {
      if (!wanted.Holds(judged_.message)) {
        Add(base::StrCat("the message is: ", judged_.message));
      }
      return;
    }
    const bool said =
        std::any_of(judged_.failures.begin(), judged_.failures.end(), [&](const Failure& failure) {
          if (!expect_.policy.empty() && failure.policy != expect_.policy) return false;
          return wanted.Holds(failure.message);
        });
    if (!said) Add(base::StrCat("no failure ", wanted.ToString(), Because()));
  }

  void CheckCount(const ViolationCount& count) {
    const auto& messages = policy_.messages();
    const auto found = static_cast<std::size_t>(
        std::count_if(messages.begin(), messages.end(),
                      [&](const std::string& text) { return count.message.Holds(text); }));
    if (found >= count.least && (!count.most || found <= *count.most)) return;
    const std::string wanted = !count.most ? "at least one violation"
                               : *count.most == 0
                                   ? "no violation"
                                   : base::StrCat(std::to_string(*count.most), " violations");
    Add(base::StrCat(
        "expected ", wanted,
        count.message.text.empty() ? "" : base::StrCat(" that ", count.message.ToString()),
        ", got ", std::to_string(found), All(messages)));
  }

  void CheckAnnotation(const std::string& key, const TextMatch& wanted) {
    std::string last;
    for (const auto& [name, value] : judged_.audit_annotations) {
      if (name != key) continue;
      if (wanted.Holds(value)) return;
      last = value;
    }
    Add(last.empty() ? base::StrCat("no audit annotation ", key)
                     : base::StrCat("audit annotation ", key, " is ", last));
  }

  void CheckObject() {
    if (!expect_.object.is_object() && !expect_.lacks.is_object()) return;
    json::Arena arena;
    const auto parsed = json::Parse(arena, judged_.object.empty() ? "{}" : judged_.object);
    const json::Value object = parsed.ok() ? *parsed : json::Value();
    std::string missing = Missing(expect_.object, object, "");
    if (expect_.object.is_object() && !missing.empty()) Add(std::move(missing));
    if (expect_.lacks.is_object() && Missing(expect_.lacks, object, "").empty()) {
      Add("the object is there, and should not be");
    }
  }

  const Expectation& expect_;
  const Result& judged_;
  const PolicyVerdict policy_;
  std::vector<std::string> out_;
};

}  // namespace

bool TextMatch::Holds(std::string_view subject) const {
  switch (kind) {
    case Kind::kWhole:
      return subject == text;
    case Kind::kPart:
      return subject.find(text) != std::string_view::npos;
    case Kind::kEnd:
      return subject.ends_with(text);
    case Kind::kRegex: {
      const auto pattern = Pattern::Read(text);
      return pattern.ok() && pattern->Finds(subject);
    }
  }
  return false;
}

std::string TextMatch::ToString() const {
  const std::string_view verb = kind == Kind::kWhole  ? "is"
                                : kind == Kind::kPart ? "contains"
                                : kind == Kind::kEnd  ? "ends with"
                                                      : "matches";
  return base::StrCat(verb, " \"", text, "\"");
}

std::string_view ExpectedText(Expected expected) {
  for (const auto& [text, value] : kExpected) {
    if (value == expected) return text;
  }
  return "";
}

std::optional<Expected> ExpectedNamed(std::string_view text) {
  for (const auto& [name, value] : kExpected) {
    if (name == text) return value;
  }
  return std::nullopt;
}

bool Holds(const Expectation& expect, const Result& judged) {
  return CaseDifferences(expect, judged).Find().empty();
}

Result Compare(const Case& one, const std::string& suite, const Result& judged) {
  Result result = judged;
  result.is_case = true;
  result.place = one.place;
  result.api_version = "portcullis.dev/v1";
  result.kind = "Test";
  result.ns.clear();
  result.resource.clear();
  result.name = base::StrCat(suite, "/", one.name);
  result.verdict = Verdict::kPass;
  result.failures.clear();
  if (!one.not_ours.empty()) {
    result.verdict = Verdict::kSkip;
    result.message = one.not_ours;
    return result;
  }
  for (std::string& difference : CaseDifferences(one.expect, judged).Find()) {
    Failure failure;
    failure.source = "test";
    failure.message = std::move(difference);
    failure.place = one.expect_place;
    result.failures.push_back(std::move(failure));
  }
  if (result.failures.empty()) return result;
  result.verdict = judged.verdict == Verdict::kError ? Verdict::kError : Verdict::kFail;
  result.message = result.failures[0].message;
  // The rules that have refused tell why.
  result.failures.insert(result.failures.end(), judged.failures.begin(), judged.failures.end());
  return result;
}

}  // namespace portcullis::offline
