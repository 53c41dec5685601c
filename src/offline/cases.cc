// SPDX-License-Identifier: Apache-2.0

#include "offline/cases.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/strings.h"
#include "json/reader.h"
#include "json/writer.h"
#include "offline/blame.h"

namespace portcullis::offline {
namespace {

using Steps = std::vector<std::string>;

class TestReader {
 public:
  TestReader(json::Arena& arena, const Manifest& manifest, Location& wrong)
      : arena_(arena), manifest_(manifest), wrong_(wrong) {}

  base::Result<TestFile> Run() {
    const json::Value root = manifest_.object;
    TRY(CheckNames(root, {},
                   {"apiVersion", "kind", "metadata", "files", "namespace", "object", "oldObject",
                    "user", "cases"}));
    TestFile test;
    test.name = manifest_.name.empty() ? manifest_.source->path() : manifest_.name;
    const std::string folder = base::FolderOf(manifest_.source->path());
    InputOptions files;
    for (const json::Value& file : root["files"].elements()) {
      files.paths.push_back(base::ResolvePath(folder, std::string(file.AsString())));
    }
    test.inputs = ReadInputs(files);
    if (root["cases"].empty()) return Wrong({}, "a Test has cases, at least one");
    for (std::size_t i = 0; i < root["cases"].size(); ++i) {
      test.cases.push_back(TRY(ReadCase(root["cases"][i], {"cases", std::to_string(i)})));
    }
    return test;
  }

 private:
  base::Status Wrong(const Steps& steps, std::string_view what) const {
    wrong_ = manifest_.Find(steps);
    return base::ConfigError(std::string(what));
  }

  base::Status CheckNames(json::Value object, const Steps& steps,
                          std::initializer_list<std::string_view> known) const {
    for (const json::Member& member : object.members()) {
      if (std::find(known.begin(), known.end(), member.name()) != known.end()) continue;
      Steps place = steps;
      place.emplace_back(member.name());
      const std::string_view near =
          base::Nearest(member.name(), std::span(known.begin(), known.size()));
      return Wrong(place,
                   base::StrCat("unknown field \"", member.name(), "\"",
                                near.empty() ? "" : base::StrCat(" (did you mean ", near, "?)")));
    }
    return base::OkStatus();
  }

  base::Result<Case> ReadCase(json::Value value, const Steps& steps) {
    TRY(CheckNames(
        value, steps,
        {"name", "operation", "object", "set", "oldObject", "oldSet", "user", "expect"}));
    Case one;
    one.steps = steps;
    one.expect = value["expect"];
    one.name = value["name"].AsString(base::StrCat("case ", steps[1]));
    TRY(CheckExpect(one.expect, steps));
    const json::Value root = manifest_.object;
    Review& review = one.review;
    review.operation = value["operation"].AsString("CREATE");
    const bool known = review.operation == "CREATE" || review.operation == "UPDATE" ||
                       review.operation == "DELETE";
    if (!known) return Wrong(Below(steps, "operation"), "must be CREATE, UPDATE or DELETE");
    const json::Value object = value.Has("object") ? value["object"] : root["object"];
    if (!object.is_object()) return Wrong(steps, "the case has no object, and the Test has none");
    const json::Value old = value.Has("oldObject")  ? value["oldObject"]
                            : root.Has("oldObject") ? root["oldObject"]
                                                    : object;
    if (review.operation != "DELETE") {
      review.object = TRY(Apply(object, value["set"], Below(steps, "set")));
    }
    if (review.operation != "CREATE") {
      review.old_object = TRY(Apply(old, value["oldSet"], Below(steps, "oldSet")));
    }
    const json::Value shown = review.object.is_null() ? review.old_object : review.object;
    review.name = shown["metadata"]["name"].AsString();
    review.ns = shown["metadata"]["namespace"].AsString(root["namespace"].AsString("default"));
    TRY(CheckNames(value["user"], Below(steps, "user"), {"name", "groups"}));
    TRY(CheckNames(root["user"], {"user"}, {"name", "groups"}));
    ReadUser(value.Has("user") ? value["user"] : root["user"], review.user);
    review.manifest = manifest_;
    review.manifest.steps.insert(review.manifest.steps.end(), steps.begin(), steps.end());
    review.manifest.object = shown;
    review.manifest.kind = shown["kind"].AsString();
    review.manifest.api_version = shown["apiVersion"].AsString();
    review.manifest.name = review.name;
    return one;
  }

  static Steps Below(Steps steps, std::string_view name) {
    steps.emplace_back(name);
    return steps;
  }

  base::Status CheckExpect(json::Value expect, const Steps& steps) const {
    const Steps at = Below(steps, "expect");
    if (!expect.is_object() && !expect.is_string()) {
      return Wrong(steps,
                   "a case expects something: allow, deny, or {verdict: deny, message: TEXT}");
    }
    TRY(CheckNames(expect, at, {"verdict", "code", "message", "warnings", "object"}));
    TRY(CheckNames(expect["message"], Below(at, "message"), {"contains"}));
    const std::string_view verdict =
        expect.is_string() ? expect.AsString() : expect["verdict"].AsString("allow");
    if (verdict == "allow" || verdict == "deny") return base::OkStatus();
    return Wrong(at, "a verdict is allow or deny");
  }

