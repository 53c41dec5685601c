// SPDX-License-Identifier: Apache-2.0

// Tests of chainsaw (chainsaw.kyverno.io/v1alpha1), as far as they are requests and looks at objects:
// apply, create, update, patch, delete, assert, error, and `expect` with ($error != null). Tests with
// scripts, expressions in objects, or kinds of Kyverno are counted by name and not run.
#include <utility>

#include "base/strings.h"
#include "offline/suites/reading.h"
#include "offline/suites/suite_format.h"

namespace portcullis::offline {
namespace {

struct Action {
  std::string_view name;
  std::string_view operation;
  bool looks = false;  // at what is stored
};

constexpr Action kActions[] = {
    {"apply", "APPLY"},   {"create", "CREATE"},    {"update", "UPDATE"},   {"patch", "PATCH"},
    {"delete", "DELETE"}, {"assert", "GET", true}, {"error", "GET", true},
};

// Whether a name of a member is an expression of chainsaw: `(length(spec))`.
bool HasExpressions(json::Value value) {
  if (value.is_array()) {
    for (const json::Value& one : value.elements()) {
      if (HasExpressions(one)) return true;
    }
  }
  for (const json::Member& member : value.members()) {
    const std::string_view name = member.name();
    if (name.starts_with('(') || name.starts_with("~.")) return true;
    if (member.value.AsString().starts_with("($") || HasExpressions(member.value)) return true;
  }
  return false;
}

class ChainsawReader {
 public:
  ChainsawReader(const Manifest& document, Location& wrong, Suites& suites)
      : reading_(document, wrong, *suites.files), suites_(suites) {}

  base::Status Run() {
    const json::Value spec = reading_.root()["spec"];
    TRY(reading_.CheckNames(reading_.root(), {}, {"apiVersion", "kind", "metadata", "spec"}));
    TRY(reading_.CheckNames(spec, {"spec"},
                            {"bindings",
                             "catch",
                             "cluster",
                             "clusters",
                             "compiler",
                             "concurrent",
                             "delayBeforeCleanup",
                             "deletionPropagationPolicy",
                             "description",
                             "failFast",
                             "fastNamespaceDeletion",
                             "forceTerminationGracePeriod",
                             "namespace",
                             "namespaceTemplate",
                             "namespaceTemplateCompiler",
                             "scenarios",
                             "skip",
                             "skipDelete",
                             "steps",
                             "template",
                             "timeouts"}));
    if (spec["steps"].empty()) return reading_.Wrong({"spec"}, "the Test has no steps");
    Suite suite;
    suite.name = reading_.document().name;
    suite.steps = true;
    for (std::size_t i = 0; i < spec["steps"].size(); ++i) {
      const Steps at = {"spec", "steps", std::to_string(i), "try"};
      const json::Value actions = spec["steps"][i]["try"];
      TRY(reading_.CheckNames(spec["steps"][i], {"spec", "steps", std::to_string(i)},
                              {"bindings", "catch", "cleanup", "cluster", "clusters", "compiler",
                               "deletionPropagationPolicy", "description", "finally", "name",
                               "skipDelete", "template", "timeouts", "try", "use"}));
      if (spec["steps"][i].Has("use")) {
        NotOurs("step templates are not read");
        suite.cases.push_back(reading_.NewCase("use", {"spec", "steps", std::to_string(i)}));
      }
      for (std::size_t j = 0; j < actions.size(); ++j) {
        TRY(ReadAction(actions[j], Below(at, j), suite));
      }
    }
    if (suite.cases.empty()) return reading_.Wrong({"spec", "steps"}, "no step tries anything");
    // Each step follows from those before it.
    if (!why_.empty()) {
      for (Case& one : suite.cases) one.not_ours = base::StrCat("test ", suite.name, ": ", why_);
    }
    suites_.suites.push_back(std::move(suite));
    return base::OkStatus();
  }

 private:
  base::Status ReadAction(json::Value value, const Steps& steps, Suite& suite) {
    for (const Action& action : kActions) {
      if (!value.Has(action.name)) continue;
      return ReadObjects(value[action.name], Below(steps, action.name), action, suite);
    }
    for (const json::Member& member : value.members()) {
      if (member.name() == "description" || member.name() == "sleep") continue;
      NotOurs(base::StrCat("`", member.name(), "` is not run"));
      Case one = reading_.NewCase(std::string(member.name()), steps);
      suite.cases.push_back(std::move(one));
      break;
    }
    return base::OkStatus();
  }

