// SPDX-License-Identifier: Apache-2.0

#include "offline/suites/correct.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "json/reader.h"
#include "offline/suites/compare.h"
#include "offline/suites/policy_verdict.h"
#include "offline/suites/reading.h"

namespace portcullis::offline {
namespace {

// The fields that `wanted` names, as `actual` has them.
json::Value FieldsAsThey(json::Arena& arena, json::Value wanted, json::Value actual) {
  if (wanted.is_object() && actual.is_object()) {
    json::ObjectBuilder fields(arena);
    for (const json::Member& member : wanted.members()) {
      const bool is_there = actual.Has(member.name()) || member.value.is_null();
      if (!is_there) continue;
      fields.Set(member.name(), FieldsAsThey(arena, member.value, actual[member.name()]));
    }
    return fields.Build();
  }
  if (wanted.is_array() && wanted.size() == actual.size()) {
    json::ArrayBuilder elements(arena);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      elements.Add(FieldsAsThey(arena, wanted[i], actual[i]));
    }
    return elements.Build();
  }
  return actual;
}

class Correcting {
 public:
  Correcting(json::Arena& arena, const Expectation& expect, const Result& judged)
      : arena_(arena),
        expect_(expect),
        judged_(judged),
        policy_(expect.policy, judged),
        now_(expect),
        written_(expect.written) {}

  std::optional<json::Value> Run() {
    if (written_.is_null() || judged_.verdict == Verdict::kError) return std::nullopt;
    if (!expect_.policy.empty() && !policy_.was_asked()) return std::nullopt;
    CorrectVerdict();
    CorrectMatch();
    CorrectCode();
    CorrectMessage();
    CorrectWarnings();
    CorrectAnnotations();
    CorrectObject();
    if (!Holds(now_, judged_)) return std::nullopt;
    return written_;
  }

 private:
  // An expectation of the same policy and of nothing else.
  Expectation Plain() const {
    Expectation plain;
    plain.policy = expect_.policy;
    plain.verdict = Expected::kAny;
    return plain;
  }

  void Write(std::string_view name, json::Value value) {
    written_ = json::With(arena_, written_, name, value);
  }
  void Write(std::string_view name, std::string_view text) {
    Write(name, json::String(arena_, text));
  }
  void Remove(std::string_view name) { written_ = json::Without(arena_, written_, name); }

  void CorrectVerdict() {
    Expectation plain = Plain();
    plain.verdict = expect_.verdict;
    plain.accepts_skip = expect_.accepts_skip;
    if (Holds(plain, judged_)) return;
    now_.verdict = !expect_.policy.empty()              ? policy_.verdict()
                   : judged_.verdict == Verdict::kAllow ? Expected::kAllow
                                                        : Expected::kDeny;
    const std::string_view text = ExpectedText(now_.verdict);
    if (written_.is_object()) return Write("verdict", text);
    written_ = json::String(arena_, text);
  }

  void CorrectMatch() {
    if (expect_.matched && *expect_.matched != policy_.matched()) {
      now_.matched = policy_.matched();
      if (written_.Has("matched") || policy_.matched()) {
        Write("matched", json::Value::Bool(policy_.matched()));
      }
    }
    if (!expect_.reason.empty() && expect_.reason != policy_.reason()) {
      now_.reason = policy_.matched() ? "" : policy_.reason();
      if (now_.reason.empty()) {
        Remove("reason");
      } else {
        Write("reason", now_.reason);
      }
    }
    if (expect_.cost_below && policy_.cost() >= *expect_.cost_below) {
      now_.cost_below = policy_.cost() + 1;
      Write("costBelow", json::Value::Int(static_cast<std::int64_t>(policy_.cost() + 1)));
    }
  }

  void CorrectCode() {
    if (!expect_.code || *expect_.code == judged_.code) return;
    now_.code = judged_.code;
    Write("code", json::Value::Int(judged_.code));
  }

  void CorrectMessage() {
    Expectation plain = Plain();
    plain.message = expect_.message;
    if (Holds(plain, judged_)) return;
    const std::string said = MessageNow();
    if (said.empty()) {
      now_.message.reset();
      return Remove("message");
    }
    const bool in_part = written_["message"].is_object();
    now_.message = {in_part ? TextMatch::Kind::kPart : TextMatch::Kind::kWhole, said};
    if (!in_part) return Write("message", said);
    Write("message", json::ObjectBuilder(arena_).Set("contains", said).Build());
  }

