// SPDX-License-Identifier: Apache-2.0

// tests.json of kubescape's library (github.com/kubescape/cel-admission-library): beside a policy.yaml a
// list of templates, the changes of each, and whether the policy lets it pass. Templates, parameters and
// bindings stand in test-resources/ of a folder above, the parameters' definition in configuration/.
#include <filesystem>
#include <functional>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/strings.h"
#include "json/reader.h"
#include "offline/blame.h"
#include "offline/suites/reading.h"
#include "offline/suites/suite_format.h"

namespace portcullis::offline {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxParents = 8;

class KubescapeReader {
 public:
  KubescapeReader(const Manifest& document, Location& wrong, Suites& suites)
      : reading_(document, wrong, *suites.files), suites_(suites) {}

  base::Status Run() {
    const fs::path folder = base::FolderOf(reading_.document().source->path());
    if (reading_.root().empty()) return reading_.Wrong({}, "the list has no tests");
    root_ = RootOf(folder);
    if (root_.empty()) return reading_.Wrong({}, "no directory above has test-resources/");
    definitions_ = ReadPath(root_ / "configuration");
    files_ = ReadPath(folder / "policy.yaml");
    for (const Manifest& manifest : files_.manifests) {
      if (IsPolicy(manifest)) policy_ = &manifest;
    }
    if (policy_ == nullptr) return reading_.Wrong({}, "policy.yaml beside it has no policy");
    const json::Value tests = reading_.root();
    for (std::size_t i = 0; i < tests.size(); ++i) {
      TRY(ReadTest(tests[i], {std::to_string(i)}));
    }
    return base::OkStatus();
  }

 private:
  Inputs ReadPath(const fs::path& path) const {
    InputOptions options;
    options.paths = {path.string()};
    return suites_.files->Read(options);
  }

  fs::path RootOf(fs::path folder) const {
    if (folder.empty()) folder = ".";
    for (int i = 0; i < kMaxParents; ++i) {
      if (suites_.files->IsFolder((folder / "test-resources").string())) return folder;
      folder = folder / "..";
    }
    return {};
  }

  base::Status ReadTest(json::Value test, const Steps& steps) {
    TRY(reading_.CheckNames(test, steps,
                            {"name", "template", "expected", "field_change_list", "param_template",
                             "binding_template"}));
    TRY(reading_.CheckText(test["template"], Below(steps, "template")));
    const std::string_view expected = test["expected"].AsString();
    if (expected != "pass" && expected != "fail" && expected != "warn") {
      return reading_.Wrong(Below(steps, "expected"), "must be pass, fail or warn");
    }
    Suite& suite = TRY(SuiteOf(test, steps)).get();
    Manifest object = TRY(Template(test["template"], "", Below(steps, "template")));
    object.object = TRY(Change(object.object, test["field_change_list"], steps));
    object.name = object.object["metadata"]["name"].AsString();
    object.ns = object.object["metadata"]["namespace"].AsString();
    Case one = reading_.NewCase(std::string(test["name"].AsString()), steps);
    SetRequest(one, &object, nullptr);
    one.expect.policy = policy_->name;
    // A template that the policy does not match passes, too.
    one.expect.verdict = expected == "fail"   ? Expected::kDeny
                         : expected == "warn" ? Expected::kWarn
                                              : Expected::kAllow;
    one.expect.accepts_skip = expected == "pass";
    suite.cases.push_back(std::move(one));
    return base::OkStatus();
  }

  base::Result<Manifest> Template(json::Value name, std::string_view fallback,
                                  const Steps& steps) const {
    const fs::path path = root_ / "test-resources" / name.AsString(fallback);
    Inputs inputs = ReadPath(path);
    if (!inputs.problems.empty()) return reading_.Wrong(steps, inputs.problems.front().message);
    if (inputs.manifests.empty()) return reading_.Wrong(steps, "the template holds no object");
    return inputs.manifests.front();
  }

