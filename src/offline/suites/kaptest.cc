// SPDX-License-Identifier: Apache-2.0

// kaptest.yaml (github.com/pfnet/kaptest): ValidatingAdmissionPolicies and the verdict of each on objects
// that other files have. A case binds its policy itself.
#include <utility>

#include "base/strings.h"
#include "offline/suites/reading.h"
#include "offline/suites/suite_format.h"

namespace portcullis::offline {
namespace {

class KaptestReader {
 public:
  KaptestReader(const Manifest& document, Location& wrong, Suites& suites)
      : reading_(document, wrong, *suites.files), suites_(suites) {}

  base::Status Run() {
    const json::Value root = reading_.root();
    TRY(reading_.CheckNames(root, {}, {"validatingAdmissionPolicies", "resources", "testSuites"}));
    policies_ =
        TRY(reading_.Files(root["validatingAdmissionPolicies"], {"validatingAdmissionPolicies"}));
    resources_ = TRY(reading_.Files(root["resources"], {"resources"}));
    const json::Value suites = root["testSuites"];
    if (suites.empty()) return reading_.Wrong({}, "testSuites has no suite");
    for (std::size_t i = 0; i < suites.size(); ++i) {
      TRY(ReadSuite(suites[i], {"testSuites", std::to_string(i)}));
    }
    return base::OkStatus();
  }

 private:
  base::Status ReadSuite(json::Value value, const Steps& steps) {
    TRY(reading_.CheckNames(value, steps, {"policy", "tests"}));
    const std::string_view name = value["policy"].AsString();
    const Manifest* policy = nullptr;
    for (const Manifest& manifest : policies_.manifests) {
      if (IsPolicy(manifest) && manifest.name == name) policy = &manifest;
    }
    if (policy == nullptr) {
      return reading_.Wrong(Below(steps, "policy"), base::StrCat("no file has a policy ", name));
    }
    if (value["tests"].empty()) return reading_.Wrong(steps, "the suite has no tests");
    for (std::size_t i = 0; i < value["tests"].size(); ++i) {
      TRY(ReadTest(value["tests"][i], Below(Below(steps, "tests"), i), *policy));
    }
    return base::OkStatus();
  }

  base::Status ReadTest(json::Value value, const Steps& steps, const Manifest& policy) {
    TRY(reading_.CheckNames(value, steps,
                            {"object", "oldObject", "param", "params", "userInfo", "expect"}));
    const std::string_view expect = value["expect"].AsString();
    const auto expected = ExpectedNamed(expect == "admit" ? "allow" : expect);
    if (!expected) {
      return reading_.Wrong(Below(steps, "expect"), "must be allow (admit), deny, skip or error");
    }
    const Manifest* object = nullptr;
    const Manifest* old = nullptr;
    TRY(FindObject(value, steps, "object", object));
    TRY(FindObject(value, steps, "oldObject", old));
    if (object == nullptr && old == nullptr) {
      return reading_.Wrong(steps, "a test has an object, an oldObject, or both");
    }
    const Manifest& shown = object == nullptr ? *old : *object;
    Case one = reading_.NewCase(base::StrCat(policy.name, "/", shown.name, " ", expect), steps);
    SetRequest(one, object, old);
    // The object may have another name than the one that it replaces; no API server takes that.
    if (object != nullptr && old != nullptr) one.review.object = Renamed(*object, old->name);
    if (object != nullptr && old != nullptr) one.review.name = old->name;
    one.review.user = ReadUserInfo(value["userInfo"]);
    if (one.review.user.name.empty()) one.review.user.name = value["userInfo"]["user"].AsString();
    one.expect.policy = policy.name;
    one.expect.verdict = *expected;
    const json::Value param = value.Has("param") ? value["param"] : value["params"];
    SuiteOf(policy, param).cases.push_back(std::move(one));
    return base::OkStatus();
  }

  json::Value Renamed(const Manifest& object, std::string_view name) const {
    return json::SetPath(*arena_, object.object, {"metadata", "name"}, json::String(*arena_, name));
  }

  base::Status FindObject(json::Value value, const Steps& steps, std::string_view member,
                          const Manifest*& found) const {
    const json::Value wanted = value[member];
    if (wanted.is_null()) return base::OkStatus();
    const Steps at = Below(steps, member);
    TRY(reading_.CheckNames(wanted, at, {"group", "version", "kind", "namespace", "name"}));
    for (const Manifest& manifest : resources_.manifests) {
      if (manifest.kind != wanted["kind"].AsString() ||
          manifest.name != wanted["name"].AsString()) {
        continue;
      }
      if (wanted.Has("group") && manifest.group() != wanted["group"].AsString()) continue;
      if (wanted.Has("namespace") && manifest.ns != wanted["namespace"].AsString()) continue;
      found = &manifest;
      return base::OkStatus();
    }
    return reading_.Wrong(at, "no file of `resources` has this object");
  }

  // The cluster with the policy bound to the parameter: made for each pair of both.
  Suite& SuiteOf(const Manifest& policy, json::Value param) {
    const std::string key = base::StrCat(policy.name, "\n", param["namespace"].AsString(), "/",
                                         param["name"].AsString());
    if (key == key_) return suites_.suites.back();
    key_ = key;
    Suite& suite = suites_.suites.emplace_back();
    suite.name = reading_.document().source->path();
    suite.arena = arena_;
    if (suites_.suites.size() == 1) {
      suite.inputs.problems = policies_.problems;
      suite.inputs.files = policies_.files + resources_.files;
    }
    json::ObjectBuilder ref(*arena_);
    ref.Set("name", param["name"].AsString()).Set("parameterNotFoundAction", "Deny");
    if (param.Has("namespace")) ref.Set("namespace", param["namespace"].AsString());
    for (const Manifest& manifest : resources_.manifests) {
      const bool is_param = param.is_object() && manifest.name == param["name"].AsString();
      if (is_param || manifest.kind == "Namespace" || manifest.kind.ends_with("Definition")) {
        suite.inputs.given.push_back(manifest);
      }
    }
    GivePolicy(suite, policy, {}, param.is_object() ? ref.Build() : json::Value());
    return suite;
  }

  const Reading reading_;
  Suites& suites_;
  std::shared_ptr<json::Arena> arena_ = std::make_shared<json::Arena>();
  Inputs policies_;
  Inputs resources_;
  std::string key_;  // of the last suite
};

}  // namespace

bool IsKaptest(const Manifest& document) {
  const json::Value root = document.object;
  return document.kind.empty() && root["testSuites"].is_array() &&
         root["validatingAdmissionPolicies"].is_array();
}

base::Status ReadKaptest(std::span<const Manifest> documents, Location& wrong, Suites& suites) {
  for (const Manifest& document : documents) {
    TRY(KaptestReader(document, wrong, suites).Run());
  }
  return base::OkStatus();
}

}  // namespace portcullis::offline