  std::string MessageNow() const {
    const bool of_server = expect_.policy.empty();
    if (of_server && !written_["message"].is_object()) return judged_.message;
    for (const Failure& failure : judged_.failures) {
      if (of_server || failure.policy == expect_.policy) return failure.message;
    }
    return "";
  }

  // Those that hold stay; warnings that none of them speaks of are added.
  void CorrectWarnings() {
    const auto& said = judged_.warnings;
    const auto holds = [&](const TextMatch& match) {
      return std::any_of(said.begin(), said.end(),
                         [&](const std::string& text) { return match.Holds(text); });
    };
    if (std::all_of(expect_.warnings.begin(), expect_.warnings.end(), holds)) return;
    now_.warnings.clear();
    json::ArrayBuilder warnings(arena_);
    for (std::size_t i = 0; i < expect_.warnings.size(); ++i) {
      if (!holds(expect_.warnings[i])) continue;
      now_.warnings.push_back(expect_.warnings[i]);
      warnings.Add(written_["warnings"][i]);
    }
    for (const std::string& text : said) {
      const bool is_known = std::any_of(now_.warnings.begin(), now_.warnings.end(),
                                        [&](const TextMatch& match) { return match.Holds(text); });
      if (is_known) continue;
      now_.warnings.push_back({TextMatch::Kind::kPart, text});
      warnings.Add(std::string_view(text));
    }
    if (now_.warnings.empty()) return Remove("warnings");
    Write("warnings", warnings.Build());
  }

  void CorrectAnnotations() {
    json::Value annotations = written_["annotations"];
    std::vector<std::pair<std::string, TextMatch>> kept;
    for (const auto& [key, match] : expect_.annotations) {
      Expectation plain = Plain();
      plain.annotations.emplace_back(key, match);
      if (Holds(plain, judged_)) {
        kept.emplace_back(key, match);
        continue;
      }
      const auto found =
          std::find_if(judged_.audit_annotations.rbegin(), judged_.audit_annotations.rend(),
                       [&key = key](const auto& one) { return one.first == key; });
      if (found == judged_.audit_annotations.rend()) {
        annotations = json::Without(arena_, annotations, key);
        continue;
      }
      kept.emplace_back(key, TextMatch{TextMatch::Kind::kWhole, found->second});
      annotations = json::With(arena_, annotations, key, json::String(arena_, found->second));
    }
    now_.annotations = std::move(kept);
    if (annotations == written_["annotations"]) return;
    if (annotations.empty()) return Remove("annotations");
    Write("annotations", annotations);
  }

  void CorrectObject() {
    if (!expect_.object.is_object()) return;
    Expectation plain = Plain();
    plain.object = expect_.object;
    if (Holds(plain, judged_)) return;
    const auto actual = json::Parse(arena_, judged_.object.empty() ? "null" : judged_.object);
    if (!actual.ok() || !actual->is_object()) {
      now_.object = {};
      return Remove("object");
    }
    now_.object = FieldsAsThey(arena_, expect_.object, *actual);
    Write("object", now_.object);
  }

  json::Arena& arena_;
  const Expectation& expect_;
  const Result& judged_;
  const PolicyVerdict policy_;
  Expectation now_;
  json::Value written_;
};

}  // namespace

std::optional<Correction> Correct(const Case& one, const std::string& suite, const Result& judged) {
  auto arena = std::make_shared<json::Arena>();
  const auto now = Correcting(*arena, one.expect, judged).Run();
  if (!now) return std::nullopt;
  Correction correction;
  correction.source = one.review.manifest.source;
  correction.steps = Below(one.review.manifest.steps, "expect");
  correction.place = one.expect_place;
  correction.what = "expect";
  correction.name = base::StrCat(suite, "/", one.name);
  correction.document = one.review.manifest.arena;
  correction.was = one.expect.written;
  correction.now = *now;
  correction.arena = std::move(arena);
  return correction;
}

}  // namespace portcullis::offline