  static void ReadUser(json::Value value, api::UserInfo& user) {
    user.name = value["name"].AsString();
    for (const json::Value& group : value["groups"].elements()) {
      user.groups.emplace_back(group.AsString());
    }
    if (!user.name.empty()) user.groups.emplace_back(api::kGroupAuthenticated);
  }

  // `changes` by path; null removes.
  base::Result<json::Value> Apply(json::Value object, json::Value changes, const Steps& at) {
    constexpr std::size_t kMaxDepth = 64;
    for (const json::Member& change : changes.members()) {
      const Steps path = FieldSteps(change.name());
      if (path.empty() || path.size() > kMaxDepth) {
        return Wrong(Below(at, change.name()), "a path has 1 to 64 steps: spec.replicas");
      }
      object = SetAt(object, path, 0, change.value);
    }
    return object;
  }

  json::Value SetAt(json::Value at, const Steps& path, std::size_t depth, json::Value value) {
    if (depth == path.size()) return value;
    const std::string_view step = arena_.Copy(path[depth]);
    if (const auto index = base::ParseInt(step); index && at.is_array()) {
      const auto position = static_cast<std::size_t>(*index);
      const json::Value element = SetAt(at[position], path, depth + 1, value);
      return position < at.size() ? json::WithElement(arena_, at, position, element)
                                  : json::Append(arena_, at, element);
    }
    if (depth + 1 == path.size() && value.is_null()) return json::Without(arena_, at, step);
    return json::With(arena_, at, step, SetAt(at[step], path, depth + 1, value));
  }

  json::Arena& arena_;
  const Manifest& manifest_;
  Location& wrong_;
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

// What is wrong with the judgement, a sentence each.
std::vector<std::string> Differences(json::Value expect, const Result& judged) {
  std::vector<std::string> out;
  const std::string_view verdict =
      expect.is_string() ? expect.AsString() : expect["verdict"].AsString("allow");
  const std::string_view is = judged.verdict == Verdict::kAllow ? "allow" : "deny";
  if (verdict != is) {
    out.push_back(base::StrCat("expected ", verdict, ", got ", is,
                               judged.message.empty() ? "" : base::StrCat(": ", judged.message)));
    return out;
  }
  if (expect["code"].is_int() && expect["code"].AsInt() != judged.code) {
    out.push_back(base::StrCat("code is ", std::to_string(judged.code), ", not ",
                               std::to_string(expect["code"].AsInt())));
  }
  const json::Value message = expect["message"];
  if (message.is_string() && message.AsString() != judged.message) {
    out.push_back(base::StrCat("the message is: ", judged.message));
  }
  const std::string_view part = message["contains"].AsString();
  const bool said =
      std::any_of(judged.failures.begin(), judged.failures.end(),
                  [&](const Failure& one) { return one.message.find(part) != std::string::npos; });
  if (!part.empty() && !said) {
    out.push_back(base::StrCat("no failure contains \"", part, "\": ", judged.message));
  }
  for (const json::Value& wanted : expect["warnings"].elements()) {
    const bool warned = std::any_of(
        judged.warnings.begin(), judged.warnings.end(),
        [&](const std::string& text) { return text.find(wanted.AsString()) != std::string::npos; });
    if (!warned) out.push_back(base::StrCat("no warning contains \"", wanted.AsString(), "\""));
  }
  if (expect["object"].is_object()) {
    json::Arena arena;
    const auto object = json::Parse(arena, judged.object.empty() ? "{}" : judged.object);
    std::string missing = object.ok() ? Missing(expect["object"], *object, "") : "no object";
    if (!missing.empty()) out.push_back(std::move(missing));
  }
  return out;
}

}  // namespace

bool IsTest(const Manifest& manifest) {
  return manifest.group() == "portcullis.dev" && manifest.kind == "Test";
}

base::Result<TestFile> ReadTest(json::Arena& arena, const Manifest& manifest, Location& wrong) {
  return TestReader(arena, manifest, wrong).Run();
}

Result Compare(const Case& one, const Manifest& test, const std::string& test_name,
               const Result& judged) {
  Result result;
  result.place = test.Find(one.steps);
  result.api_version = test.api_version;
  result.kind = test.kind;
  result.name = base::StrCat(test_name, "/", one.name);
  result.operation = judged.operation;
  result.verdict = Verdict::kPass;
  result.code = judged.code;
  Steps expected = one.steps;
  expected.emplace_back("expect");
  for (std::string& difference : Differences(one.expect, judged)) {
    Failure failure;
    failure.source = "test";
    failure.message = std::move(difference);
    failure.place = test.Find(expected);
    result.failures.push_back(std::move(failure));
  }
  if (result.failures.empty()) return result;
  result.verdict = Verdict::kFail;
  result.message = result.failures[0].message;
  // The rules that have refused tell why.
  result.failures.insert(result.failures.end(), judged.failures.begin(), judged.failures.end());
  return result;
}

}  // namespace portcullis::offline
