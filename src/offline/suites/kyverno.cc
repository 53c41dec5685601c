// SPDX-License-Identifier: Apache-2.0

// kyverno-test.yaml of `kyverno test` (cli.kyverno.io/v1alpha1, kyverno.io/v1): its results about
// ValidatingAdmissionPolicies and MutatingAdmissionPolicies. What needs Kyverno's own engine is counted by
// name and not run.
#include <algorithm>
#include <utility>

#include "base/file.h"
#include "base/strings.h"
#include "json/yaml.h"
#include "offline/suites/reading.h"
#include "offline/suites/suite_format.h"

namespace portcullis::offline {
namespace {

constexpr std::pair<std::string_view, Expected> kResults[] = {
    {"pass", Expected::kAllow}, {"fail", Expected::kViolated}, {"warn", Expected::kViolated},
    {"skip", Expected::kSkip},  {"error", Expected::kError},
};

class KyvernoReader {
 public:
  KyvernoReader(const Manifest& document, Location& wrong, Suites& suites)
      : reading_(document, wrong, *suites.files), suites_(suites) {}

  base::Status Run() {
    const json::Value root = reading_.root();
    TRY(reading_.CheckNames(root, {},
                            {"apiVersion",
                             "kind",
                             "metadata",
                             "name",
                             "policies",
                             "resources",
                             "jsonPayload",
                             "jsonPayloads",
                             "httpPayloads",
                             "envoyPayloads",
                             "targetResources",
                             "variables",
                             "paramResources",
                             "userinfo",
                             "results",
                             "values",
                             "exceptions",
                             "context",
                             "clusterResources",
                             "apiCallResponses",
                             "globalContextEntries",
                             "checks",
                             "images"}));
    if (root["results"].empty()) return reading_.Wrong({}, "the test has no results");
    TRY(ReadFiles());
    for (std::size_t i = 0; i < root["results"].size(); ++i) {
      TRY(ReadResult(root["results"][i], {"results", std::to_string(i)}));
    }
    for (Suite& suite : own_) suites_.suites.push_back(std::move(suite));
    return base::OkStatus();
  }

 private:
  base::Status ReadFiles() {
    const json::Value root = reading_.root();
    policies_ = TRY(reading_.Files(root["policies"], {"policies"}));
    resources_ = TRY(reading_.Files(root["resources"], {"resources"}));
    params_ = TRY(reading_.Files(root["paramResources"], {"paramResources"}));
    TRY(ReadValues(root));
    if (!root.Has("userinfo")) return base::OkStatus();
    const json::Value user = TRY(ReadDocument(root["userinfo"], {"userinfo"}));
    user_ = ReadUserInfo(user["userInfo"]);
    return base::OkStatus();
  }

  // A file of the CLI's own, which is no Kubernetes object.
  base::Result<json::Value> ReadDocument(json::Value path, const Steps& steps) {
    const std::string file = TRY(reading_.Path(path, steps));
    auto text = suites_.files->Text(file);
    if (!text.ok()) return reading_.Wrong(steps, text.status().message());
    auto parsed = json::ParseYaml(*arena_, arena_->Copy(*text));
    if (!parsed.ok()) return reading_.Wrong(steps, parsed.status().message());
    return *parsed;
  }

  base::Status ReadValues(json::Value root) {
    json::Value values = root["values"];
    if (root.Has("variables")) values = TRY(ReadDocument(root["variables"], {"variables"}));
    for (const json::Value& one : values["namespaceSelector"].elements()) {
      AddNamespace(MakeNamespace(*arena_, one["name"].AsString(), one["labels"]));
    }
    for (const json::Value& one : values["namespaces"].elements()) AddNamespace(one);
    return base::OkStatus();
  }

  void AddNamespace(json::Value object) {
    namespaces_.push_back(MakeManifest(reading_.document(), arena_, object));
  }