  // "spec.containers.[0].image=nginx": the value is JSON, or else a text.
  base::Result<json::Value> Change(json::Value object, json::Value changes, const Steps& steps) {
    for (std::size_t i = 0; i < changes.size(); ++i) {
      const auto cut = base::Cut(changes[i].AsString(), "=");
      const Steps at = Below(Below(steps, "field_change_list"), i);
      if (!cut) return reading_.Wrong(at, "must be PATH=VALUE");
      const auto parsed = json::Parse(*arena_, arena_->Copy(cut->second));
      const json::Value value = parsed.ok() ? *parsed : json::String(*arena_, cut->second);
      Steps path;
      for (const std::string_view step : base::Split(cut->first, '.')) {
        const bool index = step.starts_with('[') && step.ends_with(']');
        path.emplace_back(index ? step.substr(1, step.size() - 2) : step);
      }
      object = value.is_null() ? SetNull(object, path) : SetAt(*arena_, object, path, value);
    }
    return object;
  }

  // Here null is a value, and removes nothing.
  json::Value SetNull(json::Value object, const Steps& path) {
    std::vector<std::string_view> steps(path.begin(), path.end());
    return json::SetPath(*arena_, object, std::span<const std::string_view>(steps), json::Value());
  }

  // A cluster for each pair of parameter and binding.
  base::Result<std::reference_wrapper<Suite>> SuiteOf(json::Value test, const Steps& steps) {
    const std::string key =
        base::StrCat(test["param_template"].AsString(), "\n", test["binding_template"].AsString());
    for (const auto& [known, index] : own_) {
      if (known == key) return std::ref(suites_.suites[index]);
    }
    own_.emplace_back(key, suites_.suites.size());
    const std::string param_name = base::StrCat(policy_->name, "-params");
    Manifest param = TRY(Template(test["param_template"], "default-control-configuration.yaml",
                                  Below(steps, "param_template")));
    Manifest binding = TRY(Template(test["binding_template"], "policy-binding.yaml",
                                    Below(steps, "binding_template")));
    const auto set = [&](Manifest& manifest, std::initializer_list<std::string_view> path,
                         std::string_view text) {
      manifest.object = json::SetPath(*arena_, manifest.object, path, json::String(*arena_, text));
    };
    set(param, {"metadata", "name"}, param_name);
    param.name = param_name;
    const std::string binding_name = base::StrCat(policy_->name, "-binding");
    set(binding, {"metadata", "name"}, binding_name);
    binding.name = binding_name;
    set(binding, {"spec", "policyName"}, policy_->name);
    set(binding, {"spec", "paramRef", "name"}, param_name);
    Suite& suite = suites_.suites.emplace_back();
    suite.name = policy_->name;
    suite.arena = arena_;
    auto& given = suite.inputs.given;
    given = definitions_.manifests;
    given.insert(given.end(), {param, binding, *policy_});
    return std::ref(suite);
  }

  const Reading reading_;
  Suites& suites_;
  std::shared_ptr<json::Arena> arena_ = std::make_shared<json::Arena>();
  fs::path root_;
  Inputs definitions_;
  Inputs files_;  // of policy.yaml
  const Manifest* policy_ = nullptr;
  std::vector<std::pair<std::string, std::size_t>> own_;  // suites by parameter and binding
};

}  // namespace

bool IsKubescapeTests(const Manifest& document) {
  // An empty list beside a policy tests nothing; another one is another program's.
  if (document.object.is_array() && document.object.empty()) {
    std::error_code error;
    const fs::path path = document.source->path();
    return path.filename() == "tests.json" && fs::exists(path.parent_path() / "policy.yaml", error);
  }
  const json::Value first = document.object[std::size_t{0}];
  return document.object.is_array() && first["template"].is_string() &&
         first["expected"].is_string();
}

base::Status ReadKubescapeTests(std::span<const Manifest> documents, Location& wrong,
                                Suites& suites) {
  for (const Manifest& document : documents) {
    TRY(KubescapeReader(document, wrong, suites).Run());
  }
  return base::OkStatus();
}

}  // namespace portcullis::offline