  void NotOurs(std::string why) {
    if (why_.empty()) why_ = std::move(why);
  }

  base::Status ReadObjects(json::Value value, const Steps& steps, const Action& action,
                           Suite& suite) {
    std::vector<Manifest> objects;
    if (value.Has("file")) {
      const std::string_view file = value["file"].AsString();
      if (file.find('*') != std::string_view::npos || file.find('(') != std::string_view::npos) {
        NotOurs("patterns of files are not read");
        return base::OkStatus();
      }
      Inputs inputs = TRY(reading_.File(value["file"], Below(steps, "file")));
      if (!inputs.problems.empty()) return reading_.Wrong(steps, inputs.problems.front().message);
      objects = std::move(inputs.manifests);
    } else {
      const json::Value object = value.Has("resource") ? value["resource"] : value["ref"];
      if (!object.is_object()) {
        NotOurs(base::StrCat("`", action.name, "` without a file or an object is not run"));
        return base::OkStatus();
      }
      objects.push_back(
          MakeManifest(reading_.document(), reading_.document().arena, Named(object)));
    }
    for (const Manifest& object : objects) AddCase(object, value, steps, action, suite);
    return base::OkStatus();
  }

  // A `ref` names the object at its top.
  json::Value Named(json::Value object) const {
    if (object.Has("metadata")) return object;
    json::Arena& arena = *reading_.document().arena;
    json::ObjectBuilder metadata(arena);
    for (std::string_view name : {"name", "namespace"}) {
      if (object.Has(name)) metadata.Set(name, object[name]);
    }
    return json::With(arena, object, "metadata", metadata.Build());
  }

  void AddCase(const Manifest& object, json::Value value, const Steps& steps, const Action& action,
               Suite& suite) {
    const std::string_view group = object.group();
    if (group.ends_with("kyverno.io") || group.ends_with("wgpolicyk8s.io")) {
      NotOurs(base::StrCat(object.kind, " (", group, ") needs Kyverno"));
    }
    if (HasExpressions(object.object)) NotOurs("expressions in objects are not evaluated");
    Case one = reading_.NewCase(base::StrCat(std::to_string(suite.cases.size() + 1), " ",
                                             action.name, " ", object.kind, "/", object.name),
                                steps);
    Review& review = one.review;
    review.operation = action.operation;
    review.manifest = object;
    review.object = review.patch = review.old_object = object.object;
    review.name = object.name;
    review.ns = object.ns.empty() ? "default" : object.ns;
    review.force = true;
    review.field_manager = "chainsaw";
    if (action.name == "assert") one.expect.object = object.object;
    if (action.name == "error") one.expect.lacks = object.object;
    if (action.name == "error") one.expect.verdict = Expected::kAny;
    ReadExpect(value["expect"], one.expect);
    suite.cases.push_back(std::move(one));
  }

  // `expect: [{check: {($error != null): true}}]`.
  void ReadExpect(json::Value expect, Expectation& out) {
    for (const json::Value& one : expect.elements()) {
      for (const json::Member& check : one["check"].members()) {
        if (check.name() == "($error != null)") {
          out.verdict = check.value.AsBool() ? Expected::kDeny : Expected::kAllow;
        } else if (check.name() == "($error)" && check.value.is_string()) {
          out.verdict = Expected::kDeny;
          out.message = TextMatch{TextMatch::Kind::kPart, std::string(check.value.AsString())};
        } else {
          NotOurs(base::StrCat("the check ", check.name(), " is not evaluated"));
        }
      }
    }
  }

  const Reading reading_;
  Suites& suites_;
  std::string why_;  // why the test is not run; "": it is
};

}  // namespace

bool IsChainsawTest(const Manifest& document) {
  return document.group() == "chainsaw.kyverno.io" && document.kind == "Test";
}

base::Status ReadChainsawTest(std::span<const Manifest> documents, Location& wrong,
                              Suites& suites) {
  for (const Manifest& document : documents) {
    TRY(ChainsawReader(document, wrong, suites).Run());
  }
  return base::OkStatus();
}

}  // namespace portcullis::offline