  base::Status ReadResult(json::Value result, const Steps& steps) {
    TRY(reading_.CheckNames(result, steps,
                            {"policy",
                             "rule",
                             "isValidatingAdmissionPolicy",
                             "isMutatingAdmissionPolicy",
                             "isValidatingPolicy",
                             "isMutatingPolicy",
                             "isGeneratingPolicy",
                             "isDeletingPolicy",
                             "isImageValidatingPolicy",
                             "result",
                             "status",
                             "kind",
                             "operation",
                             "namespace",
                             "patchedResource",
                             "patchedResources",
                             "generatedResource",
                             "generatedResources",
                             "cloneSourceResource",
                             "failOnMissingResources",
                             "resource",
                             "resources",
                             "resourceSpecs"}));
    TRY(reading_.CheckText(result["policy"], Below(steps, "policy")));
    const std::string_view wanted =
        result.Has("result") ? result["result"].AsString() : result["status"].AsString();
    const auto* expected = std::find_if(std::begin(kResults), std::end(kResults),
                                        [&](const auto& row) { return row.first == wanted; });
    if (expected == std::end(kResults)) {
      return reading_.Wrong(steps, "result has to be pass, fail, skip, warn or error");
    }
    const std::string_view name = result["policy"].AsString();
    const Manifest* policy = FindPolicy(name);
    if (policy == nullptr) {
      return NotOurs(result, steps,
                     base::StrCat("policy ", name, " is in none of the files of `policies`"));
    }
    if (!IsPolicy(*policy)) {
      return NotOurs(result, steps,
                     base::StrCat("policy ", name, " (", policy->kind, ") needs Kyverno"));
    }
    return ReadCases(result, steps, *policy, expected->second);
  }

  // Policies of Kyverno may be named with their namespace.
  const Manifest* FindPolicy(std::string_view name) const {
    const auto cut = base::Cut(name, "/");
    for (const Manifest& manifest : policies_.manifests) {
      const bool is_policy = IsPolicy(manifest) || manifest.kind.ends_with("Policy");
      if (!is_policy) continue;
      if (manifest.name == name || (cut && manifest.name == cut->second)) return &manifest;
    }
    return nullptr;
  }

  base::Status NotOurs(json::Value result, const Steps& steps, std::string why) {
    std::string name(result["policy"].AsString());
    if (result.Has("rule")) name += base::StrCat("/", result["rule"].AsString());
    Case one = reading_.NewCase(name, steps);
    one.not_ours = std::move(why);
    SuiteOf("").cases.push_back(std::move(one));
    return base::OkStatus();
  }

  // One cluster for each policy: here no other policy judges its resources.
  Suite& SuiteOf(const std::string& policy) {
    for (Suite& suite : own_) {
      if (suite_policies_[static_cast<std::size_t>(&suite - own_.data())] == policy) return suite;
    }
    Suite& suite = own_.emplace_back();
    suite_policies_.push_back(policy);
    const Manifest& document = reading_.document();
    suite.name =
        document.name.empty() ? std::string(reading_.root()["name"].AsString()) : document.name;
    if (suite.name.empty()) suite.name = document.source->path();
    suite.arena = arena_;
    if (own_.size() == 1) {
      for (const Inputs* inputs : {&policies_, &resources_, &params_}) {
        suite.inputs.problems.insert(suite.inputs.problems.end(), inputs->problems.begin(),
                                     inputs->problems.end());
        suite.inputs.files += inputs->files;
      }
    }
    return suite;
  }

  base::Status ReadCases(json::Value result, const Steps& steps, const Manifest& policy,
                         Expected expected) {
    const bool is_new = std::find(suite_policies_.begin(), suite_policies_.end(), policy.name) ==
                        suite_policies_.end();
    Suite& suite = SuiteOf(policy.name);
    if (is_new) {
      auto& given = suite.inputs.given;
      given = namespaces_;
      given.insert(given.end(), params_.manifests.begin(), params_.manifests.end());
      GivePolicy(suite, policy, policies_.manifests, {});
    }
    patched_ = {};
    for (std::string_view name : {"patchedResources", "patchedResource"}) {
      if (!result.Has(name)) continue;
      patched_ = TRY(reading_.File(result[name], Below(steps, name)));
    }
    const std::vector<const Manifest*> resources = ResourcesOf(result);
    if (resources.empty()) {
      return reading_.Wrong(steps, "none of the resources has this kind and name");
    }
    for (const Manifest* resource : resources) {
      Case one = reading_.NewCase(base::StrCat(policy.name, "/", resource->name), steps);
      SetRequest(one, resource, result["operation"].AsString() == "UPDATE" ? resource : nullptr);
      if (result["operation"].AsString() == "DELETE") SetRequest(one, nullptr, resource);
      one.review.user = user_;
      one.expect.policy = policy.name;
      one.expect.verdict = expected;
      const Manifest* patched = PatchedOf(*resource);
      if (expected == Expected::kAllow && patched != nullptr) {
        one.expect.object = patched->object;
        one.arenas.push_back(patched->arena);
      }
      suite.cases.push_back(std::move(one));
    }
    return base::OkStatus();
  }

  // What is expected of a mutated resource; null if nothing is.
  const Manifest* PatchedOf(const Manifest& resource) const {
    for (const Manifest& patched : patched_.manifests) {
      if (patched.kind == resource.kind && patched.name == resource.name) return &patched;
    }
    return nullptr;
  }

  std::vector<const Manifest*> ResourcesOf(json::Value result) const {
    std::vector<const Manifest*> found;
    const std::string_view kind = result["kind"].AsString();
    for (const Manifest& manifest : resources_.manifests) {
      if (!kind.empty() && base::Cut(kind, "/").value_or(std::pair{kind, kind}).second !=
                               std::string_view(manifest.kind)) {
        continue;
      }
      if (IsNamed(manifest, result)) found.push_back(&manifest);
    }
    return found;
  }

  static bool IsNamed(const Manifest& manifest, json::Value result) {
    if (result["resources"].empty() && result["resourceSpecs"].empty() && !result.Has("resource")) {
      return true;
    }
    const std::string full = base::StrCat(manifest.ns, "/", manifest.name);
    const auto is = [&](std::string_view name) { return name == manifest.name || name == full; };
    for (const json::Value& name : result["resources"].elements()) {
      if (is(name.AsString())) return true;
    }
    for (const json::Value& spec : result["resourceSpecs"].elements()) {
      const std::string_view ns = spec["namespace"].AsString();
      if (spec["name"].AsString() == manifest.name && (ns.empty() || ns == manifest.ns)) {
        return true;
      }
    }
    return result.Has("resource") && is(result["resource"].AsString());
  }

  const Reading reading_;
  Suites& suites_;
  std::shared_ptr<json::Arena> arena_ = std::make_shared<json::Arena>();
  Inputs policies_;
  Inputs resources_;
  Inputs params_;
  Inputs patched_;
  std::vector<Manifest> namespaces_;
  api::UserInfo user_;
  std::vector<Suite> own_;
  std::vector<std::string> suite_policies_;  // of own_, at the same places
};

}  // namespace

bool IsKyvernoTest(const Manifest& document) {
  const std::string_view group = document.group();
  if (document.kind == "Test") return group == "cli.kyverno.io" || group == "kyverno.io";
  // Older files have no kind.
  const json::Value root = document.object;
  return document.kind.empty() && root["policies"].is_array() && root["resources"].is_array() &&
         root["results"].is_array();
}

base::Status ReadKyvernoTest(std::span<const Manifest> documents, Location& wrong, Suites& suites) {
  for (const Manifest& document : documents) {
    TRY(KyvernoReader(document, wrong, suites).Run());
  }
  return base::OkStatus();
}

}  // namespace portcullis::offline
